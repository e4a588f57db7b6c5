import test from 'ava';
import type {Answer, Request} from '../../../cli/client/transport.ts';
import {CliError, exitCodes} from '../../../cli/errors.ts';
import {heldMailPages} from '../../../cli/quarantine/held-mail-pages.ts';
import {createHeldMailReader} from '../../../cli/quarantine/held-mail-reader.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import {fakeClient} from '../../helpers/cli/fake-client.ts';
import {mail} from '../../helpers/cli/sample-records.ts';

/** A list as the API returns it; `away` are the nodes that do not answer. */
const createList = (mails: HeldMail[] = []) => {
  const queries: Record<string, unknown>[] = [];
  const away = new Set<string>();
  let made = 0;
  const list = {
    mails,
    queries,
    away,
    failure: undefined as CliError | undefined,
    /** Adds a mail that arrived `ms` milliseconds after the epoch. */
    add(ms: number, fields: Partial<HeldMail> = {}): HeldMail {
      made += 1;
      const added = {
        ...mail,
        queue_id: `q${String(made).padStart(6, '0')}`,
        arrived_at: new Date(ms).toISOString(),
        ...fields,
      };
      mails.push(added);
      return added;
    },
  };
  const {quarantine} = fakeClient({
    send: async <T>({query = {}}: Request): Promise<Answer<T>> => {
      queries.push(query);
      if (list.failure) throw list.failure;
      const {since, until, limit = 100, offset = 0, node} = query;
      const matching = mails
        .filter(({arrived_at}) => arrived_at >= String(since ?? '') && (until === undefined || arrived_at < String(until)))
        .filter(({node_id}) => !away.has(node_id) && (node === undefined || node_id === node))
        .sort((a, b) => b.arrived_at.localeCompare(a.arrived_at) || a.queue_id.localeCompare(b.queue_id));
      const data = matching.slice(Number(offset), Number(offset) + Number(limit)) as T;
      const unreachableNodes = [...away].filter(name => node === undefined || name === node);
      return {data, totalCount: matching.length, unreachableNodes, etag: undefined};
    },
  });
  return Object.assign(list, {quarantine});
};

type List = ReturnType<typeof createList>;

const {signal} = new AbortController();
const ids = (mails: HeldMail[]) => mails.map(({queue_id}) => queue_id);
const readAll = async (list: List, onPage = () => {}) => {
  const found: HeldMail[] = [];
  for await (const {mails} of heldMailPages(list, {}, signal)) {
    found.push(...mails);
    onPage();
  }
  return found;
};
const startReader = async (list: List, count = 10) => {
  const reader = createHeldMailReader(list, {query: {}, signal});
  return {reader, first: await reader.first(count)};
};

test('all pages are read once each, also when a thousand mails share their millisecond', async t => {
  for (const awaitReplication of [1, 7, 100_000]) {
    const list = createList();
    for (let at = 0; at < 3500; at += 1) list.add(Math.floor((at * awaitReplication) / 3500));

    const found = await readAll(list);

    t.is(new Set(ids(found)).size, 3500);
    t.is(found.length, 3500);
  }
});

test('pages pass over nothing when mail is released, and take in nothing that arrives, while they are read', async t => {
  const list = createList();
  for (let at = 0; at < 2500; at += 1) list.add(at);
  const before = ids(list.mails);
  const last = list.mails[0]?.queue_id ?? '';

  const found = await readAll(list, () => {
    list.mails.splice(2000, 300);
    list.add(1_000_000);
  });

  t.true(ids(found).includes(last));
  t.deepEqual([...ids(found)].sort(), before, 'as they stood at first');
});

test('the newest come first, the oldest of them on top, and the others that are held are not new', async t => {
  const list = createList();
  for (let at = 0; at < 20; at += 1) list.add(at);

  const {reader, first} = await startReader(list, 3);

  t.deepEqual(ids(first.mails), ['q000018', 'q000019', 'q000020']);
  t.deepEqual((await reader.next()).mails, []);
});

test('without earlier mail only what arrives is reported', async t => {
  const list = createList();
  list.add(5);
  const {reader, first} = await startReader(list, 0);

  const added = list.add(6);

  t.deepEqual(first.mails, []);
  t.deepEqual((await reader.next()).mails, [added]);
  t.deepEqual((await reader.next()).mails, []);
});

test('in an empty quarantine everything that arrives is new', async t => {
  const list = createList();
  const {reader} = await startReader(list);

  const added = [list.add(5), list.add(6)];

  t.deepEqual((await reader.next()).mails, added);
});

test('an announced mail is found by its own time, however slow the clock of its node', async t => {
  const list = createList();
  list.add(1_000_000);
  const {reader} = await startReader(list);

  const late = list.add(500_000, {node_id: 'mx2'});
  reader.expect(late);
  const found = await reader.next();
  reader.expect(late);

  t.deepEqual(found.mails, [late]);
  t.is(list.queries.at(-1)?.since, late.arrived_at);
  t.deepEqual((await reader.next()).mails, [], 'once');
});

test('a mail that is announced before the first reading has not been held before', async t => {
  const list = createList();
  list.add(5);
  const reader = createHeldMailReader(list, {query: {}, signal});
  const added = list.add(6);
  reader.expect(added);

  t.deepEqual((await reader.first(0)).mails, []);
  t.deepEqual((await reader.next()).mails, [added]);
});

test('a mail that the first reading took for an old one is new once it is announced', async t => {
  const list = createList();
  const added = list.add(6);
  const {reader} = await startReader(list, 0);

  reader.expect(added);

  t.deepEqual((await reader.next()).mails, [added]);
});

test('what was missed is found a minute back, and each mail once', async t => {
  const list = createList();
  list.add(100_000);
  const {reader} = await startReader(list);

  const missed = [list.add(50_000, {node_id: 'mx2'}), list.add(101_000)];
  reader.missSomething();

  t.deepEqual((await reader.next()).mails, missed);
  t.is(list.queries.at(-1)?.since, new Date(40_000).toISOString());
  reader.missSomething();
  t.deepEqual((await reader.next()).mails, []);
});

test('mail of a node that was away comes when it answers again, however long that took', async t => {
  const list = createList();
  list.add(100_000);
  const {reader} = await startReader(list);
  list.away.add('mx2');
  const hidden = list.add(200_000, {node_id: 'mx2'});
  const during = list.add(900_000);

  const partial = await reader.next();
  const other = list.add(901_000);
  reader.expect(other);
  const still = await reader.next();
  list.away.clear();
  const back = await reader.next();

  t.deepEqual([partial.mails, partial.unreachableNodes], [[during], ['mx2']]);
  t.deepEqual([still.mails, still.unreachableNodes], [[other], ['mx2']]);
  t.deepEqual([back.mails, back.unreachableNodes], [[hidden], []]);
  t.is(list.queries.at(-1)?.node, 'mx2');
  await reader.next();
  t.is(list.queries.at(-1)?.node, undefined, 'and is not asked for by name again');
});

test('a reading that fails is made up for by the next', async t => {
  const list = createList();
  list.add(1_000_000);
  const {reader} = await startReader(list);
  const late = list.add(500_000, {node_id: 'mx2'});
  reader.expect(late);
  list.failure = new CliError('unavailable', 'later', {exitCode: exitCodes.unreachable});

  await t.throwsAsync(reader.next(), {is: list.failure});
  list.failure = undefined;

  t.deepEqual((await reader.next()).mails, [late]);
});

test('what may have been missed is looked for again after a reading that fails', async t => {
  const list = createList();
  list.add(100_000);
  const {reader} = await startReader(list);
  const told = list.add(101_000);
  const missed = list.add(90_000);
  reader.missSomething();
  list.failure = new CliError('unavailable', 'later', {exitCode: exitCodes.unreachable});

  await t.throwsAsync(reader.next(), {is: list.failure});
  list.failure = undefined;
  reader.expect(told);

  t.deepEqual((await reader.next()).mails, [missed, told]);
});

test('a filter for a time of its own is kept', async t => {
  const list = createList();
  const reader = createHeldMailReader(list, {query: {since: new Date(70_000).toISOString(), domain: 'example.com'}, signal});
  list.add(60_000);
  list.add(80_000);

  await reader.first(10);
  reader.missSomething();
  await reader.next();

  t.true(list.queries.every(({since, domain}) => String(since) >= new Date(70_000).toISOString() && domain === 'example.com'));
});
