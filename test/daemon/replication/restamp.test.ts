// Stamps with wrong dates that an older version stored.

import test, {type ExecutionContext} from 'ava';
import {formatStamp} from '../../../daemon/replication/clock.ts';
import {restampFuture} from '../../../daemon/replication/restamp.ts';
import type {StoredRecord} from '../../../daemon/services/records.ts';
import {change, newFields} from '../../helpers/config-history.ts';
import {addDomain, createReplica, everything, hashOf, type Replica, send} from '../../helpers/replica.ts';

const lastYear = 'e5ffffffffff.ffff.0003';

/** Stores the record as version 0.4 did, which accepted a stamp of any year before 9999, with everything derived from it. */
const dateField = async ({store}: Replica, id: number, name: string, stamp: string): Promise<void> => {
  const row = await store
    .read('config_record')
    .where({kind: 'domain', id})
    .first<Omit<StoredRecord, 'fields'> & {fields: string}>();
  const fields = JSON.parse(row.fields) as StoredRecord['fields'];
  const [value] = fields[name] ?? [null];
  await store
    .write('config_record')
    .where({kind: 'domain', id})
    .update({fields: JSON.stringify({...fields, [name]: [value, stamp]})});
};

const arrange = async (t: ExecutionContext) => {
  const [alpha, beta] = [await createReplica(t, 1), await createReplica(t, 2)];
  const id = await addDomain(alpha, 'one.test');
  await send(alpha, beta);
  for (const node of [alpha, beta]) await dateField(node, id, 'quarantine_threshold', lastYear);
  return {alpha, beta, id};
};

const setThreshold = async ({configuration}: Replica, id: number, quarantine_threshold: number) =>
  configuration.change(async tx => tx.update('domain', id, {quarantine_threshold}));

const thresholdAt = async ({store}: Replica, id: number) => (await store.config.findDomain(id))?.quarantine_threshold;

test('what was dated years ahead can be edited again, and the edit goes everywhere, also where it was brought back later', async t => {
  const {alpha, beta, id} = await arrange(t);
  const before = await hashOf(alpha);

  await t.throwsAsync(setThreshold(alpha, id, 4), {message: /restart mfd/});
  const count = await restampFuture(alpha.store, Date.now());
  const after = await hashOf(alpha);
  await setThreshold(alpha, id, 4);
  await restampFuture(beta.store, Date.now());
  const told = await send(alpha, beta);

  t.is(count, 1);
  t.is(after, before, 'values are as they were');
  t.is(told.leftOut, '');
  for (const node of [alpha, beta]) t.is(await thresholdAt(node, id), 4);
  t.is(await hashOf(alpha), await hashOf(beta));
  t.like(await alpha.store.read('audit').first(), {action: 'config.restamp', result: 'ok'});
});

test('an event that every peer refused is sent with another date, and what comes after it too', async t => {
  const {alpha, beta, id} = await arrange(t);
  await setThreshold(alpha, id, 4).catch(() => undefined);
  // The write of version 0.4 here is later than the stamp before it.
  const next = 'e60000000000.0000.0001';
  await dateField(alpha, id, 'quarantine_threshold', next);
  const {events} = await alpha.replication.batchAfter(0, everything);
  await alpha.store.write('outbox').insert({
    seq: 2,
    event: JSON.stringify({
      stamp: next,
      changes: [{kind: 'domain', id, deleted: null, fields: {quarantine_threshold: [4, next]}}],
    }),
  });
  await alpha.store.write('local_state').insert({name: 'sequence:outbox', value: '2'}).onConflict('name').merge();

  await restampFuture(beta.store, Date.now());
  await restampFuture(alpha.store, Date.now());
  await addDomain(alpha, 'two.test');
  const told = await send(alpha, beta);

  t.is(events.length, 1);
  t.deepEqual(told, {applied: 3, hasGap: false, leftOut: ''});
  t.deepEqual(
    (await beta.store.config.listDomains()).map(({name}) => name),
    ['one.test', 'two.test'],
  );
});

test('who has a name, the tables and the hash follow the corrected dates at once', async t => {
  const nowMs = Date.UTC(2026, 10, 23);
  const alpha = await createReplica(t, 1, () => nowMs);
  const late = 2_000_000_001;
  await alpha.configuration.applyRemote({changes: [change('domain', late, lastYear, newFields.domain('one.test'))]});
  const id = await addDomain(alpha, 'one.test');
  const before = (await alpha.store.config.listDomains()).map(({id}) => id);

  await restampFuture(alpha.store, nowMs);

  t.deepEqual(before, [id]);
  t.deepEqual(
    (await alpha.store.config.listDomains()).map(({id}) => id),
    [late],
  );
  const {digest} = await alpha.store.read('config_record').where({kind: 'domain', id: late}).first();
  t.is(await hashOf(alpha), `sha256:${digest}`);
});

test('a node whose own clock was years ahead writes again, with dates that others take', async t => {
  const alpha = await createReplica(t, 1);
  await alpha.store.write('local_state').insert({name: 'clock', value: formatStamp(Date.now() + 1e11, 0, 1)});

  await t.throwsAsync(addDomain(alpha, 'one.test'), {message: /restart mfd/});
  await restampFuture(alpha.store, Date.now());

  await t.notThrowsAsync(addDomain(alpha, 'one.test'));
});

test('right dates stay, and with a clock that cannot be right nothing is changed', async t => {
  const {alpha, id} = await arrange(t);
  const before = await alpha.store.read('config_record');

  t.is(await restampFuture(alpha.store, Date.UTC(2020, 0, 1)), 0);
  t.deepEqual(await alpha.store.read('config_record'), before);
  await restampFuture(alpha.store, Date.now());
  const once = await alpha.store.read('config_record').where({kind: 'domain', id}).first();

  t.is(await restampFuture(alpha.store, Date.now()), 0);
  t.deepEqual(await alpha.store.read('config_record').where({kind: 'domain', id}).first(), once);
  t.is((await alpha.store.read('audit')).length, 1);
});
