import test from 'ava';
import {holdRequests} from '../../../../daemon/services/quarantine/peer-hold-protocol.ts';

const actor = {key_id: 1, scope: 'read-only', reach: {kind: 'all'}, remote_address: null};

test('a peer may ask for marks of a list that is far too long, but not for so many that they cannot be counted', t => {
  const ask = (steps: object) =>
    holdRequests.marks.safeParse({actor, filter: {}, steps: {offset: 0, stride: 1, limit: 10_000, ...steps}}).success;

  t.true(ask({stride: 1e11, offset: 1e11}));
  t.false(ask({stride: 2 ** 52}));
  t.false(ask({offset: 2 ** 52}));
  t.false(ask({stride: 0}));
});
