import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import test, {type ExecutionContext} from 'ava';
import {type Configuration, createConfiguration} from '../../../daemon/replication/configuration.ts';
import type {ConfigTransaction} from '../../../daemon/services/ports.ts';
import {type Kind, stampMs} from '../../../daemon/services/records.ts';
import {auditHash} from '../../../daemon/store/sql/audit.ts';
import {change, newFields, stampOf} from '../../helpers/config-history.ts';
import {eventually} from '../../helpers/eventually.ts';
import {openTestStore, type TestStore, testConfiguration, testStore} from '../../helpers/store.ts';

const createDomain = async (tx: ConfigTransaction, name: string): Promise<number> => {
  const id = await tx.nextId('domain');
  await tx.create('domain', id, {...newFields.domain(name), created_at: tx.at});
  return id;
};

const outbox = async ({
  write,
}: TestStore): Promise<{seq: number; event: {stamp: string; changes: {kind: string; id: number}[]}}[]> =>
  (await write('outbox').orderBy('seq')).map(({seq, event}) => ({seq, event: JSON.parse(event)}));

const someone = {keyId: 7, remoteAddress: '192.0.2.1'};

test('a change leaves exactly one outbox row, with everything in it under one stamp', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store, {now: () => 1_767_225_600_123});

  const id = await configuration.change(async tx => {
    const made = await createDomain(tx, 'one.test');
    await tx.update('domain', made, {active: false});
    return made;
  });

  const rows = await outbox(store);
  t.is(rows.length, 1);
  t.deepEqual(
    rows[0]?.event.changes.map(change => [change.kind, change.id]),
    [
      ['domain', id],
      ['domain', id],
    ],
  );
  t.is(stampMs(rows[0]?.event.stamp ?? ''), 1_767_225_600_123);
  t.like((await store.config.listDomains())[0], {
    id,
    created_at: '2026-01-01T00:00:00.123Z',
    updated_at: '2026-01-01T00:00:00.123Z',
  });
});

test('work that changes nothing leaves no outbox row', async t => {
  const {store} = await testStore(t);

  const answer = await testConfiguration(store).change(async () => 'nothing to do');

  t.is(answer, 'nothing to do');
  t.deepEqual(await outbox(store), []);
});

test('work that fails leaves neither change, nor outbox row, nor audit entry, and tells nobody', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);
  let told = 0;
  configuration.onChange(async () => {
    told += 1;
  });

  const failing = configuration.change(async tx => {
    await createDomain(tx, 'one.test');
    await tx.audit(someone, 'domain.create', 'one.test');
    throw new Error('second thoughts');
  });

  await t.throwsAsync(failing, {message: 'second thoughts'});
  for (const table of ['config_record', 'outbox', 'audit', 'local_state']) t.deepEqual(await store.write(table), [], table);
  t.is(told, 0);
});

test('the numbers of outbox rows are never given twice, even after the rows are gone', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);
  await configuration.change(async tx => createDomain(tx, 'one.test'));
  await store.write('outbox').delete();

  await configuration.change(async tx => createDomain(tx, 'two.test'));

  t.deepEqual(
    (await outbox(store)).map(({seq}) => seq),
    [2],
  );
});

test('ids begin at the node number times 10^9, and one that was deleted is not given again after a restart', async t => {
  const {store, filename} = await testStore(t);
  const configuration = testConfiguration(store, {nodeNo: 3});
  const first = await configuration.change(async tx => createDomain(tx, 'one.test'));
  const second = await configuration.change(async tx => createDomain(tx, 'two.test'));
  await configuration.change(async tx => tx.remove('domain', second));
  await store.close();

  const again = await openTestStore(filename);
  t.teardown(again.close);
  const third = await testConfiguration(again, {nodeNo: 3}).change(async tx => createDomain(tx, 'three.test'));

  t.deepEqual([first, second, third], [3_000_000_001, 3_000_000_002, 3_000_000_003]);
});

test('listeners have run before the change resolves, and see it in the database', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);
  const seen: string[][] = [];
  configuration.onChange(async changed => {
    t.deepEqual(
      changed.map(({kind}) => kind),
      ['domain'],
    );
    await new Promise(resolve => setTimeout(resolve, 20));
    seen.push((await store.config.listDomains()).map(({name}) => name));
  });

  await configuration.change(async tx => createDomain(tx, 'one.test'));

  t.deepEqual(seen, [['one.test']]);
});

test('a listener is never overtaken by the next change', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);
  const steps: string[] = [];
  const create = async (name: string) => configuration.change(async tx => createDomain(tx, name));
  configuration.onChange(async changed => {
    steps.push(`begin ${changed.map(({id}) => id)}`);
    // The first listener call takes longest.
    await new Promise(resolve => setTimeout(resolve, steps.length === 1 ? 60 : 1));
    steps.push(`end ${changed.map(({id}) => id)}`);
  });

  const first = create('a.test');
  await eventually(() => steps.length > 0);
  const [b, c] = await Promise.all(['b.test', 'c.test'].map(create));

  t.deepEqual(steps, [`begin ${await first}`, `end ${await first}`, `begin ${b}`, `end ${b}`, `begin ${c}`, `end ${c}`]);
});

test('of changes that come at once each sees those before it, and has an event and a stamp of its own', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);
  const id = await configuration.change(async tx => createDomain(tx, 'one.test'));
  const addOne = async () =>
    configuration.change(async tx => {
      const {quarantine_threshold = 0} = (await tx.config.findDomain(id)) ?? {};
      await tx.update('domain', id, {quarantine_threshold: quarantine_threshold + 1});
      await tx.audit(someone, 'domain.update', 'one.test');
    });

  await Promise.all(Array.from({length: 20}, addOne));

  t.like((await store.config.listDomains())[0], {quarantine_threshold: newFields.domain('one.test').quarantine_threshold + 20});
  const rows = await outbox(store);
  t.deepEqual(
    rows.map(({seq}) => seq),
    Array.from({length: 21}, (_, n) => n + 1),
  );
  t.is(new Set(rows.map(({event}) => event.stamp)).size, 21);
  t.is((await store.read('audit')).length, 20);
});

test('of changes that come at once one that fails fails alone, and leaves nothing', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);
  const refuse = async () =>
    configuration.change(async tx => {
      await createDomain(tx, 'never.test');
      throw new Error('second thoughts');
    });

  const outcomes = await Promise.allSettled([
    configuration.change(async tx => createDomain(tx, 'one.test')),
    refuse(),
    configuration.change(async tx => createDomain(tx, 'two.test')),
  ]);

  t.deepEqual(
    outcomes.map(({status}) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  t.deepEqual(
    (await store.config.listDomains()).map(({name}) => name),
    ['one.test', 'two.test'],
  );
  t.is((await outbox(store)).length, 2);
});

/** A configuration with a listener that fails `failures` times, and another one behind it. */
const withFailingListener = async (t: ExecutionContext, failures: number) => {
  const {store} = await testStore(t);
  const errors: unknown[] = [];
  const configuration = createConfiguration({
    store,
    nodeNo: 1,
    now: Date.now,
    onListenerFailure: error => errors.push(error),
  });
  const [first, second]: number[][][] = [[], []];
  configuration.onChange(async changed => {
    first?.push(changed.map(({id}) => id));
    if ((first?.length ?? 0) <= failures) throw new Error('not this time');
  });
  configuration.onChange(async changed => {
    second?.push(changed.map(({id}) => id));
  });
  return {configuration, errors, first, second};
};

test('a change that is committed succeeds, whatever becomes of a listener, and the other listeners are told', async t => {
  const {configuration, errors, second} = await withFailingListener(t, 1);

  const id = await configuration.change(async tx => createDomain(tx, 'one.test'));

  t.deepEqual(second, [[id]]);
  t.like(errors, [{message: 'not this time'}]);
});

test('what a listener failed to take in it is told again by itself, and so are those that build upon it', async t => {
  const {configuration, errors, first, second} = await withFailingListener(t, 2);

  const id = await configuration.change(async tx => createDomain(tx, 'one.test'));
  await eventually(async () => first?.length === 3);

  t.deepEqual(first, [[id], [id], [id]]);
  t.deepEqual(second, [[id], [id], [id]]);
  t.is(errors.length, 2);
});

test('what a listener failed to take in it is told before anything later', async t => {
  const {configuration, first} = await withFailingListener(t, 1);

  const one = await configuration.change(async tx => createDomain(tx, 'one.test'));
  const two = await configuration.change(async tx => createDomain(tx, 'two.test'));
  const three = await configuration.change(async tx => createDomain(tx, 'three.test'));

  t.deepEqual(first?.flat(), [one, one, two, three]);
});

test('records of a kind that only a newer version knows are left out and told of, and the rest is taken over', async t => {
  const {store} = await testStore(t);
  const unknown: string[][] = [];
  const configuration = createConfiguration({
    store,
    nodeNo: 1,
    now: Date.now,
    onUnknownKinds: kinds => unknown.push(kinds),
  });
  const stranger = {...change('domain', 1, stampOf(1), {name: 'x'}), kind: 'listener' as Kind};

  await configuration.applyRemote({changes: [stranger, change('domain', 2, stampOf(1), newFields.domain('one.test'))]});

  t.deepEqual(
    (await store.config.listDomains()).map(({id}) => id),
    [2],
  );
  t.deepEqual(await store.read('config_record').pluck('kind'), ['domain']);
  t.deepEqual(unknown, [['listener']]);
});

test('a rebuild publishes what was wrong and nothing else, in every slice', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const configuration = testConfiguration(store);
  const [first, third, last] = [101, 103, 1200];
  const all = Array.from({length: 1100}, (_, n) => change('domain', first + n, stampOf(n), newFields.domain(`d${n}.test`)));
  await configuration.applyRemote({changes: all});
  const right = await store.config.listDomains();
  const {config_hash} = await store.config.configHash();
  const db = store.write;
  await db('config_record').whereIn('id', [third, last]).update({digest: ''});
  await db('local_state').where({name: 'config_sum'}).update({value: 'abc'});
  const told: number[] = [];
  configuration.onChange(async changed => {
    told.push(...changed.map(({id}) => id));
  });

  await configuration.rebuild();
  const once = [...told];
  await configuration.rebuild();

  t.deepEqual(once, [third, last]);
  t.deepEqual(await store.config.listDomains(), right);
  t.is((await store.config.configHash()).config_hash, config_hash);
  t.deepEqual(told, once);
});

test('a rebuild corrects what keys and filters are found by', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const configuration = testConfiguration(store);
  const domains = [101, 102].map((id, n) => change('domain', id, stampOf(n + 1), newFields.domain(`d${n}.test`)));
  const key = change('api_key', 103, stampOf(3), newFields.apiKey(1));
  const filter = change('mail_filter', 104, stampOf(4), newFields.mailFilter(101));
  await configuration.applyRemote({changes: [...domains, key, filter]});
  const db = store.write;
  const right = await db('config_record').orderBy(['kind', 'id']);
  await db('config_record').where({id: 103}).update({unique_key: 'damaged'});
  await db('config_record').where({id: 104}).update({parent_id: 102});

  await configuration.rebuild();

  t.deepEqual(await db('config_record').orderBy(['kind', 'id']), right);
  t.is((await store.config.findApiKey({key_hash: String(key.fields.key_hash?.[0])}))?.id, 103);
  t.deepEqual(
    (await store.config.listMailFilters([101])).map(({id}) => id),
    [104],
  );
});

test('a sum that was damaged on the disk keeps nobody from writing, and is computed again', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const configuration = testConfiguration(store);
  const {store: other} = await testStore(t, {isDurable: false});
  const all = [101, 102].map((id, n) => change('domain', id, stampOf(n), newFields.domain(`d${n}.test`)));
  await testConfiguration(other).applyRemote({changes: all});
  for (const [n, value] of ['["ben@example.com"]', '-1', ' '].entries()) {
    await store.write('local_state').where({name: 'config_sum'}).delete();
    await store.write('local_state').insert({name: 'config_sum', value});

    await configuration.applyRemote({changes: all.slice(0, n + 1)});
    await configuration.rebuild();
  }

  t.deepEqual((await store.config.configHash()).config_hash, (await other.config.configHash()).config_hash);
});

test('a rebuild that finds nothing wrong keeps nobody from writing', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);
  await configuration.change(async tx => createDomain(tx, 'one.test'));

  await store.transaction(async () => configuration.rebuild());

  t.pass();
});

test('an audit entry names who did it, and chains to the one before', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store, {now: () => 1_767_225_600_000});

  await configuration.change(async tx => tx.audit(someone, 'domain.create', 'one.test'));
  await configuration.change(async tx => tx.audit(someone, 'domain.create', 'one.test'));

  const [first, second] = await store.read('audit').orderBy('seq');
  t.like(first, {at: '2026-01-01T00:00:00.000Z', key_id: 7, remote_address: '192.0.2.1', action: 'domain.create', result: 'ok'});
  t.not(first.hash, second.hash);
});

test('two connections that change the configuration at once take turns, and nothing is lost or numbered twice', async t => {
  const {store, filename} = await testStore(t);
  const other = await openTestStore(filename);
  t.teardown(other.close);
  const configurations = [testConfiguration(store), testConfiguration(other)];

  await Promise.all(
    Array.from({length: 60}, async (_, n) =>
      configurations[n % 2]?.change(async tx => {
        await tx.audit(someone, 'domain.create', `number ${n}`);
        return createDomain(tx, `d${n}.test`);
      }),
    ),
  );

  const ids = (await store.config.listDomains()).map(({id}) => id);
  t.is(new Set(ids).size, 60);
  t.is((await outbox(store)).length, 60);
  t.is((await store.read('audit')).length, 60);
});

const writer = fileURLToPath(new URL('../../helpers/config-writer-main.ts', import.meta.url));

test('changes from two openings of one database go on from each other: records, ids, events, stamps, log and hash', async t => {
  const {store, filename} = await testStore(t);
  const beside = await openTestStore(filename);
  t.teardown(beside.close);
  const [here, there] = [testConfiguration(store), testConfiguration(beside)];
  const make = async (configuration: Configuration, name: string) =>
    configuration.change(async tx => {
      await tx.audit(someone, 'domain.create', name);
      return createDomain(tx, name);
    });

  const first = await make(here, 'first.test');
  const second = await make(there, 'second.test');
  await there.change(async tx => tx.update('domain', first, {quarantine_threshold: 3}));
  const seen = await here.change(async tx => {
    const domain = await tx.config.findDomain(first);
    await tx.update('domain', first, {reject_threshold: 30});
    return domain;
  });
  const third = await make(here, 'third.test');

  t.is(seen?.quarantine_threshold, 3);
  t.like(await store.config.findDomain(first), {quarantine_threshold: 3, reject_threshold: 30});
  t.deepEqual([second, third], [first + 1, first + 2]);
  const events = await outbox(store);
  t.deepEqual(
    events.map(({seq}) => seq),
    [1, 2, 3, 4, 5],
  );
  const stamps = events.map(({event}) => event.stamp);
  t.deepEqual(stamps, [...new Set(stamps)].sort());
  let hash = '';
  for (const entry of await store.read('audit').orderBy('seq')) {
    hash = auditHash(hash, entry);
    t.is(entry.hash, hash);
  }
  const {config_hash} = await store.config.configHash();
  await store.write('local_state').where({name: 'config_sum'}).delete();
  await here.rebuild();
  t.is((await store.config.configHash()).config_hash, config_hash);
});

test('the first change of a database that is rolled back keeps none of the later ones from being written', async t => {
  const {store} = await testStore(t);
  const configuration = testConfiguration(store);

  await t.throwsAsync(
    configuration.change(async tx => {
      await createDomain(tx, 'never.test');
      throw new Error('changed its mind');
    }),
    {message: 'changed its mind'},
  );
  const id = await configuration.change(async tx => createDomain(tx, 'one.test'));

  t.like((await store.config.listDomains())[0], {id, name: 'one.test'});
  t.is((await outbox(store)).length, 1);
});

test('a threshold of seventeen digits is read as it was written', async t => {
  const {store} = await testStore(t);

  await testConfiguration(store).change(async tx =>
    tx.update('domain', await createDomain(tx, 'one.test'), {quarantine_threshold: 5.602871201592174}),
  );

  t.is((await store.config.listDomains())[0]?.quarantine_threshold, 5.602871201592174);
});

test('a second process that changes the configuration beside a busy writer fails nowhere', async t => {
  const {store, filename} = await testStore(t);
  const configuration = testConfiguration(store);
  let isRunning = true;
  const busy = (async () => {
    let count = 0;
    for (; isRunning; count += 1) await configuration.change(async tx => createDomain(tx, `here-${count}.test`));
    return count;
  })();

  const {stdout} = await promisify(execFile)(process.execPath, ['--import=tsx', writer, filename, '40']);
  isRunning = false;
  const here = await busy;

  t.is(stdout.trim(), '40');
  t.is((await store.config.listDomains()).length, here + 40);
  t.is((await outbox(store)).length, here + 40);
  t.deepEqual(await store.read.raw('PRAGMA integrity_check'), [{integrity_check: 'ok'}]);
});
