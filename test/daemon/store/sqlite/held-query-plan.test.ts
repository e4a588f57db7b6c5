import test from 'ava';
import {query} from '../../../../daemon/store/sql/db.ts';
import {createHeldQuery} from '../../../../daemon/store/sqlite/held-query.ts';
import type {HoldFilter} from '../../../../shared/hold-filter.ts';
import {testStore} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const mail = storedMail({queue_id: 'Mail000001', arrived_at: '2026-03-01T12:00:00.000Z', subject: 'x', score: 1});

const filters: HoldFilter[] = [{}, {domain: 'd1.test'}, {reason: 'spam', min_score: 3}, {sender: 's1@from.test'}];

test('samples are read from an index alone, filter by filter', async t => {
  const {store} = await testStore(t, {isDurable: false});
  await store.transaction(async tx => tx.hold.insert([mail]));
  const seen: [sql: string, values: (string | number)[]][] = [];
  store.read.on('query', ({sql, bindings}) => {
    if (sql.includes('row_number')) seen.push([sql, bindings]);
  });

  for (const filter of filters)
    await createHeldQuery(store.read, 'alpha').samples(filter, {kind: 'all'}, {offset: 0, stride: 2, limit: 5});

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
  t.is(seen.filter(([sql]) => !sql.startsWith('EXPLAIN')).length, filters.length);
});
