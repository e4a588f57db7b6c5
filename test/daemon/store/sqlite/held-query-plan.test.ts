import test, {type ExecutionContext} from 'ava';
import {query} from '../../../../daemon/store/sql/db.ts';
import {createHeldQuery} from '../../../../daemon/store/sqlite/held-query.ts';
import type {HoldFilter} from '../../../../shared/hold-filter.ts';
import {testStore} from '../../../helpers/store.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const mail = storedMail({queue_id: 'Mail000001', arrived_at: '2026-03-01T12:00:00.000Z', subject: 'x', score: 1});

/** A store with one mail, and the queries with that text that are run from now on. */
const watched = async (t: ExecutionContext, part: string) => {
  const {store} = await testStore(t, {isDurable: false});
  await store.transaction(async tx => tx.hold.insert([mail]));
  const seen: [sql: string, values: (string | number)[]][] = [];
  store.read.on('query', ({sql, bindings}) => {
    if (sql.includes(part)) seen.push([sql, bindings]);
  });
  return {store, seen};
};

const filters: HoldFilter[] = [{}, {domain: 'd1.test'}, {reason: 'spam', min_score: 3}, {sender: 's1@from.test'}];

test('samples are read from an index alone, filter by filter', async t => {
  const {store, seen} = await watched(t, 'row_number');

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

test('a deep page of several domains merges their indexes, and sorts no more than the page', async t => {
  const {store, seen} = await watched(t, 'OFFSET');
  const asked = createHeldQuery(store.read, 'alpha');
  const scope = {kind: 'domains' as const, domainIds: [1, 2, 3]};

  await asked.list({}, scope, {limit: 100, offset: 100_000});
  await asked.samples({}, scope, {offset: 100_000, stride: 1, limit: 1});

  t.is(seen.length, 2);
  for (const [sql, values] of [...seen]) {
    const details = (await query<{detail: string}>(store.read, `EXPLAIN QUERY PLAN ${sql}`, values)).map(({detail}) => detail);
    t.true(details.includes('MERGE (UNION ALL)'), details.join('\n'));
    const walked = details.filter(detail => /held_mail USING INDEX held_mail_by_domain_id \(domain_id=\?\)/.test(detail));
    t.is(walked.length, 3, details.join('\n'));
  }
});

test('mail of one recipient is counted in indexes alone', async t => {
  const {store, seen} = await watched(t, 'AS total');

  await createHeldQuery(store.read, 'alpha').list({recipient: 'a@one.test'}, {kind: 'all'}, {limit: 10, offset: 0});

  t.is(seen.length, 1);
  for (const [sql, values] of [...seen]) {
    const plan = await query<{id: number; parent: number; detail: string}>(store.read, `EXPLAIN QUERY PLAN ${sql}`, values);
    const count = plan.findIndex(({detail}) => detail.startsWith('SCALAR SUBQUERY'));
    const parts = plan.slice(count + 1).filter(({parent}) => parent === plan[count]?.id);
    t.is(parts.length, 2, JSON.stringify(plan));
    for (const {detail} of parts) t.regex(detail, / USING COVERING INDEX /, JSON.stringify(plan));
  }
});

test('mail that is due is found by the index of its domain and reason, without reading what is held for longer', async t => {
  const {store, seen} = await watched(t, 'AS due');

  const limit = {domain_id: 1, domain: 'one.test', reason: 'spam' as const, before: '2026-02-01T00:00:00.000Z'};
  for (const keeper of [undefined, 'spool'] as const) await store.hold.listArrivedBefore([limit], {limit: 500, keeper});

  t.is(seen.length, 2);
  for (const [sql, values] of [...seen]) {
    const details = (await query<{detail: string}>(store.read, `EXPLAIN QUERY PLAN ${sql}`, values)).map(({detail}) => detail);
    t.true(
      details.some(detail => detail.endsWith('held_mail_by_group (domain_id=? AND domain=? AND reason=? AND arrived_at<?)')),
      details.join('\n'),
    );
  }
});
