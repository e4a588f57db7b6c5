// A full disk: mail and another program fill it up, and it is emptied again.
import {access} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {openForReading} from '../../daemon/store/sqlite/database.ts';
import {eventually} from '../helpers/eventually.ts';
import {mayMount, type SmallDisk, smallDisk} from '../helpers/small-disk.ts';
import type {Fault, FaultContext} from './fault.ts';
import type {Random} from './random.ts';
import {startWorld, type World} from './world.ts';

const diskBytes = 40 * 1024 * 1024;
const senders = 6;
const changed = 'changed.example';
/** Enough for the actions of a round on the full disk. */
const reserveBytes = 1024 * 1024;
const refusalsWanted = 3;
const mostTries = 3000;

interface Figures {
  acknowledged: number;
  refused: number;
  changesRefused: number;
  discardedWhileFull: number;
  kills: number;
  slowestRecoveryMs: number;
}

export const diskFull: Fault = {
  name: 'disk-full',
  title: 'the disk fills up under load',
  rounds: 10,
  shortRounds: 1,
  pass: '452 to senders, never a 250 that is not kept; reads and discard work; recovers alone',
  missing: () => (mayMount ? undefined : 'a tmpfs cannot be mounted here: run it as root'),

  async run(context) {
    const disk = await smallDisk(context.owner, diskBytes);
    const world = await startWorld(context.owner, {
      data: join(disk.path, 'data'),
      config: {spool: {ballast: '2M', min_free: '4M'}, log: {level: 'error'}},
    });
    const figures: Figures = {
      acknowledged: 0,
      refused: 0,
      changesRefused: 0,
      discardedWhileFull: 0,
      kills: 0,
      slowestRecoveryMs: 0,
    };
    const violations: string[] = [];
    for (let round = 1; round <= context.rounds; round += 1) {
      const wrong = await runRound({context, world, disk, figures, random: context.randomOf(round)});
      violations.push(...wrong.map(line => `round ${round}: ${line}`));
      context.say(`round ${round}: ${Object.values(figures).join(' ')}, ${violations.length} violations`);
    }
    figures.acknowledged = world.ledger.counts.accepted + world.ledger.counts.relayed;
    return {rounds: context.rounds, violations, figures: {...figures}};
  },
};

/**
 * A node polls its disk every 2 s. Between two polls a small mail may use the space that a discard has just freed, and is
 * accepted.
 */
const pollMs = 2500;

interface Round {
  context: FaultContext;
  world: World;
  disk: SmallDisk;
  figures: Figures;
  random: Random;
}

const runRound = async (round: Round): Promise<string[]> => {
  const {world, disk, figures, random, context} = round;
  const wrong: string[] = [];
  const load = startLoad(round, wrong);
  // In some rounds mail alone fills it up; in the others another program is faster, at once or in steps.
  const byMail = random.chance(0.3);
  await delay(byMail ? 0 : random.between(100, 800));
  for (let steps = random.between(0, 3); steps > 0 && !byMail; steps -= 1) {
    await disk.fill(Math.min(disk.freeBytes(), random.between(1, 8) * 1024 * 1024));
    await delay(random.between(0, 300));
  }
  if (byMail) await eventually(() => load.isRefused());
  // Filled to the last byte, as the files of mails under way come and go.
  for (let tries = 0; tries < 3; tries += 1) await disk.fill().catch(() => undefined);
  await eventually(() => load.isRefused());
  await delay(context.isShort ? 500 : random.between(500, 1500));
  await load.stop();
  await disk.fill().catch(() => undefined);
  await delay(pollMs);

  // Under load the reserve file may have been deleted, and another program may have taken that space as well.
  wrong.push(...(await whileFull(round, !(await hasReserve(round)))));
  // The space of the reserve file is taken as well: now even requests that free space may be refused.
  await disk.fill().catch(() => undefined);
  wrong.push(...(await whileFull(round, true)), ...(await untilRefused(round)));
  if (random.chance(0.4)) {
    figures.kills += 1;
    await world.node.stop('SIGKILL');
    const refusal = await startRefusal(world);
    if (refusal === undefined) wrong.push(...(await whileFull(round, true)));
    else if (!refusal.includes('the disk of this node is full')) wrong.push(`start on the full disk: ${refusal}`);
  }

  await disk.clear();
  if (!world.node.isRunning()) await world.node.start();
  const held = await world.node.allHeld();
  // The space that mail has taken must be freed by discarding mail.
  await world.discardAll(held.slice(0, Math.floor(held.length * 0.9)).map(({queue_id}) => queue_id));
  const startedAt = performance.now();
  await eventually(async () => (await world.send({sizeBytes: 2000})) === 250);
  if ((await world.change(changed)) !== 200) wrong.push('a change was refused after there was room again');
  figures.slowestRecoveryMs = Math.max(figures.slowestRecoveryMs, Math.round(performance.now() - startedAt));
  return [...wrong, ...(await world.judge()), ...(await countedChanges(world))];
};

/** Without free space and reserve file a node may be unable to start, and logs that; undefined when it has started. */
const startRefusal = async ({node}: World): Promise<string | undefined> =>
  node.start().then(
    () => undefined,
    () => node.log(),
  );

/** The reserve file, or the space that it freed. */
const hasReserve = async ({world, disk}: Round): Promise<boolean> =>
  disk.freeBytes() >= reserveBytes ||
  access(join(world.node.data, 'ballast')).then(
    () => true,
    () => false,
  );

/** Reads and discards work, mail is refused temporarily, changes are made or refused as a whole. */
const whileFull = async (round: Round, hasNoReserve = false): Promise<string[]> => {
  const {world, figures, random} = round;
  const wrong: string[] = [];
  const held = await world.node.allHeld();
  const looked = Array.from({length: Math.min(held.length, 10)}, () => random.pick(held));
  const bodies = await world.wrongBodies(looked);
  // No mail is read without an audit entry.
  wrong.push(...bodies.filter(line => !(hasNoReserve && /^body of \w+: 503 /.test(line))));
  for (const mail of new Set(looked.slice(0, 3))) {
    const status = await world.act('discard', mail.queue_id);
    if (status === 200) figures.discardedWhileFull += 1;
    else if (status !== 503 || !hasNoReserve) wrong.push(`discard on the full disk: ${status}`);
  }
  const code = await world.send({sizeBytes: 2000, to: random.pick(['held', 'relayed'])});
  if (code !== 452) wrong.push(`mail on the full disk: ${code}`);

  wrong.push(...(await changeWhole(round)));
  return [...wrong, ...(await world.judge())];
};

/**
 * Changes reuse the space of the database's write-ahead log, unless a reader still needs its content. Then the log has to grow,
 * and each change is refused as a whole.
 */
const untilRefused = async (round: Round): Promise<string[]> => {
  const {world, disk, figures} = round;
  const reader = openForReading(join(world.node.data, 'mfd.db'));
  try {
    return await reader.transaction(async tx => {
      await tx('config_record').first();
      const wrong: string[] = [];
      const isEnough = figures.changesRefused + refusalsWanted;
      for (let tries = 0; figures.changesRefused < isEnough; tries += 1) {
        if (tries === mostTries) return [...wrong, `${mostTries} changes were made on a full disk: it was not full`];
        await disk.fill().catch(() => undefined);
        wrong.push(...(await changeWhole(round)));
      }
      return wrong;
    });
  } finally {
    await reader.destroy();
  }
};

const changeWhole = async ({world, figures}: Round): Promise<string[]> => {
  const before = await world.valueOf(changed);
  const status = await world.change(changed);
  if (status === 200) return [];
  if (status === 503) figures.changesRefused += 1;
  const after = await world.valueOf(changed);
  return [
    ...(status === 503 ? [] : [`change on the full disk: ${status}`]),
    ...(after === before ? [] : [`a change that was refused was made: ${before} became ${after}`]),
  ];
};

/** A change and its audit entry belong together: when the change was refused, neither exists. */
const countedChanges = async ({node, ledger}: World): Promise<string[]> => {
  const {headers} = await node.api('GET', 'audit?action=domain.update&limit=1');
  const audited = Number(headers['x-total-count']);
  return audited === ledger.counts.changed ? [] : [`${audited} changes audited, ${ledger.counts.changed} acknowledged`];
};

const startLoad = ({world, figures, random}: Round, wrong: string[]) => {
  let isStopped = false;
  let refusals = 0;
  const sizes = Array.from({length: 64}, () => random.pick([800, 5000, 40_000, 300_000, 1_500_000]));
  const until = async (job: (n: number) => Promise<void>) => {
    for (let n = 0; !isStopped; n += 1) await job(n).catch(error => void wrong.push(`under load: ${error}`));
  };

  const send = async (n: number) => {
    const code = await world.send({sizeBytes: sizes[n % sizes.length] ?? 0, to: n % 5 === 4 ? 'relayed' : 'held'});
    if (code === 250) return;
    figures.refused += 1;
    refusals += 1;
    if (code !== 452) wrong.push(`a sender was told ${code}`);
    await delay(50);
  };
  const change = async () => {
    const status = await world.change(changed);
    if (status === 503) figures.changesRefused += 1;
    else if (status !== 200) wrong.push(`a change was answered ${status}`);
    await delay(20);
  };
  const jobs = [...Array.from({length: senders}, (_, at) => until(async n => send(n * senders + at))), until(change)];

  return {
    isRefused: () => refusals > senders,
    async stop() {
      isStopped = true;
      await Promise.all(jobs);
    },
  };
};
