// Power cuts of the disk at any moment of a node's work, also for a control node whose database does not wait for the disk: if
// the control loses nothing, the test could not detect a loss.
import {setTimeout as delay} from 'node:timers/promises';
import {eventually} from '../helpers/eventually.ts';
import {mfdTestBuildFile} from '../helpers/program.ts';
import type {Fault, FaultContext} from './fault.ts';
import {freeze} from './freeze.ts';
import {type PoweredDisk, poweredDiskMissing, startPoweredDisk} from './powered-disk.ts';
import type {Random} from './random.ts';
import {startSite} from './site.ts';
import {createSiteRun, figuresOf, type SiteRun} from './site-run.ts';

const megabytes = 192;
const leastAcknowledged = 20;
/** Answers under way to a client arrive within this time. */
const readMs = 50;
/**
 * Share of the rounds. The control ends at its first loss, which comes late where the system writes to the disk on its own
 * meanwhile.
 */
const controlShare = 1 / 3;
const leastControls = 8;

interface Bench {
  siteRun: SiteRun;
  disk: PoweredDisk;
}

export const powerCut: Fault = {
  name: 'power-cut',
  title: 'power cut under load, ext4 shut down underneath',
  rounds: 30,
  shortRounds: 2,
  pass: 'nothing acknowledged is lost; with synchronous=NORMAL something is',
  missing: poweredDiskMissing,

  async run(context) {
    const {rounds, say} = context;
    const controls = Math.max(leastControls, Math.round(rounds * controlShare));
    const [product, control] = await Promise.all([
      startBench(context, {}),
      startBench(context, {program: mfdTestBuildFile, env: {FAULT_SYNCHRONOUS: 'NORMAL'}}),
    ]);
    const [violations, losses] = await Promise.all([
      cuts(context, product, {first: 1, rounds}),
      // A loss of the control is expected, but its behaviour after that is undefined.
      cuts(context, control, {first: 1001, rounds: controls, isOverAtFirst: true}),
    ]);
    say(`with synchronous=NORMAL: ${losses[0] ?? 'nothing was lost'}`);
    if (losses.length === 0)
      violations.push(`with synchronous=NORMAL nothing was lost in ${controls} rounds: this test sees no loss`);
    return {rounds, violations, figures: {...figuresOf([product.siteRun]), 'lost with NORMAL': losses.length}};
  },
};

const startBench = async ({owner}: FaultContext, options: {program?: string; env?: Record<string, string>}): Promise<Bench> => {
  const disk = await startPoweredDisk(owner, megabytes);
  const site = await startSite(owner, {names: ['solo'], folder: disk.path, ...options});
  // Closing a database writes it to the disk: the control should lose only what was written since.
  for (const node of site.nodes) {
    await node.stop();
    await node.start();
  }
  return {disk, siteRun: createSiteRun(options.env ? 'control' : 'power', site)};
};

const cuts = async (
  {randomOf}: FaultContext,
  bench: Bench,
  {first, rounds, isOverAtFirst = false}: {first: number; rounds: number; isOverAtFirst?: boolean},
): Promise<string[]> => {
  const violations: string[] = [];
  for (let round = first; round < first + rounds; round += 1) {
    const wrong = await cutRound(bench, randomOf(round));
    violations.push(...wrong.map(line => `round ${round}: ${line}`));
    if (isOverAtFirst && wrong.length > 0) break;
  }
  return violations;
};

/**
 * A real power cut ends everything at once, but the ioctl does not: a concurrent fsync succeeds with nothing on the disk (seen
 * with a program that only writes and calls fsync, in every second cut). So the nodes are frozen before it. Whatever they have
 * answered by then is read, and counts.
 */
const cutRound = async ({siteRun, disk}: Bench, random: Random): Promise<string[]> => {
  const before = acknowledgedBy(siteRun);
  const traffic = siteRun.startTraffic(random);
  await delay(random.between(200, 1200));
  // What nobody was told cannot be lost: on a busy machine the first answers take their time.
  await eventually(() => acknowledgedBy(siteRun) >= before + leastAcknowledged);
  await Promise.all(siteRun.site.nodes.map(async node => freeze(node.pid())));
  const over = traffic.stop();
  await delay(readMs);
  await disk.cut();
  await Promise.all(siteRun.site.nodes.map(async node => node.stop('SIGKILL')));
  await over;
  await disk.powerOn();
  await siteRun.died(siteRun.site.nodes);
  const late = await siteRun.restart(siteRun.site.nodes);
  const wrong = [...late, ...(await siteRun.judge(random))];
  if (siteRun.isFull) await siteRun.clear();
  return wrong;
};

const acknowledgedBy = ({figures: {accepted, relayed, acted, changed}}: SiteRun): number => accepted + relayed + acted + changed;
