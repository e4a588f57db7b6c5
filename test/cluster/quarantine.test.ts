// The quarantine of three real nodes, listed and changed through any of them.
import test, {type ExecutionContext} from 'ava';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {HeldMail, MailReference, SummaryGroup} from '../../shared/held-mail.ts';
import type {ApiAnswer} from '../helpers/api-call.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

const cluster = forFile(async owner => startCluster(owner, {isProxied: false}));
const nodes = () => Object.values(cluster().nodes);
const pathOf = ({node_id, queue_id}: MailReference) => `mail/quarantine/${node_id}/${queue_id}`;
const list = async (node: ClusterNode, query: string) => node.api('GET', `mail/quarantine?limit=1000&${query}`);
const idsIn = ({json}: ApiAnswer): string[] => json.data.map(({node_id, queue_id}: HeldMail) => `${node_id}/${queue_id}`);

/** Creates a domain and waits until every node knows it. */
const createDomain = async () => {
  const domain = await cluster().nodes.alpha.createDomain({reject_threshold: 100});
  await cluster().converged();
  return domain;
};

/** Mails of one domain, held by each node in turn, oldest first. */
const holdOnAll = async (name: string, count: number): Promise<MailReference[]> => {
  const held: MailReference[] = [];
  for (let n = 0; n < count; n += 1) {
    const node = nodes()[n % 3] as ClusterNode;
    held.push(await node.hold({to: `user${n}@${name}`, subject: `mail ${n}`}));
  }
  return held;
};

const deliveredTo = (address: string): number =>
  cluster().sink.mails.filter(({recipients}) => recipients.includes(address)).length;

test.serial('list, summary, entry and body are the same whichever node is asked', async t => {
  const {name} = await createDomain();
  const held = await holdOnAll(name, 9);

  const answers = await Promise.all(nodes().map(async node => list(node, `domain=${name}`)));
  for (const answer of answers) {
    t.is(answer.json.message, 'OK');
    t.is(answer.headers['x-total-count'], '9');
    t.deepEqual(answer.json.data, answers[0]?.json.data);
  }
  const everything = idsIn(answers[0] as ApiAnswer);
  t.deepEqual(everything.toSorted(), held.map(({node_id, queue_id}) => `${node_id}/${queue_id}`).toSorted());
  for (const offset of [0, 4, 8])
    t.deepEqual(
      idsIn(await cluster().nodes.beta.api('GET', `mail/quarantine?domain=${name}&limit=4&offset=${offset}`)),
      everything.slice(offset, offset + 4),
    );
  t.is((await list(cluster().nodes.alpha, `domain=${name}&node=gamma`)).json.data.length, 3);

  for (const node of nodes()) {
    const {data} = (await node.api('GET', `mail/quarantine/summary?domain=${name}`)).json;
    t.is(data.count, 9);
    t.deepEqual(data.groups.map(({node_id}: SummaryGroup) => node_id).sort(), ['alpha', 'beta', 'gamma']);
  }
  for (const mail of held.slice(0, 3)) {
    const details = await Promise.all(nodes().map(async node => (await node.api('GET', pathOf(mail))).json.data));
    const bodies = await Promise.all(nodes().map(async node => node.api('GET', `${pathOf(mail)}/body`)));
    t.is(details[0].domain, name);
    for (const detail of details) t.deepEqual(detail, details[0]);
    for (const {status, headers, body} of bodies) {
      t.is(status, 200);
      t.is(headers['content-type'], 'text/rfc822');
      t.is(Number(headers['content-length']), body.length);
      t.deepEqual(body, bodies[0]?.body);
    }
  }
});

for (const count of [1, 2])
  test.serial(`a domain-admin sees and acts on the mail of ${count} domains on every node, and of no other`, async t => {
    const [own, other, second] = [await createDomain(), await createDomain(), await createDomain()];
    const names = [own.name, second.name].slice(0, count);
    const {key} = await cluster().nodes.gamma.createKey('domain-admin', {domains: names});
    await cluster().converged();
    const held: MailReference[] = [];
    for (const name of names) held.push(...(await holdOnAll(name, 3)));
    const foreign = await holdOnAll(other.name, 3);
    const total = 3 * count;

    for (const node of nodes()) {
      const {json, headers} = await node.api('GET', 'mail/quarantine', {key});
      t.is(headers['x-total-count'], String(total));
      t.deepEqual(json.data.map(({queue_id}: HeldMail) => queue_id).sort(), held.map(({queue_id}) => queue_id).sort());
      const last = await node.api('GET', `mail/quarantine?limit=2&offset=${total - 2}`, {key});
      t.deepEqual(last.json.data, json.data.slice(-2));
      t.is((await node.api('GET', 'mail/quarantine/summary', {key})).json.data.count, total);
      for (const mail of foreign)
        for (const [method, path] of [
          ['GET', pathOf(mail)],
          ['GET', `${pathOf(mail)}/body`],
          ['POST', `${pathOf(mail)}/release`],
          ['POST', `${pathOf(mail)}/discard`],
        ] as const)
          t.is((await node.api(method, path, {key})).json.error.code, 'not_found', `${node.node_id} ${method} ${path}`);
    }
    for (const mail of held)
      t.is((await cluster().nodes.alpha.api('POST', `${pathOf(mail)}/discard`, {key})).json.data.state, 'discarded');
  });

test.serial('release and discard go to the owner from any node, once', async t => {
  const {alpha, beta, gamma} = cluster().nodes;
  const {name} = await createDomain();
  const mail = await beta.hold({to: `once@${name}`});
  const {body} = await beta.api('GET', `${pathOf(mail)}/body`);

  const released = await alpha.api('POST', `${pathOf(mail)}/release`);

  t.is(released.status, 200);
  t.like(released.json.data, {...mail, state: 'released', already: false});
  t.is(deliveredTo(`once@${name}`), 1);
  t.deepEqual(cluster().sink.mails.find(({recipients}) => recipients.includes(`once@${name}`))?.content, body, 'byte for byte');
  const again = await gamma.api('POST', `${pathOf(mail)}/release`);
  t.like(again.json.data, {state: 'released', already: true, acted_at: released.json.data.acted_at});
  const opposite = await gamma.api('POST', `${pathOf(mail)}/discard`);
  t.is(opposite.status, 409);
  t.is(opposite.json.error.code, 'conflict');
  t.is((await gamma.api('GET', pathOf(mail))).status, 404);

  const other = await gamma.hold({to: `gone@${name}`});
  t.is((await beta.api('POST', `${pathOf(other)}/discard`)).json.data.state, 'discarded');
  t.like((await gamma.api('POST', `${pathOf(other)}/discard`)).json.data, {state: 'discarded', already: true});
  t.is(deliveredTo(`gone@${name}`), 0);
  t.is(deliveredTo(`once@${name}`), 1);

  t.is((await alpha.api('POST', 'mail/quarantine/delta/Whatever01/release')).json.error.code, 'unknown_node');
  t.is((await alpha.api('POST', 'mail/quarantine/beta/Whatever01/release')).json.error.code, 'not_found');
});

test.serial('a refusal of the backend is told recipient by recipient on every node, and the mail is still held', async t => {
  const {alpha, beta} = cluster().nodes;
  const {name} = await createDomain();
  const mail = await beta.hold({to: [`good@${name}`, `bad@${name}`]});
  cluster().sink.behave({recipients: {[`bad@${name}`]: {code: 550, text: '5.1.1 unknown'}}});

  const {status, json} = await alpha.api('POST', `${pathOf(mail)}/release`);
  cluster().sink.behave({});

  t.is(status, 502);
  t.is(json.error.code, 'delivery_failed');
  t.deepEqual(json.error.fields.map(({path}: {path: string}) => path).sort(), [`bad@${name}`, `good@${name}`]);
  t.deepEqual((await alpha.api('GET', pathOf(mail))).json.data.recipients, [`bad@${name}`]);
});

testOwnStore.serial('the audit log is that of all nodes, and each entry is by the node that did it', async t => {
  const {alpha, beta} = cluster().nodes;
  const {name} = await createDomain();
  const {id, key} = await alpha.createKey('quarantine-only');
  await cluster().converged();
  const held = await holdOnAll(name, 3);
  for (const mail of held) await alpha.api('POST', `${pathOf(mail)}/discard`, {key});

  const {json, headers} = await beta.api('GET', `audit?key_id=${id}`);

  t.is(headers['x-total-count'], '3');
  const entries: AuditEntry[] = json.data;
  t.deepEqual(
    entries.map(({node_id, target, result}) => [node_id, target, result]).sort(),
    held.map(({node_id, queue_id}) => [node_id, `${node_id}/${queue_id}`, 'ok']).sort(),
  );
  t.deepEqual(
    entries.map(({at}) => at),
    entries
      .map(({at}) => at)
      .toSorted()
      .reverse(),
  );
  t.deepEqual((await beta.api('GET', `audit?key_id=${id}&limit=1&offset=1`)).json.data, [entries[1]]);
  const printed = await beta.mfctl(['audit', '--key-id', String(id), '-o', 'json']);
  t.is(JSON.parse(printed.stdout).length, 3);
});

for (const count of [1, 2])
  test.serial(
    `events of the mail on other nodes come over any node, to those who may see them: a key for ${count} domains`,
    async t => {
      const {alpha, beta, gamma} = cluster().nodes;
      const [own, other, second] = [await createDomain(), await createDomain(), await createDomain()];
      const {key} = await alpha.createKey('domain-admin', {domains: [second.name, own.name].slice(-count)});
      await cluster().converged();
      const streams = {all: await watchEvents(t, alpha), own: await watchEvents(t, alpha, {key})};
      t.is(await streams.all.listening(), ': listening to all nodes');
      await streams.own.listening();

      const foreign = await beta.hold({to: `a@${other.name}`});
      const mail = await gamma.hold({to: `a@${own.name}`});
      await beta.api('POST', `${pathOf(mail)}/discard`);
      await beta.api('PUT', `domains/${own.id}`, {body: {quarantine_threshold: 5}});

      const isOf =
        (type: string, {queue_id}: MailReference) =>
        (event: object & {type: string}) =>
          event.type === type && 'queue_id' in event && event.queue_id === queue_id;
      await streams.all.next(isOf('held', foreign));
      const {data} = await streams.all.next(isOf('discarded', mail));
      t.like(data, {node_id: 'gamma', state: 'discarded', already: false});
      await streams.own.next(({type}) => type === 'domain');
      t.deepEqual(
        streams.own.events.map(({name}) => name),
        ['held', 'discarded', 'domain'],
      );
      t.is(new Set(streams.all.events.map(({id}) => id)).size, streams.all.events.length);
      if (count === 1) return;
      const further = await gamma.hold({to: `a@${second.name}`});
      await streams.own.next(isOf('held', further));
    },
  );

test.serial('a key that has just been revoked elsewhere does nothing on any node', async t => {
  const {alpha, beta, gamma} = cluster().nodes;
  const {name} = await createDomain();
  const {id, key} = await alpha.createKey('quarantine-only');
  await cluster().converged();
  const mail = await gamma.hold({to: `a@${name}`});
  const stream = await watchEvents(t, beta, {key});

  await alpha.api('POST', `auth/api-keys/${id}/revoke`);

  t.is((await beta.api('POST', `${pathOf(mail)}/release`, {key})).json.error.code, 'key_revoked');
  t.true(await eventually(stream.isEnded, 5000));
  t.is((await gamma.api('GET', pathOf(mail))).status, 200);
});

/** A list while one node is away. */
const isPartial = (t: ExecutionContext, {status, json, headers}: ApiAnswer, away: string) => {
  t.is(status, 200);
  t.is(json.message, 'Partial');
  t.is(headers['x-unreachable-nodes'], away);
};

testOwnStore.serial('a node that is stopped is named and left out, and nothing is done there', async t => {
  const {alpha, beta, gamma} = cluster().nodes;
  const {name} = await createDomain();
  const held = await holdOnAll(name, 6);
  const onGamma = held.filter(({node_id}) => node_id === 'gamma');
  await gamma.stop();

  const answer = await list(alpha, `domain=${name}`);
  isPartial(t, answer, 'gamma');
  t.is(answer.headers['x-total-count'], '4');
  isPartial(t, await beta.api('GET', `mail/quarantine/summary?domain=${name}`), 'gamma');
  isPartial(t, await alpha.api('GET', 'audit'), 'gamma');
  const strict = await list(alpha, `domain=${name}&strict=true`);
  t.is(strict.status, 503);
  t.is(strict.json.error.code, 'node_unreachable');
  t.truthy(strict.headers['retry-after']);
  t.is((await list(alpha, `domain=${name}&node=beta&strict=true`)).status, 200, 'gamma was not asked');
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/body'],
    ['POST', '/release'],
    ['POST', '/discard'],
  ] as const) {
    const {status, json, headers} = await alpha.api(method, `${pathOf(onGamma[0] as MailReference)}${path}`);
    t.is(status, 503, `${method} ${path}`);
    t.is(json.error.code, 'node_unreachable');
    t.truthy(headers['retry-after']);
  }
  const bulk = await beta.api('POST', 'mail/quarantine/discard', {body: {items: held}});
  t.is(bulk.status, 200);
  t.deepEqual(
    bulk.json.data.map((result: {node_id: string; state?: string; error?: {code: string}}) => [
      result.node_id,
      result.state ?? result.error?.code,
    ]),
    held.map(({node_id}) => [node_id, node_id === 'gamma' ? 'node_unreachable' : 'discarded']),
  );
  const printed = await alpha.mfctl(['quarantine', 'list', '--domain', name]);
  t.is(printed.code, 0);
  t.regex(printed.stderr, /incomplete: gamma did not answer/);
  t.is((await alpha.mfctl(['quarantine', 'list', '--domain', name, '--strict'])).code, 6);

  await gamma.start();
  await eventually(async () => (await list(alpha, `domain=${name}`)).headers['x-total-count'] === '2');
  t.is((await list(alpha, `domain=${name}`)).json.message, 'OK');
  for (const mail of onGamma) {
    t.is((await alpha.api('POST', `${pathOf(mail)}/release`)).json.data.already, false, 'nothing was done before');
    const index = held.indexOf(mail);
    t.is(deliveredTo(`user${index}@${name}`), 1);
  }
});

testOwnStore.serial(
  'a node that hangs is left out after two seconds, and a release there says that nothing or nobody knows what was done',
  async t => {
    const {alpha, gamma} = cluster().nodes;
    const {name} = await createDomain();
    await holdOnAll(name, 2);
    const mail = await gamma.hold({to: `hangs@${name}`});
    await list(alpha, `domain=${name}`);

    gamma.signal('SIGSTOP');
    try {
      const startedAt = performance.now();
      const answer = await list(alpha, `domain=${name}`);
      t.log(`list: ${Math.round(performance.now() - startedAt)} ms`);
      isPartial(t, answer, 'gamma');
      t.is(answer.headers['x-total-count'], '2');

      const askedAt = performance.now();
      const {status, json} = await alpha.api('POST', `${pathOf(mail)}/release`);
      t.log(`release: ${status} ${json.error.code} after ${Math.round(performance.now() - askedAt)} ms`);
      t.true(
        (status === 503 && json.error.code === 'node_unreachable') || (status === 504 && json.error.code === 'outcome_unknown'),
      );
    } finally {
      gamma.signal('SIGCONT');
    }

    // Repeating is safe, whatever the result of the first request.
    const repeated = await eventually(async () => {
      const again = await alpha.api('POST', `${pathOf(mail)}/release`);
      return again.status === 200 && again;
    });
    t.is(repeated.json.data.state, 'released');
    t.is(deliveredTo(`hangs@${name}`), 1);
  },
);
