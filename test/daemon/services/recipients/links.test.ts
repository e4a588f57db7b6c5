import test from 'ava';
import type {LinkOwner} from '../../../../daemon/services/recipients/link-owner.ts';
import {createRemoteOwners} from '../../../../daemon/services/recipients/links.ts';
import type {Health} from '../../../../shared/health.ts';

const beta = {id: 2, node_id: 'beta'} as Parameters<Parameters<typeof createRemoteOwners>[0]['peerStates']['healthOf']>[0];

test('only a node with heartbeats is asked for its links, and what is no node has none', t => {
  let health: Health = 'online';
  const owner: LinkOwner = {nodeId: 'beta', view: async () => undefined, act: async () => undefined};
  const owners = new Map([[2, owner]]);
  const find = createRemoteOwners({
    owners,
    nodeDirectory: {findByNo: no => (no === 2 ? beta : undefined)},
    peerStates: {healthOf: () => health},
  });

  t.is(find(2), owner);
  t.is(find(3), undefined);
  for (health of ['stale', 'offline'] as const) t.throws(() => find(2), {message: /away/});
  health = 'online';
  owners.clear();
  t.throws(() => find(2), {message: /away/});
});
