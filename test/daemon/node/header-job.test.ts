import test, {type ExecutionContext} from 'ava';
import {pino} from 'pino';
import {createHeaderJob, hasEarlierMember} from '../../../daemon/node/header-job.ts';
import {startJobs} from '../../../daemon/node/jobs.ts';
import type {Heartbeat} from '../../../daemon/services/cluster/peer-protocol.ts';
import type {StoredNode} from '../../../daemon/services/records.ts';
import {eventually} from '../../helpers/eventually.ts';

const log = pino({level: 'silent'});

/** Runs the job every millisecond, beside one that never ends. */
const start = (t: ExecutionContext, leftAt: (run: number) => number, mayCome: () => boolean) => {
  const seen = {runs: 0, others: 0};
  const job = createHeaderJob({
    async readFrom() {
      seen.runs += 1;
      return {read: 0, left: leftAt(seen.runs)};
    },
    mayCome,
    log,
  });
  const other = {
    everyMs: 1,
    what: 'another job',
    async run() {
      seen.others += 1;
    },
  };
  const {stop} = startJobs([{...job, everyMs: 1}, other], {engine: {isReachable: () => true}, log});
  t.teardown(stop);
  return {
    seen,
    async goOn() {
      const before = seen.others;
      await eventually(() => seen.others > before + 20);
    },
  };
};

test('the headers are read until none are left, and then no more', async t => {
  const {seen, goOn} = start(
    t,
    run => 3 - run,
    () => false,
  );

  await eventually(() => seen.runs === 3);
  await goOn();

  t.is(seen.runs, 3);
});

test('after a failure, and while more may come, the headers are read again', async t => {
  let mayCome = true;
  const {seen, goOn} = start(
    t,
    run => {
      if (run === 5) mayCome = false;
      if (run === 5 || run === 6) throw new Error('the store is away');
      return 0;
    },
    () => mayCome,
  );

  await eventually(() => seen.runs === 7);
  await goOn();

  t.is(seen.runs, 7);
});

test('a member that was never heard, or sends no problems, may be of an earlier version, and the node itself is not', t => {
  const latest = new Map<number, object>([
    [2, {problems: []}],
    [3, {version: '0.8.1'}],
  ]);
  const among = (...ids: number[]) =>
    hasEarlierMember(
      {
        nodeDirectory: {list: () => ids.map(id => ({id, node_id: `mx${id}`}) as StoredNode)},
        peerStates: {latest: nodeNo => latest.get(nodeNo) as Heartbeat | undefined},
      },
      'mx1',
    );

  t.deepEqual([among(1), among(1, 2), among(1, 2, 3), among(1, 4)], [false, false, true, true]);
});
