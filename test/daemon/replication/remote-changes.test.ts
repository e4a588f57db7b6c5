// Validation of the configuration that another node sends, on every path.

import test from 'ava';
import {formatStamp} from '../../../daemon/replication/clock.ts';
import type {ConfigTransaction} from '../../../daemon/services/ports.ts';
import type {ConfigRecord} from '../../../daemon/services/records.ts';
import {newFields} from '../../helpers/config-history.ts';
import {addDomain, catchUp, createReplica, everything, hashOf, type Replica, send, sender} from '../../helpers/replica.ts';

const hourMs = 3_600_000;
const today = 1_800_000_000_000;

const domainAt = async ({store}: Replica, id: number) => store.config.findDomain(id);
const auditAt = async ({store}: Replica) => store.read('audit').orderBy('seq').select('action', 'target', 'result', 'detail');

const setThreshold = async ({configuration}: Replica, id: number, quarantine_threshold: number) =>
  configuration.change(async tx => tx.update('domain', id, {quarantine_threshold}));

/** `records` as a new event of `origin`. */
const event = (origin: number, seq: number, changes: ConfigRecord[]) => ({
  origin: sender(origin),
  request: {floor: 0, events: [{seq, event: {stamp: formatStamp(today, 0, origin), changes}}]},
});

const dated = (ms: number, nodeNo: number, id: number, fields: Record<string, number | string>): ConfigRecord => ({
  kind: 'domain',
  id,
  deleted: null,
  fields: Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value, formatStamp(ms, 0, nodeNo)]])),
});

test('a write that is dated years ahead is left out and told, and the record can be edited on every node', async t => {
  const [alpha, beta] = [await createReplica(t, 1, () => today), await createReplica(t, 2, () => today)];
  const id = await addDomain(alpha, 'one.test');
  await send(alpha, beta);
  const late = dated(0xe5ffffffffff, 3, id, {quarantine_threshold: 1});
  const {origin, request} = event(3, 1, [late, dated(today, 3, id, {reject_threshold: 20})]);

  const told = await alpha.replication.receive(origin, request);
  await setThreshold(alpha, id, 4);
  const passedOn = await send(alpha, beta);

  t.deepEqual(told, {applied: 1, hasGap: false, leftOut: `domain ${id} (quarantine_threshold)`});
  t.like(await domainAt(alpha, id), {quarantine_threshold: 4, reject_threshold: 20});
  t.deepEqual(passedOn, {applied: 2, hasGap: false, leftOut: ''});
  t.is((await domainAt(beta, id))?.quarantine_threshold, 4);
  t.deepEqual(await auditAt(alpha), [
    {
      action: 'replication.refuse',
      target: 'mx3',
      result: 'validation_failed',
      detail: `dated more than a day ahead of this node's clock: domain ${id} (quarantine_threshold)`,
    },
  ]);
});

test('the time of no possible date is left out like any other, and later events of that node are applied', async t => {
  const alpha = await createReplica(t, 1, () => today);
  const id = await addDomain(alpha, 'one.test');
  const {origin, request} = event(3, 1, [dated(0xffffffffffff, 3, id, {quarantine_threshold: 1})]);

  const first = await alpha.replication.receive(origin, request);
  const second = await alpha.replication.receive(
    origin,
    event(3, 2, [dated(today + 1, 3, id, {quarantine_threshold: 2})]).request,
  );

  t.deepEqual([first.applied, second.applied], [1, 2]);
  t.is((await domainAt(alpha, id))?.quarantine_threshold, 2);
});

test('a deletion that is dated ahead is left out, and so are such writes in snapshots and repairs, which one audit entry says', async t => {
  const alpha = await createReplica(t, 1, () => today);
  const id = await addDomain(alpha, 'one.test');
  const lateDeletion: ConfigRecord = {kind: 'domain', id, fields: {}, deleted: formatStamp(today + 26 * hourMs, 0, 3)};
  const late = dated(today + 26 * hourMs, 3, id, {quarantine_threshold: 1});

  await alpha.replication.receive(sender(3), event(3, 1, [lateDeletion]).request);
  for (const path of ['snapshot', 'repair', 'repair'] as const) await alpha.replication.merge([late], {node: sender(3), path});

  t.like(await domainAt(alpha, id), {name: 'one.test', quarantine_threshold: 6});
  t.deepEqual(
    (await auditAt(alpha)).map(({detail}) => detail),
    [
      `dated more than a day ahead of this node's clock: domain ${id} (deletion)`,
      `dated more than a day ahead of this node's clock: domain ${id} (quarantine_threshold)`,
    ],
  );
});

test('a write that is dated a day ahead is applied, and what is put on it is taken by every other node', async t => {
  const [fast, slow, third] = [
    await createReplica(t, 1, () => today + 24 * hourMs),
    await createReplica(t, 2, () => today),
    await createReplica(t, 3, () => today - hourMs / 4),
  ];
  const id = await addDomain(fast, 'one.test');
  await send(fast, slow);

  await setThreshold(slow, id, 3);
  await send(slow, fast);
  await catchUp(slow, third);

  for (const node of [fast, slow, third]) t.is((await domainAt(node, id))?.quarantine_threshold, 3);
});

test('a change that the other nodes would leave out fails where it is made, and changes nothing', async t => {
  let ms = today + 30 * 24 * hourMs;
  const alpha = await createReplica(t, 1, () => ms);
  const id = await addDomain(alpha, 'one.test');
  const before = await hashOf(alpha);

  ms = today;
  await t.throwsAsync(setThreshold(alpha, id, 4), {message: /set its clock right and restart mfd/});

  t.is((await domainAt(alpha, id))?.quarantine_threshold, 6);
  t.is(await hashOf(alpha), before);
  t.is(await alpha.replication.lastSeq(), 1);
});

const gamma = {
  node_id: 'mx3',
  fqdn: 'mx3.test',
  cluster_url: 'https://mx3.test:8444',
  api_url: 'https://mx3.test:8443',
  created_at: '2026-01-01T00:00:00.000Z',
};

const addNode = async ({configuration}: Replica, id: number, fields = gamma) =>
  configuration.change(async (tx: ConfigTransaction) => tx.create('node', id, fields));

const nodeAt = async ({store}: Replica, id: number) => store.config.findNode(id);

const ownRecord = async ({replication}: Replica, id: number): Promise<ConfigRecord> => {
  const [record] = await replication.records([{kind: 'node', id}]);
  if (!record) throw new Error(`no node ${id}`);
  return record;
};

/** `record` with other values and stamps later than all others. */
const rewritten = (record: ConfigRecord, fields: Record<string, string>, nodeNo = 3): ConfigRecord => ({
  ...record,
  fields: {
    ...record.fields,
    ...Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, [value, formatStamp(Date.now() + 60_000, 0, nodeNo)]]),
    ),
  },
});

test('what another node serves about a node changes nothing that is known, by snapshot and by repair', async t => {
  const alpha = await createReplica(t, 1);
  for (const [id, node_id] of [
    [1, 'mx1'],
    [2, 'mx2'],
  ] as const)
    await addNode(alpha, id, {...gamma, node_id, fqdn: `${node_id}.test`});
  const before = await hashOf(alpha);
  const evil = {node_id: 'evil', fqdn: 'evil.test', api_url: 'https://evil.test:1', cluster_url: 'https://evil.test:2'};

  for (const path of ['snapshot', 'repair'] as const)
    for (const id of [1, 2])
      await alpha.replication.merge([rewritten(await ownRecord(alpha, id), evil, id)], {node: sender(3), path});

  t.like(await nodeAt(alpha, 1), {node_id: 'mx1', fqdn: 'mx1.test', api_url: gamma.api_url});
  t.like(await nodeAt(alpha, 2), {node_id: 'mx2', fqdn: 'mx2.test', cluster_url: gamma.cluster_url});
  t.is(await hashOf(alpha), before);
});

test('a node is believed about itself, but for the name that its certificate has', async t => {
  const alpha = await createReplica(t, 1);
  await addNode(alpha, 3);
  const moved = {node_id: 'mx1', fqdn: 'new.test', cluster_url: 'https://new.test:8444'};

  await alpha.replication.merge([rewritten(await ownRecord(alpha, 3), moved)], {node: sender(3), path: 'heartbeat'});

  t.like(await nodeAt(alpha, 3), {node_id: 'mx3', fqdn: 'new.test', cluster_url: 'https://new.test:8444'});
});

test('a node that is not known yet is taken as it is served, and describes itself from then on', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  await addNode(beta, 3);
  const served = await ownRecord(beta, 3);

  await alpha.replication.merge([served], {node: sender(2), path: 'snapshot'});
  await alpha.replication.merge([rewritten(served, {fqdn: 'other.test'}, 2)], {node: sender(2), path: 'repair'});
  const asServed = (await nodeAt(alpha, 3))?.fqdn;
  await alpha.replication.merge([rewritten(served, {fqdn: 'own.test'})], {node: sender(3), path: 'heartbeat'});

  t.deepEqual([asServed, (await nodeAt(alpha, 3))?.fqdn], ['mx3.test', 'own.test']);
});

test('a removal is taken from whoever serves it', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  await addNode(beta, 3);
  await catchUp(beta, alpha);
  await beta.configuration.change(async tx => tx.remove('node', 3));

  await catchUp(beta, alpha);

  t.is(await nodeAt(alpha, 3), undefined);
});

test('a node restored from a backup, with an older name, says again what it is called, and the others believe it', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  await addNode(alpha, 1, {...gamma, node_id: 'mx1', fqdn: 'old.test'});
  const backup = await alpha.replication.recordsPage(undefined);
  await alpha.configuration.change(async tx => tx.update('node', 1, {fqdn: 'newer.test'}));
  await send(alpha, beta);
  const restored = await createReplica(t, 1);
  await restored.configuration.applyRemote({changes: backup.records});

  await catchUp(beta, restored);
  await send(restored, beta);

  for (const node of [restored, beta]) t.is((await nodeAt(node, 1))?.fqdn, 'old.test');
  t.is(await hashOf(restored), await hashOf(beta));
});

const addKey = async ({configuration, nodeNo}: Replica, scope = 'full-admin'): Promise<number> =>
  configuration.change(async tx => {
    const id = await tx.nextId('api_key');
    await tx.create('api_key', id, {...newFields.apiKey(id), name: `key of ${nodeNo}`, scope, created_at: tx.at} as never);
    return id;
  });

test('every key that comes from elsewhere is in the audit with the node it was made on', async t => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  const id = await addKey(beta);

  await send(beta, alpha);

  t.deepEqual(await auditAt(alpha), [
    {action: 'key.replicate', target: String(id), result: 'ok', detail: 'full-admin key of 2, made on mx2'},
  ]);
});

test('keys and domains of others in a snapshot or repair are in the audit with who served them; a join leaves no such entries', async t => {
  const [alpha, beta, third] = [await createReplica(t, 1), await createReplica(t, 2), await createReplica(t, 3)];
  const key = await addKey(alpha);
  const domain = await addDomain(alpha, 'one.test');
  await send(alpha, beta);
  const own = await addDomain(beta, 'own.test');

  await catchUp(beta, third);
  await setThreshold(alpha, domain, 3);
  await send(alpha, beta);
  const keys = [
    {kind: 'domain', id: domain},
    {kind: 'domain', id: own},
  ] as const;
  await third.replication.merge(await beta.replication.records([...keys]), {node: sender(2), path: 'repair'});
  const joined = await createReplica(t, 4);
  const {records} = await beta.replication.recordsPage(undefined);
  await joined.replication.merge(records, {node: sender(2), path: 'join'});

  t.deepEqual(
    (await auditAt(third)).map(({action, target, detail}) => [action, target, detail]),
    [
      ['key.replicate', String(key), 'full-admin key of 1, made on mx1, served by mx2 in a snapshot'],
      ['domain.replicate', 'one.test', 'written on mx1, served by mx2 in a snapshot'],
      ['domain.replicate', 'one.test', 'written on mx1, served by mx2 in a repair'],
    ],
  );
  t.deepEqual(await auditAt(joined), []);
});

test('who is planted under the number of another node is in the audit with the node that served it', async t => {
  const alpha = await createReplica(t, 1);
  const planted: ConfigRecord = {
    kind: 'api_key',
    id: 1_000_000_777,
    deleted: null,
    fields: Object.fromEntries(
      Object.entries({...newFields.apiKey(7), scope: 'full-admin'}).map(([name, value]) => [
        name,
        [value, formatStamp(Date.now(), 0, 1)],
      ]),
    ),
  };

  await alpha.replication.merge([planted], {node: sender(3), path: 'repair'});

  t.like(
    (await auditAt(alpha)).find(({target}) => target === '1000000777'),
    {action: 'key.replicate', detail: 'full-admin key 7, made on mx1, served by mx3 in a repair'},
  );
});

test('what a snapshot leaves out is applied once the clock of this node is right', async t => {
  let ms = today - 30 * 24 * hourMs;
  const [alpha, beta] = [await createReplica(t, 1, () => ms), await createReplica(t, 2, () => today)];
  await addDomain(beta, 'one.test');
  const first = await send(beta, alpha);

  ms = today;
  await catchUp(beta, alpha);

  t.is(first.applied, 1);
  t.not(first.leftOut, '');
  t.is(await hashOf(alpha), await hashOf(beta));
  t.deepEqual((await beta.replication.batchAfter(0, everything)).events.length, 1);
});
