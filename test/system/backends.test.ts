// Backends of a domain: not a node of the cluster, and not any address for a key of one domain.
import test from 'ava';
import {parseHostPort} from '../../shared/host-port.ts';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {addToConfig} from '../helpers/node.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {startProxy} from '../helpers/tcp-proxy.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();
const relayAll = {quarantine_threshold: 10_000, reject_threshold: 10_000};
const raw = 'Subject: round\r\n\r\nand round\r\n';

test('two nodes whose backends lead to each other answer 451 with one line in the log, and go on taking mail', async t => {
  const {nodes, converged, sink} = await startCluster(t, {nodes: ['alpha', 'beta'] as const, isProxied: false});
  const {alpha, beta} = nodes;
  const round = [beta, alpha].map(({smtp}) => parseHostPort(smtp));
  let count = 0;
  const roundabout = await startProxy(t, () => {
    count += 1;
    return round[(count - 1) % 2];
  });
  const circle = await alpha.createDomain({backend_servers: [`127.0.0.1:${roundabout.port}`], ...relayAll});
  const straight = await alpha.createDomain({...relayAll});
  await converged();
  const send = async (port: number, name: string) => {
    const {reply} = await sendMail({port, from: 'ada@example.net', to: `ben@${name}`, raw});
    return `${reply.code} ${reply.text}`;
  };

  t.regex(await send(alpha.smtpPort, circle.name), /^451 4\.4\.1 /);
  // One for the mail, and one of the check after it.
  t.true(count <= 2, String(count));
  t.regex(await send(alpha.smtpPort, circle.name), /^451 4\.4\.1 /);
  t.true(count <= 4, String(count));

  const lines = await eventually(() => alpha.log().match(/.*backend could not be used.*/g) ?? undefined);
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0] ?? ''), {server: {host: '127.0.0.1', port: roundabout.port}, msg: 'backend could not be used'});
  t.notRegex(beta.log(), /backend could not be used/);
  for (const {smtpPort} of [alpha, beta]) t.regex(await send(smtpPort, straight.name), /^250 /);
  t.is(sink.mails.length, 2);
});

test('the SMTP listener of a node is refused as a backend on every node of its cluster', async t => {
  const {nodes, converged} = await startCluster(t, {nodes: ['alpha', 'beta'] as const, isProxied: false});
  const {alpha, beta} = nodes;
  const domain = await alpha.createDomain();
  await converged();
  const create = async (entry: string) =>
    alpha.api('POST', 'domains', {body: {name: 'new.example', backend_servers: ['192.0.2.1:25', entry]}});
  const put = async (entry: string) => beta.api('PUT', `domains/${domain.id}`, {body: {backend_servers: [entry]}});

  for (const answer of [await create(beta.smtp), await create(`localhost:${alpha.smtpPort}`)]) {
    t.is(answer.status, 422, answer.body.toString());
    t.is(answer.json.error.fields[0].path, 'backend_servers.1');
    t.regex(answer.json.error.detail, /is the SMTP listener of (alpha|beta), a node of this cluster/);
  }
  for (const entry of [alpha.smtp, beta.smtp, `[::1]:${beta.smtpPort}`]) t.is((await put(entry)).status, 422, entry);
  t.deepEqual((await beta.domain(domain.id))?.backend_servers, domain.backend_servers);
});

test('a key for one domain sets backends inside smtp.backend_networks only, from the next SIGHUP on', async t => {
  const domain = await node().createDomain();
  const {key} = await node().createKey('domain-admin', {domain: domain.name});
  const put = async (backends: string[], by: {key?: string} = {key}) =>
    node().api('PUT', `domains/${domain.id}`, {...by, body: {backend_servers: backends}});
  const reload = async (networks: string[]) => {
    const before = node().log().length;
    await addToConfig(node().data, {smtp: {backend_networks: networks}});
    node().signal('SIGHUP');
    await eventually(() => /configuration and certificates reread/.test(node().log().slice(before)));
  };
  const inside = '10.1.2.3:25';

  t.is((await put(['mail.example.com:25'])).status, 200);
  await reload(['10.0.0.0/8']);
  const [outside, named] = [await put(['192.0.2.7:25', inside]), await put([inside, 'other.example.com:25'])];
  const kept = await put(['mail.example.com:25', inside]);
  const byAdmin = await put(['192.0.2.7:25'], {});
  const own = await put([inside]);

  t.like(outside.json.error, {code: 'validation_failed', fields: [{path: 'backend_servers.0'}]});
  t.regex(outside.json.error.detail, /^backend_servers\.0 must be inside smtp\.backend_networks/);
  t.like(named.json.error, {code: 'validation_failed', fields: [{path: 'backend_servers.1'}]});
  t.regex(named.json.error.detail, /a host name can be pointed elsewhere later/);
  t.deepEqual(
    [outside, named, kept, byAdmin, own].map(({status}) => status),
    [422, 422, 200, 200, 200],
  );
  t.notRegex(node().log(), /"keys":\["smtp\.backend_networks"\]/);
});
