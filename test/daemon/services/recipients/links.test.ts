import test from 'ava';
import type {LinkDesk} from '../../../../daemon/services/recipients/link-desk.ts';
import {createRemoteDesks} from '../../../../daemon/services/recipients/links.ts';
import type {Health} from '../../../../shared/health.ts';

const beta = {id: 2, node_id: 'beta'} as Parameters<Parameters<typeof createRemoteDesks>[0]['peerStates']['healthOf']>[0];

test('only a node with heartbeats is asked for its links, and what is no node has none', t => {
  let health: Health = 'online';
  const desk: LinkDesk = {nodeId: 'beta', view: async () => undefined, act: async () => undefined};
  const desks = new Map([[2, desk]]);
  const find = createRemoteDesks({
    desks,
    nodeDirectory: {findByNo: no => (no === 2 ? beta : undefined)},
    peerStates: {healthOf: () => health},
  });

  t.is(find(2), desk);
  t.is(find(3), undefined);
  for (health of ['stale', 'offline'] as const) t.throws(() => find(2), {message: /away/});
  health = 'online';
  desks.clear();
  t.throws(() => find(2), {message: /away/});
});
