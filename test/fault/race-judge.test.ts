import test from 'ava';
import {judgeAudit, judgeRace, type Raced, type Told} from './race-judge.ts';

const mail = {node_id: 'alpha', queue_id: 'Q1', token: 'race 1', isRefused: false};
const outcome = {node_id: 'alpha', queue_id: 'Q1', acted_at: '2026-01-01T00:00:00.000Z', acted_by_key_id: 1} as const;
const winner: Told = {action: 'release', keyId: 1, outcome: {...outcome, state: 'released', already: false}};
const second: Told = {action: 'release', keyId: 2, outcome: {...outcome, state: 'released', already: true}};
const late: Told = {action: 'discard', keyId: 2, error: 'conflict'};
const unheard: Told = {action: 'discard', keyId: 2, error: 'node_unreachable'};
const raced = (...told: Told[]): Raced => ({...mail, told});
const released = {deliveries: 1, isHeld: false};

test('one winner, whom all the others are told of, is a good race', t => {
  t.deepEqual(judgeRace(raced(second, winner, late, unheard), released), []);
});

test('two winners, none, two deliveries, or none of a mail that was released are violations', t => {
  t.true(judgeRace(raced(winner, winner), released).length > 0);
  t.true(judgeRace(raced(second), released).length > 0);
  t.is(judgeRace(raced(winner), {...released, deliveries: 2}).length, 1);
  t.is(judgeRace(raced(winner), {...released, deliveries: 0}).length, 1);
  t.is(judgeRace(raced(winner), {...released, isHeld: true}).length, 1);
});

test('whoever is told of another outcome, or another doer, is a violation', t => {
  for (const other of [
    {...second, outcome: {...outcome, state: 'discarded', already: true}},
    {...second, outcome: {...outcome, state: 'released', already: true, acted_by_key_id: 2}},
    {...second, outcome: {...outcome, state: 'released', already: true, acted_at: '2026-01-01T00:00:00.001Z'}},
    {action: 'release', keyId: 2, error: 'conflict'},
    {action: 'release', keyId: 2, error: 'internal'},
  ] as Told[])
    t.is(judgeRace(raced(winner, other), released).length, 1, JSON.stringify(other));
});

test('a mail that the backend refuses is held until it is discarded', t => {
  const refusal: Told = {action: 'release', keyId: 1, error: 'delivery_failed'};
  const refused = {...raced(refusal), isRefused: true};

  t.deepEqual(judgeRace(refused, {deliveries: 0, isHeld: true}), []);
  t.is(judgeRace({...refused, isRefused: false}, {deliveries: 0, isHeld: true}).length, 2);
});

test('the audit log has one acting entry of each mail, by the winner', t => {
  const entry = {target: 'alpha/Q1', action: 'quarantine.release', key_id: 1, result: 'ok'};

  t.deepEqual(judgeAudit([raced(winner)], [entry, {...entry, result: 'delivery_failed'}]), []);
  t.is(judgeAudit([raced(winner)], []).length, 1);
  t.is(judgeAudit([raced(winner)], [entry, entry]).length, 1);
  t.is(judgeAudit([raced(winner)], [{...entry, key_id: 2}]).length, 1);
});
