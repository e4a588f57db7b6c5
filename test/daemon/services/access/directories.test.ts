// The two directories with which requests and mail read the configuration: they must always be current.
import test, {type ExecutionContext} from 'ava';
import {createKeyDirectory, hashKey} from '../../../../daemon/services/access/key-directory.ts';
import {insertKey} from '../../../../daemon/services/access/keys.ts';
import {createDomainDirectory} from '../../../../daemon/services/domains/domain-directory.ts';
import {createDomainParts} from '../../../../daemon/services/domains/domain-parts.ts';
import {createGlobalFilters} from '../../../../daemon/services/domains/mail-filters.ts';
import {Fault} from '../../../../shared/fault.ts';
import {change, newFields, stampOf} from '../../../helpers/config-history.ts';
import {testDirectories} from '../../../helpers/directories.ts';
import {operator} from '../../../helpers/hold-queue.ts';
import {openTestStore, type TestStore, testConfiguration} from '../../../helpers/store.ts';

const wantedKey = {name: 'bootstrap', scope: 'full-admin', rate_limit_per_minute: 600} as const;

const arrange = async (t: ExecutionContext) => {
  const node = await testDirectories(t);
  const {domains} = node;
  const create = async (name: string) => domains.create(operator, {name, backend_servers: ['127.0.0.1:25']});
  return {...node, parts: createDomainParts(node), globalFilters: createGlobalFilters(node.filters), create};
};

type Arranged = Awaited<ReturnType<typeof arrange>>;

const authenticate = async ({keys}: Arranged, value: string) => {
  const key = await keys.identify(value);
  keys.admit(key);
  return key;
};

/** The directory that a node would load if it started now. */
const fresh = async ({store, configuration}: Arranged) => {
  const directory = await createDomainDirectory(store, configuration);
  return directory.list().map(domain => ({
    domain,
    filters: directory.filtersOf(domain.id).filters,
    dkimKeys: directory.dkimKeysOf(domain.id),
  }));
};

const remembered = ({domainDirectory}: Arranged) =>
  domainDirectory.list().map(domain => ({
    domain,
    filters: domainDirectory.filtersOf(domain.id).filters,
    dkimKeys: domainDirectory.dkimKeysOf(domain.id),
  }));

const blockBad = {action: 'block', match: 'sender_domain', pattern: 'bad.test'};

test('a domain is found as soon as it is created, changed as soon as it is changed, and gone as soon as it is deleted', async t => {
  const node = await arrange(t);

  const {id} = await node.create('one.test');
  t.like(node.domainDirectory.findByName('one.test'), {id, quarantine_threshold: 6});
  await node.domains.update(operator, id, {quarantine_threshold: 4}, undefined);
  t.like(node.domainDirectory.findById(id), {quarantine_threshold: 4});
  t.like(node.domainDirectory.findByName('one.test'), {quarantine_threshold: 4});
  await node.domains.remove(operator, id, undefined);

  t.is(node.domainDirectory.findById(id), undefined);
  t.is(node.domainDirectory.findByName('one.test'), undefined);
  t.deepEqual(node.domainDirectory.list(), []);
});

test('filters and DKIM keys of a domain come and go with the calls, and with the domain', async t => {
  const node = await arrange(t);
  const {id} = await node.create('one.test');

  const filter = await node.parts.addFilter(operator, id, blockBad);
  await node.parts.addDkimKey(operator, id, {selector: 's1', algorithm: 'ed25519'});
  t.is(node.domainDirectory.filtersOf(id).filters.length, 1);
  t.like(node.domainDirectory.dkimKeysOf(id)[0], {selector: 's1'});
  await node.parts.removeFilter(operator, id, filter.id);
  t.deepEqual(node.domainDirectory.filtersOf(id).filters, []);
  await node.domains.remove(operator, id, undefined);

  t.deepEqual(node.domainDirectory.dkimKeysOf(id), []);
  t.deepEqual(await node.store.config.listDkimKeys(), []);
  t.notRegex(JSON.stringify(await node.store.read('config_record')), /PRIVATE KEY/);
});

test('a filter for all domains is one of every domain, of those that come later too, and outlives them', async t => {
  const node = await arrange(t);
  const first = await node.create('one.test');
  const own = await node.parts.addFilter(operator, first.id, blockBad);

  const forAll = await node.globalFilters.add(operator, {...blockBad, pattern: 'worse.test'});
  const second = await node.create('two.test');
  const idsOf = (id: number) => node.domainDirectory.filtersOf(id).filters.map(filter => filter.id);
  t.deepEqual(idsOf(first.id), [own.id, forAll.id]);
  t.deepEqual(idsOf(second.id), [forAll.id]);
  t.deepEqual(remembered(node), await fresh(node));
  await node.domains.remove(operator, first.id, undefined);
  t.deepEqual(idsOf(second.id), [forAll.id]);
  t.deepEqual(await node.globalFilters.list(), [forAll]);
  await node.globalFilters.remove(operator, forAll.id);

  t.deepEqual(idsOf(second.id), []);
  t.deepEqual(await node.globalFilters.list(), []);
});

test('neither a domain nor all domains can remove a filter of the other', async t => {
  const node = await arrange(t);
  const {id} = await node.create('one.test');
  const own = await node.parts.addFilter(operator, id, blockBad);
  const forAll = await node.globalFilters.add(operator, blockBad);

  await t.throwsAsync(node.globalFilters.remove(operator, own.id), {message: /there is no filter \d+ for all domains/});
  await t.throwsAsync(node.parts.removeFilter(operator, id, forAll.id), {
    message: /there is no filter \d+ of the domain one\.test/,
  });

  t.is(node.domainDirectory.filtersOf(id).filters.length, 2);
});

test('a domain of the same name as a deleted one is another, with none of its parts', async t => {
  const node = await arrange(t);
  const first = await node.create('one.test');
  await node.parts.addFilter(operator, first.id, blockBad);
  await node.domains.remove(operator, first.id, undefined);

  const second = await node.create('one.test');

  t.not(second.id, first.id);
  t.is(node.domainDirectory.findByName('one.test')?.id, second.id);
  t.deepEqual(node.domainDirectory.filtersOf(second.id).filters, []);
});

test('a domain with many parts goes in one change, and nothing of it stays in memory', async t => {
  const node = await arrange(t);
  const {id} = await node.create('one.test');
  for (let n = 0; n < 5; n += 1) await node.parts.addFilter(operator, id, blockBad);
  await node.parts.addDkimKey(operator, id, {selector: 's1', algorithm: 'ed25519'});

  await node.domains.remove(operator, id, undefined);

  const {event} = await node.store.read('outbox').orderBy('seq', 'desc').first();
  t.like(JSON.parse(event), {changes: {length: 1, 0: {kind: 'domain', id, fields: {}}}});
  t.deepEqual(await node.store.read('config_record').whereNull('deleted'), []);
  t.deepEqual(node.domainDirectory.filtersOf(id).filters, []);
  t.deepEqual(node.domainDirectory.dkimKeysOf(id), []);
  const {action} = await node.store.read('audit').orderBy('seq', 'desc').first();
  t.is(action, 'domain.delete');
});

test('after many changes at once, memory is what the database says', async t => {
  const node = await arrange(t);
  const made = await Promise.all(Array.from({length: 12}, async (_, n) => node.create(`d${n}.test`)));

  await Promise.all(
    made
      .flatMap(({id}, n) => [
        node.domains.update(operator, id, {quarantine_threshold: 1}, undefined),
        node.parts.addFilter(operator, id, blockBad),
        node.domains.update(operator, id, {quarantine_threshold: 2, active: n % 2 === 0}, undefined),
        ...(n % 3 === 0 ? [node.domains.remove(operator, id, undefined)] : []),
      ])
      .map(async work =>
        work.catch(error => {
          if (!(error instanceof Fault)) throw error;
        }),
      ),
  );

  t.is(remembered(node).length, 8);
  t.deepEqual(remembered(node), await fresh(node));
});

test('many domains that change at once are read in a few queries', async t => {
  const node = await arrange(t);
  const domains = Array.from({length: 300}, (_, n) => change('domain', n + 1, stampOf(1), newFields.domain(`d${n}.test`)));
  const keys = Array.from({length: 300}, (_, n) => change('api_key', n + 1, stampOf(1), newFields.apiKey(n)));
  let queries = 0;
  node.store.read.on('query', () => {
    queries += 1;
  });

  await node.configuration.applyRemote({changes: [...domains, ...keys]});

  t.is(node.domainDirectory.list().length, 300);
  t.is(node.keyDirectory.list().length, 300);
  t.true(queries <= 10, `${queries} queries`);
});

test('a retention that cannot be read is told once, counts as the longest, and goes when it is removed or set again', async t => {
  const {store, configuration, domains} = await arrange(t);
  const told: string[] = [];
  const directory = await createDomainDirectory(store, configuration, {onUnreadableRetention: ({name}) => told.push(name)});
  const write = async (id: number, n: number, retention: unknown) =>
    configuration.applyRemote({
      changes: [change('domain', id, stampOf(n), {...newFields.domain(`d${id}.test`), retention} as never)],
    });
  for (const id of [1, 2]) await write(id, 1, {days: '14'});
  await write(3, 1, {days: 14, by_reason: {}});
  await domains.update(operator, 1, {quarantine_threshold: 4}, undefined);

  t.deepEqual(told, ['d1.test', 'd2.test']);
  t.deepEqual(directory.findById(1)?.retention, {days: 36_500, by_reason: {}});
  const restarted: string[] = [];
  await createDomainDirectory(store, configuration, {onUnreadableRetention: ({name}) => restarted.push(name)});
  t.deepEqual(restarted, told);
  await domains.update(operator, 1, {retention: null}, undefined);
  await domains.update(operator, 2, {retention: {days: 7}}, undefined);

  t.is(directory.findById(1)?.retention, undefined);
  t.deepEqual(directory.findById(2)?.retention, {days: 7, by_reason: {}});
  t.deepEqual(told, ['d1.test', 'd2.test']);
});

test('of two who create one name at once, one succeeds and the other is told that it is taken', async t => {
  const node = await arrange(t);

  const outcomes = await Promise.allSettled(Array.from({length: 5}, async () => node.create('one.test')));

  const refusals = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [(outcome.reason as Fault).code] : []));
  t.deepEqual(refusals, ['conflict', 'conflict', 'conflict', 'conflict']);
  t.is((await node.store.config.listDomains()).length, 1);
  t.is((await node.store.read('outbox')).length, 1);
});

test('a key counts as soon as it is created, and no more as soon as it is revoked or deleted', async t => {
  const node = await arrange(t);
  const keep = await node.keys.create(operator, wantedKey);
  const key = await node.keys.create(operator, {name: 'k', scope: 'read-only'});

  t.is((await authenticate(node, key.key)).id, key.id);
  await node.keys.revoke(operator, key.id, {body: {}, isForced: false});
  await t.throwsAsync(authenticate(node, key.key), {message: /^key_revoked/});
  await node.keys.remove(operator, key.id, false);

  await t.throwsAsync(authenticate(node, key.key), {message: /^key_invalid/});
  t.is((await authenticate(node, keep.key)).id, keep.id);
});

test('a key that another process wrote into the database counts at its first use', async t => {
  const node = await arrange(t);
  const other = await openTestStore(node.filename);
  t.teardown(other.close);

  const {key, id} = await testConfiguration(other).change(async tx =>
    insertKey(tx, {keyId: null, remoteAddress: null}, wantedKey, undefined),
  );

  t.is((await authenticate(node, key)).id, id);
});

/** A store whose key lookups take until `pause` is over. */
const slowly = (store: TestStore, pause: () => Promise<void>): TestStore => ({
  ...store,
  config: {
    ...store.config,
    async findApiKey(key) {
      const found = await store.config.findApiKey(key);
      await pause();
      return found;
    },
  },
});

test('a key that is deleted while it is looked up for the first time is not remembered', async t => {
  const {store, configuration} = await arrange(t);
  let isDeleted = false;
  const deleteMeanwhile = async () => {
    if (isDeleted) return;
    isDeleted = true;
    await configuration.change(async tx => tx.remove('api_key', made.id));
  };
  const directory = await createKeyDirectory(slowly(store, deleteMeanwhile), configuration);
  const made = await testConfiguration(store).change(async tx =>
    insertKey(tx, {keyId: null, remoteAddress: null}, wantedKey, undefined),
  );

  const found = await directory.findByHash(hashKey(made.key));

  t.is(found, undefined);
  t.is(await directory.findByHash(hashKey(made.key)), undefined);
});

test('the last use of a key is known at once, is written down by flush, and is there after a restart', async t => {
  const node = await arrange(t);
  const {id} = await node.keys.create(operator, wantedKey);
  const at = new Date('2026-03-01T12:00:00.000Z');

  node.keyDirectory.touch(id, at);
  const before = await node.store.read('key_use');
  await node.keyDirectory.flush();
  const restarted = await createKeyDirectory(node.store, node.configuration);

  t.deepEqual(before, []);
  t.is(node.keyDirectory.lastUsedAt(id), at.toISOString());
  t.is(restarted.lastUsedAt(id), at.toISOString());
});

test('a use that could not be written down is written down by the next flush', async t => {
  const node = await arrange(t);
  const {id} = await node.keys.create(operator, wantedKey);
  node.keyDirectory.touch(id, new Date('2026-03-01T12:00:00.000Z'));
  await node.store.write.schema.renameTable('key_use', 'elsewhere');

  await t.throwsAsync(node.keyDirectory.flush());
  await node.store.write.schema.renameTable('elsewhere', 'key_use');
  await node.keyDirectory.flush();

  t.deepEqual(await node.store.read('key_use'), [{key_id: id, last_used_at: '2026-03-01T12:00:00.000Z'}]);
});

test('an earlier use does not overwrite a later one that is stored', async t => {
  const node = await arrange(t);
  const {id} = await node.keys.create(operator, wantedKey);
  const late = await createKeyDirectory(node.store, node.configuration);
  late.touch(id, new Date('2026-03-02T00:00:00.000Z'));
  await late.flush();

  node.keyDirectory.touch(id, new Date('2026-03-01T00:00:00.000Z'));
  await node.keyDirectory.flush();

  t.like((await node.store.read('key_use'))[0], {last_used_at: '2026-03-02T00:00:00.000Z'});
});

test('nothing of a deleted key stays in the table of uses', async t => {
  const node = await arrange(t);
  const {id} = await node.keys.create(operator, wantedKey);
  node.keyDirectory.touch(id, new Date());
  await node.keyDirectory.flush();

  await node.keys.remove(operator, id, true);

  t.deepEqual(await node.store.read('key_use'), []);
});
