import {createHash} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import test from 'ava';
import fc from 'fast-check';
import {apply, type Change, digestOf} from '../../../daemon/replication/apply.ts';
import {claimsIn, conflictsIn} from '../../../daemon/replication/config-merge.ts';
import {changedKeys} from '../../../daemon/replication/notifier.ts';
import type {NodeTransaction} from '../../../daemon/services/node-store.ts';
import type {ConfigReads} from '../../../daemon/services/ports.ts';
import {isComplete} from '../../../daemon/services/readable-record.ts';
import {allDomains, type Kind, kinds, type StampedFields, type StoredRecord} from '../../../daemon/services/records.ts';
import type {Json} from '../../../shared/merge-patch.ts';
import {change, deletion, delivery, filterOwner, history, newFields, stampOf} from '../../helpers/config-history.ts';
import {type TestStore, testConfiguration, testStore} from '../../helpers/store.ts';

const applyAll = async (store: TestStore, batches: Change[][]): Promise<void> => {
  for (const batch of batches) await store.transaction(async tx => apply(tx, batch, 1));
};

const rolledBack = new Error('rolled back');

/** The result of `read` for an empty store to which `batches` were applied; all of it is rolled back. */
const appliedIn = async <T>(
  store: TestStore,
  batches: Change[][],
  read: (tx: NodeTransaction, db: TestStore['write']) => Promise<T>,
): Promise<T> => {
  let seen: T[] = [];
  const applied = store.transaction(async tx => {
    for (const batch of batches) await apply(tx, batch, 1);
    seen = [await read(tx, store.write)];
    throw rolledBack;
  });
  await applied.catch(error => {
    if (error !== rolledBack) throw error;
  });
  return seen[0] as T;
};

/** Everything that is replicated, or derived from it. */
const dump = async ({config}: Pick<NodeTransaction, 'config'>, db: TestStore['write']) => ({
  hash: (await config.configHash()).config_hash,
  config_record: await db('config_record').orderBy(['kind', 'id']),
  ...(await readFrom(config)),
});

/** The live records of all kinds, in their readable form. */
const readFrom = async (config: ConfigReads) => ({
  node: await config.listNodes(),
  domain: await config.listDomains(),
  api_key: await config.listApiKeys(),
  mail_filter: await config.listMailFilters(),
  dkim_key: await config.listDkimKeys(),
  webhook: await config.listWebhooks(),
  digest: await config.listDigests(),
});

/** The hash as any reader of the records would compute it: from those that are read. */
const recomputedHash = async ({config}: Pick<NodeTransaction, 'config'>, db: TestStore['write']): Promise<string> => {
  let sum = 0n;
  for (const kind of kinds)
    for (const id of await idsIn({config}, kind)) {
      const {fields} = await db('config_record').where({kind, id}).first();
      const values = Object.entries(JSON.parse(fields) as StampedFields)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, [value]]) => [name, value]);
      sum += BigInt(
        `0x${createHash('sha256')
          .update(JSON.stringify([kind, id, values]))
          .digest('hex')}`,
      );
    }
  return `sha256:${BigInt.asUintN(256, sum).toString(16).padStart(64, '0')}`;
};

const domain = (id: number, name: string, n: number) => change('domain', id, stampOf(n), newFields.domain(name));
const threshold = (id: number, n: number, value: number) => change('domain', id, stampOf(n), {quarantine_threshold: value});
const dkimKey = (id: number, domainId: number, n: number) =>
  change('dkim_key', id, stampOf(n), newFields.dkimKey(domainId, 's1'));
const hashOf = async ({config}: TestStore) => (await config.configHash()).config_hash;
const idsIn = async ({config}: Pick<NodeTransaction, 'config'>, kind: Kind): Promise<number[]> =>
  (await readFrom(config))[kind].map(({id}) => id).sort((a, b) => a - b);

test('whatever the order, the batches and the repetitions, the same changes make the same tables and the same hash', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const deliveries = history(16).chain(changes => fc.tuple(delivery(changes), delivery(changes)));

  await fc.assert(
    fc.asyncProperty(deliveries, async ([one, other]) => {
      const [first, recomputed] = await appliedIn(
        store,
        one,
        async (tx, db) => [await dump(tx, db), await recomputedHash(tx, db)] as const,
      );
      const second = await appliedIn(store, other, dump);

      t.deepEqual(second, first);
      t.is(first.hash, recomputed);
    }),
    {numRuns: 1000},
  );
});

test('what is applied once more changes nothing', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const repetitions = history(16).chain(changes => fc.tuple(delivery(changes), fc.array(fc.nat(20), {minLength: 1})));

  await fc.assert(
    fc.asyncProperty(repetitions, async ([batches, again]) => {
      await appliedIn(store, batches, async (tx, db) => {
        const before = await dump(tx, db);

        for (const n of again) t.deepEqual(await apply(tx, batches[n % batches.length] ?? [], 2), []);

        t.deepEqual(await dump(tx, db), before);
      });
    }),
    {numRuns: 500},
  );
});

const isLiveAmong = (records: StoredRecord[], {kind, id, fields, deleted, unique_key, parent_id}: StoredRecord): boolean => {
  if (deleted !== null || !isComplete({kind, id, fields})) return false;
  const claims = claimsIn(records.filter(other => other.kind === kind && other.unique_key === unique_key));
  if (unique_key !== null && conflictsIn(claims).has(id)) return false;
  const parent = records.find(other => other.kind === 'domain' && other.id === parent_id);
  return parent_id === null || parent_id === allDomains || (parent !== undefined && isLiveAmong(records, parent));
};

test('a record has a digest exactly when it is complete, not deleted, has its name and its parent is live', async t => {
  const {store} = await testStore(t, {isDurable: false});

  await fc.assert(
    fc.asyncProperty(history(20), async changes => {
      const records = await appliedIn(store, [changes], async tx => tx.records.after(undefined, 1000));

      for (const record of records) t.is(record.digest, isLiveAmong(records, record) ? digestOf(record) : '');
    }),
    {numRuns: 500},
  );
});

test('what is read of a record is there exactly when it is complete, not deleted, and its domain is there', async t => {
  const {store} = await testStore(t, {isDurable: false});

  await fc.assert(
    fc.asyncProperty(history(20), async changes => {
      const created = (kind: Kind) =>
        changes.filter(({kind: of, fields}) => of === kind && 'created_at' in fields).map(({id}) => id);
      const deleted = (kind: Kind) => changes.filter(({kind: of, deleted: at}) => of === kind && at !== null).map(({id}) => id);
      const wanted = (kind: Kind) =>
        created(kind)
          .filter(id => !deleted(kind).includes(id))
          .sort((a, b) => a - b);

      await appliedIn(store, [changes], async tx => {
        const domains = await idsIn(tx, 'domain');
        const names = (await tx.config.listDomains()).map(({name}) => name);
        t.is(new Set(names).size, names.length);
        for (const kind of kinds)
          t.true(
            (await idsIn(tx, kind)).every(id => wanted(kind).includes(id)),
            kind,
          );
        t.deepEqual(
          await idsIn(tx, 'mail_filter'),
          wanted('mail_filter').filter(id => filterOwner(id) === allDomains || domains.includes(filterOwner(id))),
        );
        t.deepEqual(await idsIn(tx, 'api_key'), wanted('api_key'));
      });
    }),
    {numRuns: 250},
  );
});

test('a value that goes and comes back gives the same hash again', async t => {
  const {store} = await testStore(t);
  await applyAll(store, [[domain(1, 'one.test', 1)]]);
  const before = await hashOf(store);

  await applyAll(store, [[threshold(1, 2, 7)]]);
  const between = await hashOf(store);
  await applyAll(store, [[threshold(1, 3, 6)]]);

  t.not(between, before);
  t.is(await hashOf(store), before);
});

test('the hash of nothing is the hash of everything deleted', async t => {
  const {store} = await testStore(t);
  const nothing = await hashOf(store);

  await applyAll(store, [[domain(1, 'one.test', 1), dkimKey(1, 1, 2)], [deletion('domain', 1, stampOf(3))]]);

  t.is(nothing, `sha256:${'0'.repeat(64)}`);
  t.is(await hashOf(store), nothing);
});

test('the age of the hash starts again when the hash changes and not when nothing does', async t => {
  const {store} = await testStore(t);
  const created = domain(1, 'one.test', 1);

  await store.transaction(async tx => apply(tx, [created], 1000));
  await store.transaction(async tx => apply(tx, [created], 2000));
  const {changed_at_ms: unchanged} = await store.config.configHash();
  await store.transaction(async tx => apply(tx, [threshold(1, 2, 7)], 3000));
  const {changed_at_ms: changed} = await store.config.configHash();

  t.is(unchanged, 1000);
  t.is(changed, 3000);
});

test('an update that overtakes its creation takes effect with it', async t => {
  const {store} = await testStore(t);

  await applyAll(store, [[threshold(1, 2, 7)]]);
  const early = await idsIn(store, 'domain');
  await applyAll(store, [[domain(1, 'one.test', 1)]]);

  t.deepEqual(early, []);
  t.like((await store.config.listDomains())[0], {id: 1, quarantine_threshold: 7});
});

test('the earlier creation takes the name from a later one that was there first', async t => {
  const {store} = await testStore(t);

  await applyAll(store, [[domain(2, 'one.test', 5), dkimKey(9, 2, 6)]]);
  await applyAll(store, [[domain(1, 'one.test', 4)]]);

  t.deepEqual(await idsIn(store, 'domain'), [1]);
  t.deepEqual(await idsIn(store, 'dkim_key'), []);
});

test('a name is free again for a domain created after the deletion, and for no other', async t => {
  const {store} = await testStore(t);
  await applyAll(store, [[domain(1, 'one.test', 1)], [deletion('domain', 1, stampOf(5))]]);

  await applyAll(store, [[domain(2, 'one.test', 3)]]);
  const conflict = await idsIn(store, 'domain');
  await applyAll(store, [[domain(3, 'one.test', 7)]]);

  t.deepEqual(conflict, []);
  t.deepEqual(await idsIn(store, 'domain'), [3]);
});

test('children that arrive after the deletion of their domain never appear', async t => {
  const {store} = await testStore(t);
  await applyAll(store, [[domain(1, 'one.test', 1)], [deletion('domain', 1, stampOf(2))]]);

  await applyAll(store, [
    [dkimKey(1, 1, 9), change('mail_filter', 1, stampOf(9), newFields.mailFilter(1))],
    [change('mail_filter', 1, stampOf(10), {comment: 'late'})],
  ]);

  t.deepEqual(await idsIn(store, 'dkim_key'), []);
  t.deepEqual(await idsIn(store, 'mail_filter'), []);
});

test('a filter for all domains is live without any domain, and stays when one is deleted', async t => {
  const {store} = await testStore(t);
  const filter = change('mail_filter', 1, stampOf(1), newFields.mailFilter(allDomains));

  const made = await store.transaction(async tx => apply(tx, [filter], 1));
  await applyAll(store, [[domain(1, 'one.test', 2)], [deletion('domain', 1, stampOf(3))]]);

  t.deepEqual(changedKeys(made), [{kind: 'mail_filter', id: 1, parent_id: allDomains}]);
  t.deepEqual(await idsIn(store, 'mail_filter'), [1]);
  await applyAll(store, [[deletion('mail_filter', 1, stampOf(4))]]);
  t.deepEqual(await idsIn(store, 'mail_filter'), []);
});

test('a filter for all domains that an earlier version has stored as incomplete is live after the upgrade', async t => {
  const {store} = await testStore(t);
  await applyAll(store, [[change('mail_filter', 1, stampOf(1), newFields.mailFilter(allDomains))]]);
  const whole = await dump(store, store.write);
  await store.write('config_record').update({digest: ''});
  await store.write('local_state').where({name: 'config_sum'}).update({value: ''});

  await testConfiguration(store).rebuild();

  t.deepEqual(await dump(store, store.write), whole);
});

test('children that arrive before their domain appear with it', async t => {
  const {store} = await testStore(t);

  const early = await store.transaction(async tx => apply(tx, [dkimKey(1, 1, 2)], 1));
  const whole = await store.transaction(async tx => apply(tx, [domain(1, 'one.test', 1)], 1));

  t.deepEqual(changedKeys(early), [{kind: 'dkim_key', id: 1, parent_id: 1}]);
  t.deepEqual(changedKeys(whole), [
    {kind: 'domain', id: 1, parent_id: null},
    {kind: 'dkim_key', id: 1, parent_id: 1},
  ]);
  t.deepEqual(await idsIn(store, 'dkim_key'), [1]);
});

for (const [order, batches] of Object.entries({
  'before the deletion': [[domain(1, 'one.test', 1), dkimKey(1, 1, 2)], [deletion('domain', 1, stampOf(3))]],
  'after the deletion': [[domain(1, 'one.test', 1)], [deletion('domain', 1, stampOf(3))], [dkimKey(1, 1, 2)]],
  'before its domain': [[dkimKey(1, 1, 2)], [deletion('domain', 1, stampOf(3))], [domain(1, 'one.test', 1)]],
  'in one batch with the deletion': [[deletion('domain', 1, stampOf(3)), dkimKey(1, 1, 2), domain(1, 'one.test', 1)]],
}))
  test(`no private key of a deleted domain stays in the database when it arrived ${order}`, async t => {
    const {store, filename} = await testStore(t);

    await applyAll(store, batches);

    t.notRegex(JSON.stringify(await dump(store, store.write)), /PRIVATE-/);
    await store.write.raw('PRAGMA wal_checkpoint(TRUNCATE)');
    t.false((await readFile(filename)).includes('PRIVATE-'), 'the file still holds the key in unused space');
  });

test('a failing batch leaves the tables and the hash as they were', async t => {
  const {store} = await testStore(t);
  await applyAll(store, [[domain(1, 'one.test', 1)]]);
  const before = await dump(store, store.write);

  const failing = store.transaction(async tx => {
    await apply(tx, [domain(2, 'two.test', 2), deletion('domain', 1, stampOf(3))], 1);
    throw new Error('the disk is gone');
  });

  await t.throwsAsync(failing, {message: 'the disk is gone'});
  t.deepEqual(await dump(store, store.write), before);
});

test('a field that only a newer version knows is kept and counts, and shows in no table', async t => {
  const {store} = await testStore(t);
  await applyAll(store, [[domain(1, 'one.test', 1)]]);
  const before = await hashOf(store);

  await applyAll(store, [[change('domain', 1, stampOf(2), {new_setting: [true]})]]);

  t.not(await hashOf(store), before);
  t.is(await hashOf(store), await recomputedHash(store, store.write));
  t.deepEqual(await idsIn(store, 'domain'), [1]);
  t.regex((await store.write('config_record').first()).fields, /"new_setting":\[\[true\],/);
});

const wrongValues: [kind: Kind, whole: Record<string, Json>, wrong: Record<string, Json>][] = [
  ['domain', newFields.domain('one.test'), {name: null}],
  ['domain', newFields.domain('one.test'), {name: {a: 1}}],
  ['domain', newFields.domain('one.test'), {name: 'Not A Name'}],
  ['domain', newFields.domain('one.test'), {backend_servers: 'mx.one.test:25'}],
  ['domain', newFields.domain('one.test'), {active: 'yes'}],
  ['api_key', newFields.apiKey(1), {scope: 'everything'}],
  ['api_key', newFields.apiKey(1), {key_hash: ['hash-1']}],
  ['api_key', newFields.apiKey(1), {revoked_at: {at: 'never'}}],
  ['api_key', newFields.apiKey(1), {rate_limit_per_minute: 1e308}],
  ['mail_filter', newFields.mailFilter(7), {pattern: 7}],
  ['mail_filter', newFields.mailFilter(7), {domain_id: {id: 7}}],
  ['mail_filter', newFields.mailFilter(7), {match: 'body'}],
  ['mail_filter', newFields.mailFilter(0), {domain_id: -1}],
  ['dkim_key', newFields.dkimKey(7, 's1'), {selector: 's1\r\nX: y'}],
  ['dkim_key', newFields.dkimKey(7, 's1'), {private_key_pem: null}],
  ['node', newFields.node(1), {fqdn: 25}],
  ['node', {...newFields.node(1), api_url: null}, {api_url: {href: 'https://x.test'}}],
];

for (const [kind, whole, wrong] of wrongValues)
  test(`a ${kind} with ${JSON.stringify(wrong)} is live nowhere, breaks nothing, and is live once that is put right`, async t => {
    const {store} = await testStore(t, {isDurable: false});
    await applyAll(store, [[domain(7, 'seven.test', 1)]]);
    const before = {...(await dump(store, store.write)), config_record: []};

    await applyAll(store, [[change(kind, 1, stampOf(2), {...whole, ...wrong})]]);
    const between = {...(await dump(store, store.write)), config_record: []};
    await applyAll(store, [[change(kind, 1, stampOf(3), whole)]]);

    t.deepEqual(between, before);
    t.true((await idsIn(store, kind)).includes(1));
  });

test('a key that names its domain by text comes to the same whether it arrives before the domain or after it', async t => {
  const {store} = await testStore(t);
  const wrong = change('dkim_key', 8, stampOf(1), {...newFields.dkimKey(1, 's1'), domain_id: '1'});
  const all = [wrong, dkimKey(9, 1, 2), domain(1, 'one.test', 3)].map(one => [one]);

  const before = await appliedIn(store, all, dump);
  const after = await appliedIn(store, all.toReversed(), dump);

  t.deepEqual(before, after);
});

test('two domains that swap their names in one batch both have the other name', async t => {
  const {store} = await testStore(t);
  await applyAll(store, [[domain(1, 'one.test', 1), domain(2, 'two.test', 2)]]);

  await applyAll(store, [
    [change('domain', 1, stampOf(3), {name: 'two.test'}), change('domain', 2, stampOf(3), {name: 'one.test'})],
  ]);

  t.deepEqual(
    (await store.config.listDomains([1, 2])).map(({id, name}) => [id, name]),
    [
      [2, 'one.test'],
      [1, 'two.test'],
    ],
  );
});

test('a change of a domain changes the domain alone, and its deletion all that belongs to it', async t => {
  const {store} = await testStore(t);
  const filter = (id: number) => change('mail_filter', id, stampOf(2), newFields.mailFilter(1));
  await applyAll(store, [[domain(1, 'one.test', 1), filter(1), filter(2), dkimKey(3, 1, 2)]]);

  const changed = await store.transaction(async tx => apply(tx, [threshold(1, 3, 7)], 1));
  const deleted = await store.transaction(async tx => apply(tx, [deletion('domain', 1, stampOf(4))], 1));

  t.deepEqual(changedKeys(changed), [{kind: 'domain', id: 1, parent_id: null}]);
  t.deepEqual(
    changedKeys(deleted)
      .map(({kind, id}) => `${kind}/${id}`)
      .sort(),
    ['dkim_key/3', 'domain/1', 'mail_filter/1', 'mail_filter/2'],
  );
  for (const table of ['domain', 'mail_filter', 'dkim_key'] as const) t.deepEqual(await idsIn(store, table), []);
});
