// Three nodes on one PostgreSQL: held mail outlives the node that took it, and configuration has one truth.
import {rm} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import type {HeldMail} from '../../shared/held-mail.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {sendMail} from '../helpers/smtp-client.ts';
import {testWithPostgres} from '../helpers/test-with-postgres.ts';

type Owner = Parameters<typeof startPostgres>[0];

const start = async (t: Owner) => {
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, {postgres, isProxied: false, config: {retention: {sweep_interval: 1}}});
  return {postgres, ...cluster, ...cluster.nodes};
};

const listed = async (node: ClusterNode, query = ''): Promise<string[]> => {
  const {json} = await node.api('GET', `mail/quarantine?limit=1000${query}`);
  return json.data.map(({node_id, queue_id}: HeldMail) => `${node_id}/${queue_id}`);
};

const metric = async ({metrics_url}: ClusterNode, path: string): Promise<number> =>
  (await fetch(`${metrics_url}/${path}`)).status;

testWithPostgres(
  'mail is listed, shown and released by any node after the one that took it is killed and its folder is gone',
  async t => {
    const {alpha, beta, gamma, sink} = await start(t);
    const {name} = await alpha.createDomain();
    await eventually(async () => (await beta.api('GET', 'domains')).json.data.length === 1);
    const mail = await beta.hold({to: `ben@${name}`, subject: 'outlives its node'});
    const path = `mail/quarantine/${mail.node_id}/${mail.queue_id}`;

    await beta.stop('SIGKILL');
    await rm(beta.data, {recursive: true});

    t.deepEqual(await listed(alpha, '&subject=outlives'), [`beta/${mail.queue_id}`]);
    t.like((await gamma.api('GET', path)).json.data, {node_id: 'beta', subject: 'outlives its node'});
    t.regex((await alpha.api('GET', `${path}/body`)).body.toString(), /^Received: .*\r\nbody\r\n$/s);
    t.like((await gamma.api('POST', `${path}/release`)).json.data, {state: 'released', node_id: 'beta', already: false});
    t.like((await alpha.api('POST', `${path}/release`)).json.data, {state: 'released', already: true});
    t.is(sink.mails.length, 1);
    t.deepEqual(await listed(alpha), []);
  },
);

testWithPostgres('of many releases of one mail on three nodes one delivers it', async t => {
  const {alpha, beta, gamma, sink} = await start(t);
  const {name} = await alpha.createDomain();
  await eventually(async () => (await beta.api('GET', 'domains')).json.data.length === 1);
  const mails = await Promise.all([1, 2, 3, 4].map(async n => beta.hold({to: `u${n}@${name}`})));

  for (const {node_id, queue_id} of mails) {
    const answers = await Promise.all(
      [alpha, beta, gamma, alpha, beta, gamma].map(async node =>
        node.api('POST', `mail/quarantine/${node_id}/${queue_id}/release`),
      ),
    );
    t.true(answers.every(({status}) => status === 200));
    t.is(answers.filter(({json}) => !json.data.already).length, 1);
  }
  t.is(sink.mails.length, 4);
});

testWithPostgres('a mail whose claimer was killed is held again when its lease ends, and is released by another', async t => {
  const {alpha, beta, sink} = await start(t);
  const {name} = await alpha.createDomain();
  await eventually(async () => (await beta.api('GET', 'domains')).json.data.length === 1);
  const {queue_id} = await alpha.hold({to: `ben@${name}`});
  sink.behave({delayMs: 20_000});
  const path = `mail/quarantine/alpha/${queue_id}`;
  const connections = sink.connectionCount();
  const abandoned = beta.api('POST', `${path}/release`).catch(() => undefined);
  // It claims a mail before it connects.
  await eventually(() => sink.connectionCount() > connections);

  await beta.stop('SIGKILL');
  await abandoned;
  sink.behave({});
  const released = await eventually(async () => {
    const {status, json} = await alpha.api('POST', `${path}/release`);
    return status === 200 && json.data;
  }, 60_000);

  // The answer to the attempt that delivered it may have been late.
  t.is(released.state, 'released');
  t.is(sink.mails.length, 1);
});

testWithPostgres('without its database a node takes no mail and answers 503, and is back within 5 s of the database', async t => {
  const {postgres, alpha, beta, gamma} = await start(t);
  const {name} = await alpha.createDomain();
  await eventually(async () => (await beta.api('GET', 'domains')).json.data.length === 1);
  const send = async () => {
    const raw = 'Subject: offer\r\nX-Spam-Score: 8\r\n\r\nbody\r\n';
    return sendMail({host: '127.0.0.1', port: beta.smtpPort, from: 'a@outside.test', to: `ben@${name}`, raw});
  };

  await postgres.stop('immediate');
  t.is((await send()).reply.code, 451);
  await delay(6000);
  const {status, headers, json} = await beta.api('GET', 'mail/quarantine');
  t.is(status, 503);
  t.true(Number(headers['retry-after']) > 0);
  t.is(json.error.detail, 'PostgreSQL does not answer; nothing was done, try again in a few seconds');
  t.is((await beta.api('GET', 'domains')).status, 503);
  t.is(await metric(beta, 'readyz'), 503);
  // Anybody who reaches that port may read it.
  t.is(
    await (await fetch(`${beta.metrics_url}/readyz`)).text(),
    'PostgreSQL does not answer: requests are answered 503, and mail 451; the log of this node says why\n',
  );
  t.is(await metric(beta, 'healthz'), 200);
  t.regex((await send()).reply.text, /^4\.3\.0 /);
  t.is(await gamma.stop(), 0, 'a stop meanwhile is a clean one');

  const began = performance.now();
  await postgres.start();
  for (const node of [alpha, beta])
    await eventually(async () => (await node.api('GET', 'domains')).status === 200 && (await metric(node, 'readyz')) === 200);
  t.is((await send()).reply.code, 250);
  t.true(performance.now() - began < 8000);
  t.is((await listed(alpha)).length, 1);
  const lost = beta
    .log()
    .split('\n')
    .filter(line => line.includes('"level":"error"'));
  // A job or two may fail before the loss is noticed.
  t.true(lost.length <= 3, lost.join('\n'));
  const loss = new RegExp(`"msg":"PostgreSQL at \\S+:${postgres.port} does not answer: .+; requests are answered 503`);
  t.true(
    lost.some(line => loss.test(line)),
    lost.join('\n'),
  );
});

testWithPostgres('a stale If-Match is a conflict on every node, and a change is everywhere within a second', async t => {
  const {alpha, beta, gamma} = await start(t);
  const {id} = await alpha.createDomain();
  await eventually(async () => gamma.domain(id));
  const {headers} = await beta.api('GET', `domains/${id}`);
  const ifMatch = {'If-Match': String(headers.etag)};

  t.is((await alpha.api('PUT', `domains/${id}`, {body: {quarantine_threshold: 3}, headers: ifMatch})).status, 200);
  t.is((await gamma.api('PUT', `domains/${id}`, {body: {quarantine_threshold: 4}, headers: ifMatch})).status, 412);
  await eventually(async () => (await beta.domain(id))?.quarantine_threshold === 3, 1500);
});

testWithPostgres(
  'a revoked key is refused everywhere once its revocation is answered, and a node that is down is named',
  async t => {
    const {alpha, beta, gamma} = await start(t);
    const {id, key} = await alpha.createKey('full-admin');
    await eventually(async () => (await gamma.api('GET', 'auth/me', {key})).status === 200);

    t.is((await beta.api('POST', `auth/api-keys/${id}/revoke`)).status, 200);
    for (const node of [alpha, beta, gamma]) t.is((await node.api('GET', 'auth/me', {key})).status, 401);

    const second = await alpha.createKey('full-admin');
    await gamma.stop('SIGKILL');
    const {headers} = await alpha.api('POST', `auth/api-keys/${second.id}/revoke`);
    t.is(headers['x-unreachable-nodes'], 'gamma');
  },
);

testWithPostgres('the status says the same hash of all nodes, no backlog, and when each was seen', async t => {
  const {alpha, converged} = await start(t);
  await alpha.createDomain();
  await converged();

  const {peers} = await alpha.status();

  t.deepEqual(
    peers.map(({node_id, outbox_backlog_to_us, healthy, has_authority}) => [
      node_id,
      outbox_backlog_to_us,
      healthy,
      has_authority,
    ]),
    ['alpha', 'beta', 'gamma'].map(node_id => [node_id, 0, 'online', node_id === 'alpha']),
  );
  for (const {last_seen} of peers) t.true(Math.abs(Date.now() - Date.parse(last_seen)) < 15_000);
});

testWithPostgres('mail of a removed node stays in the list, with its name, and the log of all nodes is one', async t => {
  const {alpha, beta, gamma, sink} = await start(t);
  const {name} = await alpha.createDomain();
  await eventually(async () => (await gamma.api('GET', 'domains')).json.data.length === 1);
  const {queue_id} = await gamma.hold({to: `ben@${name}`});

  const {stderr} = await alpha.mfctl(['cluster', 'remove', 'gamma', '--yes']);
  t.regex(stderr, /removed node gamma\n.*gamma still knows the password of the store/s);
  await gamma.stop();

  t.deepEqual(await listed(beta), [`gamma/${queue_id}`]);
  t.is((await beta.api('POST', `mail/quarantine/gamma/${queue_id}/release`)).status, 200);
  t.is(sink.mails.length, 1);
  const {json} = await alpha.api('GET', 'audit?limit=1000');
  const actions = json.data.map(({action, node_id}: {action: string; node_id: string}) => `${node_id} ${action}`);
  for (const wanted of ['alpha cluster.remove', 'beta quarantine.release']) t.true(actions.includes(wanted), actions.join());
});

testWithPostgres('any node sweeps what has been held too long, that of a dead node too, by the setting of that node', async t => {
  const postgres = await startPostgres(t);
  const {nodes} = await startCluster(t, {
    postgres,
    isProxied: false,
    nodes: ['alpha', 'beta'] as const,
    config: {retention: {sweep_interval: 1}},
    configOf: {beta: {retention: {days: 0.00005, sweep_interval: 3600}}},
  });
  const {alpha, beta} = nodes;
  const {name} = await alpha.createDomain();
  await eventually(async () => (await beta.api('GET', 'domains')).json.data.length === 1);
  const kept = await alpha.hold({to: `ben@${name}`});
  await beta.hold({to: `ben@${name}`});
  await beta.stop('SIGKILL');

  const left = await eventually(async () => {
    const all = await listed(alpha);
    return all.length === 1 && all;
  });

  t.deepEqual(left, [`alpha/${kept.queue_id}`]);
});
