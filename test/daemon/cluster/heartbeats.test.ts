import test from 'ava';
import {startHeartbeats} from '../../../daemon/cluster/heartbeats.ts';
import type {Peer} from '../../../daemon/cluster/peers.ts';
import type {HeartbeatExchange} from '../../../daemon/services/cluster/replication-ports.ts';
import {eventually} from '../../helpers/eventually.ts';

test('a node that did not answer, and is heard again, is asked before the interval is over', async t => {
  let asked = 0;
  let heardAtMs: number | undefined;
  const client = {
    async ask() {
      asked += 1;
      if (asked === 1) throw new Error('away');
      return {applied: {}};
    },
  };
  const heartbeats = startHeartbeats({
    peer: {nodeNo: 2, nodeId: 'mx2', joinedAt: '', client} as unknown as Peer,
    exchange: {
      heartbeat: async () => ({heartbeat: {}, usesUpTo: 0}),
      receiveHeartbeat: async () => {},
    } as unknown as HeartbeatExchange,
    intervalMs: 3_600_000,
    news: () => '',
    nodeNo: 1,
    heardAtMs: () => heardAtMs,
    onAnswer() {},
    onFailure() {},
  });
  t.teardown(heartbeats.stop);

  t.false(await heartbeats.beat());
  heardAtMs = performance.now();
  await eventually(() => asked === 2 && heartbeats.misses === 0);
  t.is(asked, 2);
});
