import test, {type ExecutionContext} from 'ava';
import {createLateChanges} from '../../../daemon/replication/late-changes.ts';
import type {Heartbeat} from '../../../daemon/services/cluster/peer-protocol.ts';
import type {RemoteRecords} from '../../../daemon/services/cluster/replication-ports.ts';

/** Node 1 of three. Changes of another node are applied when it is asked for them. */
const arrange = (_t: ExecutionContext, own: Record<number, number>, told: Record<number, Record<string, number>>) => {
  const time = {ms: 0};
  const asked: number[] = [];
  const broken = new Set<number>();
  const silent: number[] = [];
  const peers = [2, 3].map(nodeNo => ({nodeNo, nodeId: `mx${nodeNo}`}) as RemoteRecords);
  const late = createLateChanges({
    replication: {
      applied: async () => new Map(Object.entries(own).map(([no, seq]) => [Number(no), seq])),
      async caughtUp(applied) {
        for (const [no, seq] of Object.entries(applied)) if (no !== '1') own[Number(no)] = Math.max(own[Number(no)] ?? 0, seq);
      },
    },
    directory: {list: () => [1, 2, 3].map(id => ({id}) as never)},
    peerStates: {latest: no => told[no] && ({applied: told[no]} as unknown as Heartbeat), unreached: () => silent},
    differences: {
      async apply({nodeNo}) {
        asked.push(nodeNo);
        if (broken.has(nodeNo)) throw new Error('away');
        return [];
      },
    },
    nodeNo: 1,
    monotonic: () => time.ms,
    onFetched() {},
  });
  const poll = async (ms: number) => {
    time.ms += ms;
    await late.fetch(peers);
    return asked.splice(0);
  };
  return {own, told, broken, silent, poll};
};

test('what does not come is asked for after some seconds, from the node that made it', async t => {
  const {poll, own} = arrange(t, {1: 5, 2: 7, 3: 1}, {2: {2: 9}, 3: {3: 1}});

  t.deepEqual([await poll(0), await poll(4999), await poll(1)], [[], [], [2]]);
  t.deepEqual(own, {1: 5, 2: 9, 3: 1});
  t.deepEqual(await poll(10_000), []);
});

test('what one node cannot tell is asked for from another one that has it', async t => {
  const {poll, own} = arrange(t, {1: 5, 2: 7, 3: 1}, {3: {2: 9, 3: 1}});

  t.deepEqual([await poll(0), await poll(5000)], [[], [3]]);
  t.is(own[2], 9);
});

test('as long as changes come nothing is asked for', async t => {
  const {poll, own} = arrange(t, {2: 1}, {2: {2: 100}});

  for (let seq = 2; seq < 30; seq += 1) {
    t.deepEqual(await poll(4000), []);
    own[2] = seq;
  }
});

test('of its own changes a node asks for none, nor of a node that does not answer', async t => {
  const {poll, silent} = arrange(t, {1: 5, 2: 7}, {2: {1: 9, 2: 9}, 3: {1: 9}});
  silent.push(2);

  t.deepEqual([await poll(0), await poll(60_000)], [[], []]);
});

test('a peer that fails is no reason not to ask the next, and is asked again later', async t => {
  const {poll, broken, own} = arrange(t, {2: 7}, {2: {2: 9}, 3: {2: 8}});
  broken.add(2);

  await poll(0);
  await t.throwsAsync(poll(5000), {message: 'away'});
  t.is(own[2], 8);
  await poll(1000);
  broken.clear();
  t.deepEqual([await poll(4999), await poll(1)].flat().slice(-1), [2]);
});
