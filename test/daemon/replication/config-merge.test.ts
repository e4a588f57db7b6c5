import test from 'ava';
import fc from 'fast-check';
import type {Change} from '../../../daemon/replication/apply.ts';
import {type Claim, conflictsIn, mergeStates, type RecordState, rulesOf} from '../../../daemon/replication/config-merge.ts';
import {type Kind, kinds} from '../../../daemon/services/records.ts';
import type {Json} from '../../../shared/merge-patch.ts';
import {change, deletion, history, newFields, stampOf} from '../../helpers/config-history.ts';

const nothing: RecordState = {fields: {}, deleted: null};

const stateOf = (kind: Kind, changes: Change[]): RecordState =>
  changes.reduce<RecordState>((state, next) => mergeStates(kind, state, next), nothing);

const domain = (stamp: string) => change('domain', 1, stamp, newFields.domain('one.test'));

/** Three histories of one record, which may share writes. */
const threeStates = fc.constantFrom(...kinds).chain(kind => {
  const state = history(12).map(changes =>
    stateOf(
      kind,
      changes.filter(written => written.kind === kind),
    ),
  );
  return fc.record({kind: fc.constant(kind), a: state, b: state, c: state});
});

test('it makes no difference which of two histories is merged into which', t => {
  fc.assert(
    fc.property(threeStates, ({kind, a, b}) => {
      t.deepEqual(mergeStates(kind, a, b), mergeStates(kind, b, a));
    }),
    {numRuns: 500},
  );
});

test('it makes no difference which two of three histories are merged first', t => {
  fc.assert(
    fc.property(threeStates, ({kind, a, b, c}) => {
      t.deepEqual(mergeStates(kind, mergeStates(kind, a, b), c), mergeStates(kind, a, mergeStates(kind, b, c)));
    }),
    {numRuns: 500},
  );
});

test('merging what is known already changes nothing', t => {
  fc.assert(
    fc.property(threeStates, ({kind, a, b}) => {
      const both = mergeStates(kind, a, b);

      t.deepEqual(mergeStates(kind, a, a), a);
      t.deepEqual(mergeStates(kind, both, a), both);
    }),
    {numRuns: 500},
  );
});

test('edits of different fields both survive', t => {
  const one = change('domain', 1, stampOf(2), {quarantine_threshold: 4});
  const other = change('domain', 1, stampOf(3), {reject_threshold: 20});

  const {fields} = stateOf('domain', [domain(stampOf(1)), one, other]);

  t.is(fields.quarantine_threshold?.[0], 4);
  t.is(fields.reject_threshold?.[0], 20);
});

test('of two edits of one field the later one wins, whichever arrives first', t => {
  const early = change('domain', 1, stampOf(2), {quarantine_threshold: 4});
  const late = change('domain', 1, stampOf(3), {quarantine_threshold: 5});

  t.is(stateOf('domain', [early, late]).fields.quarantine_threshold?.[0], 5);
  t.is(stateOf('domain', [late, early]).fields.quarantine_threshold?.[0], 5);
});

test('a deletion wins over an update with a later stamp', t => {
  const late = change('domain', 1, stampOf(9), {quarantine_threshold: 4});

  const state = stateOf('domain', [domain(stampOf(1)), deletion('domain', 1, stampOf(5)), late]);

  t.is(state.deleted, stampOf(5));
  t.false('quarantine_threshold' in state.fields);
});

test('a revocation wins over a later edit that did not see it, and the earliest of several counts', t => {
  const key = change('api_key', 1, stampOf(1), newFields.apiKey(1));
  const first = change('api_key', 1, stampOf(3), {revoked_at: '2026-02-01T00:00:00.000Z'});
  const second = change('api_key', 1, stampOf(2), {revoked_at: '2026-03-01T00:00:00.000Z'});
  const undoing = change('api_key', 1, stampOf(9), {revoked_at: null});

  const {fields} = stateOf('api_key', [undoing, second, key, first]);

  t.is(fields.revoked_at?.[0], '2026-02-01T00:00:00.000Z');
});

test('the end of a key is the earliest that anybody set, whoever wrote last', t => {
  const key = change('api_key', 1, stampOf(1), newFields.apiKey(1));
  const first = change('api_key', 1, stampOf(3), {expires_at: '2026-03-01T00:00:00.000Z'});
  const second = change('api_key', 1, stampOf(2), {expires_at: '2026-02-01T00:00:00.000Z'});

  const {fields} = stateOf('api_key', [second, key, first]);

  t.is(fields.expires_at?.[0], '2026-02-01T00:00:00.000Z');
});

const wholeRecords = {
  node: newFields.node(1),
  domain: newFields.domain('one.test'),
  api_key: newFields.apiKey(1),
  mail_filter: newFields.mailFilter(1),
  dkim_key: newFields.dkimKey(1, 's1'),
  webhook: newFields.webhook(1),
  digest: newFields.digest(1),
};

test('whatever is written as the time of a revocation, every order of merging comes to the same', t => {
  const value = fc.oneof(fc.constantFrom<Json>(null, 5, {a: 1}, {b: 2}, ['x'], true), fc.constantFrom('2026-02', '2026-03'));
  const write = fc.record({value, n: fc.nat(3)}).map(({value: at, n}) => change('api_key', 1, stampOf(n), {revoked_at: at}));
  fc.assert(
    fc.property(write, write, write, (a, b, c) => {
      const [one, ...others] = [
        [a, b, c],
        [a, c, b],
        [b, a, c],
        [b, c, a],
        [c, a, b],
        [c, b, a],
      ].map(order => stateOf('api_key', order));

      for (const other of others) t.deepEqual(other, one);
    }),
    {numRuns: 1000},
  );
});

test('a tombstone of any kind keeps whose it was and what it was called, and no secret', t => {
  for (const kind of kinds) {
    const {unique, parent} = rulesOf[kind];
    const all = change(kind, 1, stampOf(1), wholeRecords[kind]);

    const {fields} = stateOf(kind, [all, deletion(kind, 1, stampOf(2))]);

    t.deepEqual(Object.keys(fields).sort(), [...new Set(['created_at', ...unique, ...(parent ? [parent.field] : [])])].sort());
  }
  const key = change('dkim_key', 1, stampOf(1), newFields.dkimKey(1, 's1'));
  t.notRegex(JSON.stringify(stateOf('dkim_key', [deletion('dkim_key', 1, stampOf(2)), key])), /PRIVATE/);
});

test('the earlier creation keeps the name, and a later one gets it only after a deletion', t => {
  const claim = (id: number, created: number, deleted: number | null): Claim => ({
    id,
    created: stampOf(created),
    deleted: deleted === null ? null : stampOf(deleted),
  });

  t.deepEqual([...conflictsIn([claim(1, 5, null), claim(2, 3, null)])], [1]);
  t.deepEqual([...conflictsIn([claim(1, 3, 4), claim(2, 5, null)])], []);
  t.deepEqual([...conflictsIn([claim(1, 3, 7), claim(2, 5, null), claim(3, 8, null)])], [2]);
  t.deepEqual([...conflictsIn([claim(1, 3, 5), claim(2, 5, null)])], []);
});

test('of any claims, exactly those that nobody else held at the time succeed', t => {
  const claims = fc.array(fc.tuple(fc.nat(30), fc.option(fc.nat(30), {nil: null})), {maxLength: 8}).map(spans =>
    spans.map(
      ([created, life], n): Claim => ({
        id: n + 1,
        created: stampOf(created * 10 + n),
        deleted: life === null ? null : stampOf(created * 10 + n + life * 10),
      }),
    ),
  );
  fc.assert(
    fc.property(claims, all => {
      const conflicts = conflictsIn(all);
      const holders = all.filter(({id}) => !conflicts.has(id));

      const heldWhen = ({created, id}: Claim) =>
        holders.filter(
          other => other.id !== id && other.created <= created && (other.deleted === null || other.deleted > created),
        );
      t.true(holders.every(holder => heldWhen(holder).length === 0));
      t.true(all.filter(({id}) => conflicts.has(id)).every(one => heldWhen(one).length === 1));
      t.deepEqual(conflictsIn(all.toReversed()), conflicts);
    }),
    {numRuns: 300},
  );
});

test('a field with the name of something that every object has is a field like others', t => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    const one: RecordState = {fields: {[name]: ['x', stampOf(2)]}, deleted: null};

    t.deepEqual(mergeStates('domain', nothing, one), one, name);
    t.deepEqual(mergeStates('domain', one, nothing), one, name);
  }
});
