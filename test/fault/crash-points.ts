// Nodes that end themselves at every step that makes something durable or notifies another program: before it, and after it.
import {type CrashPoint, crashPoints} from '../../daemon/services/crash-point.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {mfdTestBuildFile} from '../helpers/program.ts';
import type {Fault, FaultContext} from './fault.ts';
import type {Random} from './random.ts';
import {startSite} from './site.ts';
import {createSiteRun, figuresOf, type SiteRun} from './site-run.ts';

/** Only a node with a peer passes these points. */
const isOfCluster = (point: CrashPoint): boolean => point.startsWith('outbox-send') || point.startsWith('apply');
/** A node that starts records its own state and sends it to its peers at once, so it may end before it is ready. */
const isPassedAtStart = (point: CrashPoint): boolean => isOfCluster(point) || point.startsWith('change-row');

const alone = crashPoints.filter(point => !isOfCluster(point));
/** In parallel: nodes that start leave time for others. */
const shares = [
  {names: ['solo'], points: alone.filter((_, n) => n % 2 === 0)},
  {names: ['solo'], points: alone.filter((_, n) => n % 2 === 1)},
  {names: ['alpha', 'beta'], points: crashPoints.filter(isOfCluster)},
];
const reachedWithinMs = 60_000;

export const crashPointsFault: Fault = {
  name: 'crash-points',
  title: `nodes that end at each of ${crashPoints.length} crash points under load`,
  rounds: 20,
  shortRounds: 1,
  pass: 'every point is reached, nothing acknowledged is lost, doubles only between delivery and row',

  async run(context) {
    const {owner, rounds} = context;
    const violations: string[] = [];
    const siteRuns = await Promise.all(
      shares.map(async ({names, points}, n) => {
        const siteRun = createSiteRun(`c${n}`, await startSite(owner, {names, program: mfdTestBuildFile}));
        violations.push(...(await allRounds(context, siteRun, points)));
        return siteRun;
      }),
    );
    return {
      rounds,
      violations,
      figures: {points: crashPoints.length, crashes: rounds * crashPoints.length, ...figuresOf(siteRuns)},
    };
  },
};

const allRounds = async (context: FaultContext, siteRun: SiteRun, points: readonly CrashPoint[]): Promise<string[]> => {
  const [victim] = siteRun.site.nodes;
  if (!victim) return ['there is no node'];
  const violations: string[] = [];
  let what = 'the beginning';
  const note = (wrong: string[]) => void violations.push(...wrong.map(line => `${what}: ${line}`));
  const judgeUnarmed = async (random: Random) => {
    note([...(await siteRun.restart([victim])), ...(await siteRun.judge(random))]);
    if (siteRun.isFull) await siteRun.clear();
    await victim.stop();
  };

  await victim.stop();
  for (const point of points)
    for (let round = 1; round <= context.rounds; round += 1) {
      const random = context.randomOf(crashPoints.indexOf(point) * 1000 + round);
      const mustBeUnarmed = isPassedAtStart(point) || siteRun.isFull;
      if (mustBeUnarmed) await judgeUnarmed(random);
      const armed = {FAULT_CRASH_AT: `${point}:${random.between(1, mostTimes(point))}`};
      if (isPassedAtStart(point)) await victim.start(armed).catch(() => {});
      else note(await siteRun.restart([victim], armed));
      if (!mustBeUnarmed) note(await siteRun.judge(random));
      what = `${point}, round ${round}`;
      note(await crash(siteRun, victim, random));
      if (round === context.rounds) context.say(`${point}, ${violations.length} violations`);
    }
  await judgeUnarmed(context.randomOf(0));
  return violations;
};

const crash = async (siteRun: SiteRun, victim: ClusterNode, random: Random): Promise<string[]> => {
  const traffic = siteRun.startTraffic(random);
  const isReached = await eventually(() => !victim.isRunning(), reachedWithinMs).catch(() => false);
  if (!isReached) await victim.stop('SIGKILL');
  await traffic.stop();
  await siteRun.died([victim]);
  return isReached ? [] : ['the load never came by here'];
};

/** The crash does not always hit the first of several mails and changes, but always an early one. */
const mostTimes = (point: CrashPoint): number => (/^(spool|held|reply|change)/.test(point) ? 15 : 4);
