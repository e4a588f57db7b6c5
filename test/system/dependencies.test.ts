// What a node depends on, and dies while the node runs: `/readyz`, `cluster check`, `cluster status` and the metrics say so.
import {once} from 'node:events';
import {createServer, type Server} from 'node:http';
import test, {type ExecutionContext} from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {eventually, type MailNode, startMailNode} from '../helpers/mail-node.ts';
import {addToConfig} from '../helpers/node.ts';
import {closedPort} from '../helpers/ports.ts';

const mail = 'Subject: plain\r\n\r\nhello\r\n';

/** Scores every mail 1, until it is stopped. */
const startScanner = async (t: ExecutionContext) => {
  const make = () =>
    createServer((request, response) => {
      request
        .resume()
        .on('end', () => response.end(request.url === '/ping' ? 'pong\r\n' : '{"score": 1, "action": "no action"}'));
    });
  const open = async (port: number): Promise<Server> => {
    const server = make().listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await open(0);
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : 0;
  t.teardown(() => server.close());
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    async start() {
      server = await open(port);
    },
  };
};

const startScanned = async (t: ExecutionContext, on_failure: 'tempfail' | 'pass') => {
  const scanner = await startScanner(t);
  const node = await startMailNode(t, {config: {scanner: {type: 'rspamd', rspamd_url: scanner.url, on_failure}}});
  return {scanner, node};
};

const ready = async ({metrics_url}: MailNode) => {
  const answer = await fetch(`${metrics_url}/readyz`);
  return {status: answer.status, text: await answer.text()};
};
const figure = async ({metrics_url}: MailNode, name: string) =>
  (await (await fetch(`${metrics_url}/metrics`)).text()).split('\n').find(line => line.startsWith(`${name} `));
const check = async (node: MailNode) => node.mfctl(['cluster', 'check']);

test('a scanner that dies makes the node unready where mail is refused, until it is back', async t => {
  const {scanner, node} = await startScanned(t, 'tempfail');
  t.is((await node.send(mail)).code, 250);
  t.is((await ready(node)).status, 200);
  await scanner.stop();

  t.is((await node.send(mail)).code, 451);
  const unready = await eventually(async () => {
    const answer = await ready(node);
    return answer.status === 503 && answer.text;
  });
  const critical = await check(node);
  const status = await node.mfctl(['cluster', 'status']);
  await scanner.start();
  await eventually(async () => (await ready(node)).status === 200);

  t.regex(unready, /^the scanner does not work since \S+Z, and mail is answered 451: .*nothing listens there/);
  t.is(critical.code, 2);
  t.regex(critical.stdout, /^MFD CLUSTER CRITICAL: the scanner of \S+ unreachable since \S+Z \(.+\): mail is answered 451 \|/);
  t.regex(status.stdout, /online, no scanner/);
  t.regex(status.stderr, /warning: the scanner of /);
  t.is((await check(node)).code, 0);
});

test('a scanner and a backend that are dead at the start are known once the node is ready, before any mail', async t => {
  const {scanner, node} = await startScanned(t, 'tempfail');
  const backend = formatHostPort(await closedPort());
  await node.createDomain({name: 'dead.test', backend_servers: [backend]});
  await scanner.stop();
  await node.stop();
  await node.start();

  // A backend would not be due for a minute.
  const critical = await eventually(async () => {
    const {stdout} = await check(node);
    return stdout.includes('backend ') && stdout.includes('the scanner of') && stdout;
  });

  t.regex(critical, /the scanner of \S+ unreachable since \S+Z .*: mail is answered 451/);
  t.regex(critical, new RegExp(`backend ${backend} of dead\\.test unreachable`));
  t.is((await ready(node)).status, 503);
});

test('a scanner that dies is a warning where mail passes without it, and is noticed without mail', async t => {
  const {scanner, node} = await startScanned(t, 'pass');
  await scanner.stop();
  const warning = await eventually(async () => {
    const checked = await check(node);
    return checked.code === 1 && checked.stdout;
  }, 30_000);

  t.regex(warning, /WARNING: the scanner of \S+ unreachable since \S+Z \(.+\): mail passes without a score \|/);
  const {status, text} = await ready(node);
  t.is(status, 200);
  t.regex(text, /^ready\nthe scanner does not work since \S+Z, and mail passes without a score\n$/);
  t.is(await figure(node, 'mfd_dependency_problems{part="scanner"}'), 'mfd_dependency_problems{part="scanner"} 1');
  t.is(await figure(node, 'mfd_dependency_refuses_mail'), 'mfd_dependency_refuses_mail 0');
  t.is((await node.send(mail)).code, 250);
});

test('a backend that does not answer is a warning with its domain, until it answers or no domain has it', async t => {
  const node = await startMailNode(t);
  const dead = formatHostPort(await closedPort());
  await node.updateDomain(node.domainId, {backend_servers: [dead]});
  t.is((await node.send(mail)).code, 451);

  const warned = await eventually(async () => {
    const checked = await check(node);
    return checked.code === 1 && checked.stdout;
  });
  const {json} = await node.api('GET', 'cluster/status');
  t.true(warned.includes(`backend ${dead} of example.com unreachable from ${node.node_id} since `), warned);
  t.like(json.data.peers[0].problems[0], {part: 'backend', name: dead, domains: ['example.com'], refuses_mail: false});
  const {status, text} = await ready(node);
  t.is(status, 200);
  t.regex(text, /^ready\n1 backend does not work since \S+Z\n$/, 'no address and no domain: the listener asks for no key');

  await node.updateDomain(node.domainId, {backend_servers: [node.backend]});
  t.is((await check(node)).code, 0);
  t.is((await node.send(mail)).code, 250);
});

test('a smarthost that does not answer is a warning, until it answers or none is set', async t => {
  const dead = formatHostPort(await closedPort());
  const node = await startMailNode(t, {config: {smtp: {smarthost: dead}}, domain: {direction: 'both'}});
  const outbound = await node.send(mail, {from: 'ben@example.com', to: 'a@elsewhere.test'});
  t.is(outbound.code, 451);

  const warned = await eventually(async () => {
    const checked = await check(node);
    return checked.code === 1 && checked.stdout;
  });
  const {json} = await node.api('GET', 'cluster/status');
  t.true(warned.includes(`smarthost ${dead} unreachable from ${node.node_id} since `), warned);
  t.like(json.data.peers[0].problems[0], {part: 'smarthost', name: dead, domains: [], refuses_mail: false});
  t.is(await figure(node, 'mfd_dependency_problems{part="smarthost"}'), 'mfd_dependency_problems{part="smarthost"} 1');
  t.is((await ready(node)).status, 200);

  await addToConfig(node.data, {smtp: {smarthost: node.backend}});
  node.signal('SIGHUP');
  t.truthy(await eventually(async () => (await check(node)).code === 0));
});

test('a backend that takes connections and dies in DATA is a warning once ten mails in a row have failed', async t => {
  const node = await startMailNode(t);
  node.sink.behave({drop: 'within-data'});

  for (let n = 0; n < 10; n += 1) t.is((await node.send(mail)).code, 451);

  const {json} = await node.api('GET', 'cluster/status');
  t.like(json.data.peers[0].problems[0], {part: 'backend', name: node.backend, domains: ['example.com']});
  node.sink.behave({});
  t.is((await node.send(mail)).code, 250);
  t.deepEqual((await node.api('GET', 'cluster/status')).json.data.peers[0].problems, []);
});

test('why Postfix cannot be read is in the log alone, as it names files of the machine', async t => {
  const node = await startMailNode(t, {config: {postfix: {config_dir: '/nowhere/postfix'}}});

  const problem = await eventually(async () => {
    const {json} = await node.api('GET', 'cluster/status');
    return json.data.peers[0].problems[0];
  });

  t.is(problem.part, 'postfix');
  t.regex((await ready(node)).text, /^ready\nthe queue of Postfix cannot be read since \S+Z\n$/);
  t.is(problem.detail, 'its queue could not be read; the log of this node says why');
});
