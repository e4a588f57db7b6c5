// Mail servers and nodes that vanish silently: the operations that wait for them, and for how long.
import {setTimeout as sleep} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import type {MailReference} from '../../shared/held-mail.ts';
import {formatHostPort} from '../../shared/host-port.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';
import {networkMissing, startNetwork} from '../helpers/network.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';
import {serialWith} from '../helpers/test-with.ts';

const names = ['alpha', 'beta'] as const;

const test = serialWith('network', networkMissing);

const everything = forFile(async owner => {
  const network = await startNetwork(owner, names);
  const config = {smtp: {trusted_networks: [`${network.address}/32`]}};
  const {nodes, converged} = await startCluster(owner, {nodes: names, network, isProxied: false, config});
  return {network, ...nodes, converged};
});

/** A domain with two mail servers on the host of the tests, and a function that drops the packets to the first one. */
const arrange = async (t: ExecutionContext, thresholds: object = {}) => {
  const all = everything();
  const {network, alpha, converged} = all;
  t.teardown(network.heal);
  const listen = {host: network.address, port: 0};
  const [first, second] = [await startSmtpSink(t, {listen}), await startSmtpSink(t, {listen})];
  const domain = async (sinks = [first, second]) => {
    const {name} = await alpha.createDomain({backend_servers: sinks.map(({server}) => formatHostPort(server)), ...thresholds});
    await converged();
    return name;
  };
  const lose = async (from: 'alpha' | 'beta', {server}: typeof first) => {
    await network.lose({from, to: 'tests', port: server.port});
    // A connection that was used within the last 20 ms would not be checked, and the timeout of a command on it is much longer.
    await sleep(100);
  };
  return {...all, first, second, domain, lose};
};

const relayAll = {quarantine_threshold: 10_000, reject_threshold: 10_000};

/** Logs the duration in seconds. */
const timed = async <T>(t: ExecutionContext, what: string, work: Promise<T>) => {
  const startedAt = performance.now();
  const result = await work;
  const took = (performance.now() - startedAt) / 1000;
  t.log(`${what}: ${took.toFixed(1)} s`);
  return {result, took};
};

const send = async ({smtp, smtpPort: port}: ClusterNode, name: string): Promise<number> => {
  const [host = ''] = smtp.split(':');
  const raw = 'Subject: hello\r\n\r\nhello\r\n';
  return (await sendMail({host, port, from: 'ada@example.net', to: `ben@${name}`, raw})).reply.code;
};

const act = async (node: ClusterNode, action: 'release' | 'discard', {node_id, queue_id}: MailReference) =>
  node.api('POST', `mail/quarantine/${node_id}/${queue_id}/${action}`);

test('a mail server that vanished costs one mail three seconds, the next ones nothing, and is used again when it is back', async t => {
  const {alpha, network, first, second, domain, lose} = await arrange(t, relayAll);
  const name = await domain();
  await lose('alpha', first);

  const one = await timed(t, 'the first mail', send(alpha, name));
  const two = await timed(t, 'the second mail', send(alpha, name));

  t.deepEqual([one.result, two.result], [250, 250]);
  t.true(one.took < 5);
  t.true(two.took < 2.5);
  t.is(second.mails.length, 2);
  await network.heal();
  await eventually(async () => (await send(alpha, name)) === 250 && first.mails.length > 0);
});

test('connections that are kept to a mail server that vanished cost the next mail seconds', async t => {
  const {alpha, first, second, domain, lose} = await arrange(t, relayAll);
  const name = await domain();
  t.deepEqual(await Promise.all([1, 2, 3].map(async () => send(alpha, name))), [250, 250, 250]);
  await lose('alpha', first);

  const next = await timed(t, 'the next mail', send(alpha, name));

  t.is(next.result, 250);
  t.true(next.took < 8);
  t.deepEqual([first.mails.length, second.mails.length], [3, 1]);
});

test('connections that are kept to the only mail server leave little time for a new one', async t => {
  const {alpha, second, domain, lose} = await arrange(t, relayAll);
  const name = await domain([second]);
  t.is(await send(alpha, name), 250);
  await lose('alpha', second);

  const next = await timed(t, 'the next mail', send(alpha, name));

  t.is(next.result, 451);
  t.true(next.took < 10);
});

test('a release on another node is answered within 15 s when no mail server can be reached, and sooner the next time', async t => {
  const {alpha, beta, first, domain, lose} = await arrange(t);
  const name = await domain([first]);
  const held = await beta.hold({to: `ben@${name}`});
  await lose('beta', first);

  const one = await timed(t, 'the first release', act(alpha, 'release', held));
  const two = await timed(t, 'the second release', act(alpha, 'release', held));

  for (const {result, took} of [one, two]) {
    t.is(result.json.error.code, 'delivery_failed');
    t.true(took < 15);
  }
  t.true(two.took < 5);
});

test('a release to a mail server that takes long is answered within 15 s on any node, goes on, and delivers once', async t => {
  const {alpha, beta, first, domain} = await arrange(t);
  const name = await domain([first]);
  const held = [await beta.hold({to: `ben@${name}`}), await beta.hold({to: `ben@${name}`})];
  // For MAIL, RCPT and the final dot.
  first.behave({delayMs: 6000});

  const [routed, own] = await Promise.all(
    [alpha, beta].map(async (node, n) => timed(t, node.node_id, act(node, 'release', held[n] as MailReference))),
  );

  for (const {result, took} of [routed, own].filter(one => one !== undefined)) {
    t.is(result.status, 504);
    t.is(result.json.error.code, 'outcome_unknown');
    t.true(took < 15);
  }
  for (const mail of held) {
    const {json} = await act(alpha, 'release', mail);
    t.like(json.data, {state: 'released', already: true});
  }
  t.is(first.mails.length, 2);
});

test('actions on a node that was just cut off are answered within 5 s, are known not to be done, and can be repeated', async t => {
  const {alpha, beta, network, first, domain} = await arrange(t);
  const name = await domain([first]);
  const held = await Promise.all([1, 2, 3, 4, 5].map(async () => beta.hold({to: `ben@${name}`})));
  const [warm, one, other, ...many] = held as [MailReference, MailReference, MailReference];
  t.is((await act(alpha, 'release', warm)).status, 200);
  await alpha.api('GET', `mail/quarantine?domain=${name}`);
  await network.cut('alpha', 'beta');

  const [released, discarded] = await Promise.all([
    timed(t, 'release', act(alpha, 'release', one)),
    timed(t, 'discard', act(alpha, 'discard', other)),
  ]);
  const bulk = await timed(t, 'many', alpha.api('POST', 'mail/quarantine/release', {body: {items: many}}));

  for (const {result, took} of [released, discarded]) {
    t.is(result.json.error.code, 'node_unreachable');
    t.true(Number(result.headers['retry-after']) >= took);
    t.true(took < 5);
  }
  t.true(bulk.took < 5);
  t.deepEqual(
    bulk.result.json.data.map(({error}: {error: {code: string}}) => error.code),
    many.map(() => 'node_unreachable'),
  );
  t.is(first.mails.length, 1);
  await network.heal();
  await eventually(async () => (await act(alpha, 'release', one)).status === 200);
  await eventually(async () => (await act(alpha, 'discard', other)).status === 200);
  t.is(first.mails.length, 2);
});
