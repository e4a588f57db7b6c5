import test, {type ExecutionContext} from 'ava';
import fc from 'fast-check';
import type {NewHeldMail} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {createHeldQuery} from '../../../../daemon/store/sqlite/held-query.ts';
import {query} from '../../../../daemon/store/sqlite/query.ts';
import type {HoldFilter} from '../../../../shared/hold-filter.ts';
import {reasons} from '../../../../shared/reason.ts';
import type {AccessScope} from '../../../../shared/scopes.ts';
import {testStore} from '../../../helpers/store.ts';

const mailWith = (at: number, second: number): NewHeldMail => ({
  queue_id: `mail${String((at * 7919) % 1000).padStart(6, '0')}`,
  arrived_at: new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString(),
  direction: 'inbound',
  domain: `d${at % 3}.test`,
  domain_id: (at % 3) + 1,
  sender: `s${at % 4}@from.test`,
  recipients: [`r${at % 5}@d${at % 3}.test`],
  subject: `number ${at % 6}`,
  score: at % 10,
  symbol_scores: [],
  reason: reasons[at % reasons.length] ?? 'spam',
  size_bytes: 100,
  client_ip: '192.0.2.1',
  helo: 'x',
  is_utf8: false,
  is_eight_bit: false,
  keeper: 'spool',
  queued_at: null,
  sha256: '',
});

const filters: HoldFilter[] = [
  {},
  {domain: 'd1.test'},
  {reason: 'spam', min_score: 3},
  {sender: 's1@from.test'},
  {recipient: 'r2@d1.test'},
  {subject: 'number 4'},
  {since: '2026-03-01T12:00:02.000Z', until: '2026-03-01T12:00:05.000Z'},
];
const reaches: AccessScope[] = [{kind: 'all'}, {kind: 'domain', domainId: 2}, {kind: 'none'}];

/** Many mails arrive at the same time: then the queue id decides. */
const queryOfMany = async (t: ExecutionContext) => {
  const {store} = await testStore(t, {isDurable: false});
  const mails = Array.from({length: 150}, (_, at) => mailWith(at, (at * 13) % 8));
  await store.transaction(async tx => tx.hold.insert(mails));
  return createHeldQuery(store, 'alpha');
};

test('pages are the whole list in parts, for every filter and reach', async t => {
  const query = await queryOfMany(t);

  for (const filter of filters)
    for (const reach of reaches) {
      const whole = await query.list(filter, reach, {limit: 1000, offset: 0});
      const offsets = Array.from({length: Math.ceil(150 / 7)}, (_, page) => page * 7);
      const pages = await Promise.all(offsets.map(async offset => query.list(filter, reach, {limit: 7, offset})));

      t.deepEqual(
        pages.flatMap(({mails}) => mails),
        whole.mails,
      );
      t.true(pages.every(({total}) => total === whole.mails.length));
      t.deepEqual(
        whole.mails,
        whole.mails.toSorted((a, b) => b.arrived_at.localeCompare(a.arrived_at) || a.queue_id.localeCompare(b.queue_id)),
      );
    }
});

test('samples and positions say of the list what the list itself says, for every filter and reach', async t => {
  const query = await queryOfMany(t);

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...filters),
      fc.constantFrom(...reaches),
      fc.record({offset: fc.nat(60), stride: fc.integer({min: 1, max: 20}), limit: fc.integer({min: 1, max: 12})}),
      async (filter, reach, steps) => {
        const {mails, total} = await query.list(filter, reach, {limit: 1000, offset: 0});

        const marked = await query.samples(filter, reach, steps);

        const cursors = mails.map(({arrived_at, node_id, queue_id}) => ({arrived_at, node_id, queue_id}));
        const expected = cursors.slice(steps.offset).filter((_, index) => (index + 1) % steps.stride === 0);
        t.deepEqual(marked, {marks: expected.slice(0, steps.limit), total});

        for (const cursor of cursors.slice(0, 5)) {
          const positionOf = async (node_id: string) => query.positionOf(filter, reach, {...cursor, node_id});
          t.is(await positionOf('alpha'), cursors.indexOf(cursor));
          // Of mails that arrived at the same time those of one node come before those of the next.
          t.is(await positionOf('a'), cursors.filter(({arrived_at}) => arrived_at > cursor.arrived_at).length);
          t.is(await positionOf('beta'), cursors.filter(({arrived_at}) => arrived_at >= cursor.arrived_at).length);
        }
      },
    ),
    {numRuns: 60},
  );
});

test('samples are read from an index alone, filter by filter', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await store.transaction(async tx => tx.hold.insert([mailWith(1, 1)]));
  const seen: [sql: string, values: (string | number)[]][] = [];
  store.read.on('query', ({sql, bindings}) => {
    if (sql.includes('row_number')) seen.push([sql, bindings]);
  });

  for (const filter of filters.slice(0, 4))
    await createHeldQuery(store, 'alpha').samples(filter, {kind: 'all'}, {offset: 0, stride: 2, limit: 5});

  for (const [sql, values] of [...seen]) {
    const plan = await query<{detail: string}>(store.read, `EXPLAIN QUERY PLAN ${sql}`, values);
    t.true(
      plan.some(({detail}) => /held_mail USING (COVERING )?INDEX held_mail_by_/.test(detail)),
      JSON.stringify(plan),
    );
    t.false(
      plan.some(({detail}) => /^SCAN held_mail$/.test(detail)),
      JSON.stringify(plan),
    );
  }
  t.is(seen.filter(([sql]) => !sql.startsWith('EXPLAIN')).length, 4);
});
