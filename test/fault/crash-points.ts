// Nodes that end themselves at every step that makes something durable or tells somebody: before it, and after it.
import {type CrashPoint, crashPoints} from '../../daemon/services/crash-point.ts';
import {eventually} from '../helpers/eventually.ts';
import {mfdTestBuildFile} from '../helpers/program.ts';
import type {Fault, FaultContext} from './fault.ts';
import {createLane, figuresOf, type Lane} from './lane.ts';
import type {Random} from './random.ts';
import {startSite} from './site.ts';

/** Only a node with a peer comes by these. */
const isOfCluster = (point: CrashPoint): boolean => point.startsWith('outbox-send') || point.startsWith('apply');

const alone = crashPoints.filter(point => !isOfCluster(point));
/** Side by side: nodes that start leave time for others. */
const shares = [
  {names: ['solo'], points: alone.filter((_, n) => n % 2 === 0)},
  {names: ['solo'], points: alone.filter((_, n) => n % 2 === 1)},
  {names: ['alpha', 'beta'], points: crashPoints.filter(isOfCluster)},
];
const reachedWithinMs = 30_000;

export const crashPointsFault: Fault = {
  name: 'crash-points',
  title: `nodes that end at each of ${crashPoints.length} crash points under load`,
  rounds: 20,
  shortRounds: 1,
  pass: 'every point is reached, nothing acknowledged is lost, doubles only between delivery and row',

  async run(context) {
    const {owner, rounds} = context;
    const violations: string[] = [];
    const lanes = await Promise.all(
      shares.map(async ({names, points}, n) => {
        const lane = createLane(`c${n}`, await startSite(owner, {names, program: mfdTestBuildFile}));
        violations.push(...(await allRounds(context, lane, points)));
        return lane;
      }),
    );
    return {rounds, violations, figures: {points: crashPoints.length, crashes: rounds * crashPoints.length, ...figuresOf(lanes)}};
  },
};

const allRounds = async ({rounds, randomOf, say}: FaultContext, lane: Lane, points: readonly CrashPoint[]): Promise<string[]> => {
  const violations: string[] = [];
  for (const [n, point] of points.entries()) {
    for (let round = 1; round <= rounds; round += 1) {
      const wrong = await crashRound(lane, point, randomOf(crashPoints.indexOf(point) * 1000 + round));
      violations.push(...wrong.map(line => `${point}, round ${round}: ${line}`));
    }
    say(`${point}: ${n + 1} of ${points.length}, ${violations.length} violations`);
  }
  return violations;
};

/** The node is stopped in peace and started armed, so that it is what was running before that crashes. */
const crashRound = async (lane: Lane, point: CrashPoint, random: Random): Promise<string[]> => {
  const [victim] = lane.site.nodes;
  if (!victim) return ['there is no node'];
  await victim.stop();
  // A node may come by before it is ready: what it has to tell others it tells them at once.
  await victim.start({FAULT_CRASH_AT: `${point}:${random.between(1, mostTimes(point))}`}).catch(() => {});

  const traffic = lane.startTraffic(random);
  const isReached = await eventually(() => !victim.isRunning(), reachedWithinMs).catch(() => false);
  if (!isReached) await victim.stop('SIGKILL');
  await traffic.stop();
  await lane.died([victim]);
  const late = await lane.restart([victim]);
  return [...(isReached ? [] : ['the load never came by here']), ...late, ...(await lane.judge(random))];
};

/** Of several mails and changes at once, not always the first; and soon all the same. */
const mostTimes = (point: CrashPoint): number => (/^(spool|held|reply|change)/.test(point) ? 25 : 5);
