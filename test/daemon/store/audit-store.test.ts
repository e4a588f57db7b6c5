import fc from 'fast-check';
import type {NewAuditEntry} from '../../../daemon/services/audit/stored-entry.ts';
import type {AuditFilter, Store} from '../../../daemon/services/ports.ts';
import {nodeId, testStores} from '../../helpers/store-makes.ts';

const start = Date.UTC(2026, 2, 1);
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();

const entry = (n: number, fields: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  at: at(n),
  key_id: (n % 3) + 1,
  action: n % 2 === 0 ? 'domain.update' : 'quarantine.release',
  target: `target ${n}`,
  remote_address: '192.0.2.1',
  result: 'ok',
  detail: '',
  ...fields,
});

const append = async (store: Store, ...entries: NewAuditEntry[]) => store.transaction(async tx => tx.audit.append(...entries));
const whole = {limit: 1000, offset: 0};

testStores(
  'entries come back as they were written, newest first, each with a hash that depends on all before it',
  async (t, open) => {
    const odd = entry(2, {key_id: null, remote_address: null, result: 'conflict', detail: '"quoted" 特別 \\', target: ''});
    await append(open.store, entry(1), odd);
    await append(open.store);
    await append(open.store, entry(3), entry(3));

    const {store} = await open.reopen();
    const {entries, total} = await store.audit.list({}, whole);

    t.is(total, 4);
    t.deepEqual(
      entries.map(({seq, hash, key_name, node_id, ...written}) => written),
      [entry(3), entry(3), odd, entry(1)],
    );
    t.true(entries.every(({seq}, n) => n === 0 || seq < (entries[n - 1]?.seq ?? 0)));
    t.is(new Set(entries.map(({hash}) => hash)).size, 4);
    t.true(entries.every(({hash, key_name}) => /^[0-9a-f]{64}$/.test(hash) && key_name === null));
  },
);

testStores('an entry is written with what it tells of, or not at all', async (t, {store}) => {
  const work = store.transaction(async tx => {
    await tx.state.write('a', '1');
    await tx.audit.append(entry(1));
    throw new Error('failed');
  });

  await t.throwsAsync(work, {message: 'failed'});
  t.deepEqual(await store.audit.list({}, whole), {entries: [], total: 0});
  t.is(await store.state.read('a'), undefined);
});

const filters: AuditFilter[] = [
  {},
  {action: 'domain.update'},
  {key_id: 2},
  {since: at(20)},
  {since: at(10), key_id: 1, action: 'domain.update'},
  {target: 'target 12'},
  {target: 'target'},
  {target: 'target 12', key_id: 1},
];

testStores('pages, samples and positions say of the log what the whole list says, for every filter', async (t, {store}) => {
  // Several entries of the same time are sorted by number.
  await append(store, ...Array.from({length: 60}, (_, n) => entry(Math.floor(n / 2), {key_id: (n % 3) + 1})));

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...filters),
      fc.record({offset: fc.nat(30), stride: fc.integer({min: 1, max: 9}), limit: fc.integer({min: 1, max: 12})}),
      async (filter, steps) => {
        const {entries, total} = await store.audit.list(filter, whole);
        const matches = ({at: written, key_id, action, target}: NewAuditEntry) =>
          written >= (filter.since ?? '') &&
          key_id === (filter.key_id ?? key_id) &&
          action === (filter.action ?? action) &&
          target === (filter.target ?? target);

        t.true(entries.every(matches));
        t.is(entries.length, total);
        if (filter.target !== undefined) t.is(total, filter.target === 'target' ? 0 : filter.key_id ? 1 : 2);
        const {limit, offset} = steps;
        t.deepEqual((await store.audit.list(filter, {limit, offset})).entries, entries.slice(offset, offset + limit));
        const cursors = entries.map(({at: written, seq}) => ({at: written, seq}));
        const marks = cursors.slice(offset).filter((_, index) => (index + 1) % steps.stride === 0);
        t.deepEqual(await store.audit.samples(filter, steps), {marks: marks.slice(0, limit), total});

        for (const [position, cursor] of cursors.slice(0, 5).entries()) {
          const positionOf = async (node_id: string) => store.audit.positionOf(filter, {...cursor, node_id}, nodeId);
          t.is(await positionOf(nodeId), position);
          t.is(await positionOf('a'), cursors.filter(one => one.at > cursor.at).length);
          t.is(await positionOf('beta'), cursors.filter(one => one.at >= cursor.at).length);
        }
      },
    ),
    {numRuns: 40},
  );
});
