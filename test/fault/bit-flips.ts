// Bit flips and other damage on the disk of a stopped node. Each damage is either detected or harmless, and what was lost is
// named.
import {cp, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {mfdFile, run} from '../helpers/program.ts';
import {damage, type Target} from './damage.ts';
import type {Fault, FaultContext} from './fault.ts';
import {memoryFolder} from './memory-folder.ts';
import type {Random} from './random.ts';
import {startWorld, type World} from './world.ts';

const domains = ['one.example', 'two.example', 'three.example'];
/** Rounds that start with the same files. */
const roundsPerLife = 10;
const parts = ['mfd.db', 'mfd.db-wal', 'mfd.db-shm', 'spool', 'ballast'];

interface Figures {
  acknowledged: number;
  refused: number;
  named: number;
  'no difference': number;
  repaired: number;
}

interface Worker {
  context: FaultContext;
  world: World;
  /** The folder with a copy of the files from before the damage. */
  kept: string;
  figures: Figures;
}

export const bitFlips: Fault = {
  name: 'bit-flips',
  title: 'bits flip in database, log and spool',
  rounds: 200,
  shortRounds: 6,
  pass: 'found or rebuilt, 0 silent losses',

  async run(context) {
    const figures: Figures = {acknowledged: 0, refused: 0, named: 0, 'no difference': 0, repaired: 0};
    const rounds = Array.from({length: context.rounds}, (_, n) => n + 1);
    const violations: string[] = [];
    const worker = async () => {
      const folder = await memoryFolder(context.owner);
      const config = {spool: {ballast: '1M', min_free: '1M'}};
      const world = await startWorld(context.owner, {domains, config, data: join(folder, 'data')});
      const kept = join(folder, 'kept');
      const own = {context, world, kept, figures};
      for (let life = rounds.splice(0, roundsPerLife); life.length > 0; life = rounds.splice(0, roundsPerLife)) {
        await live(own, context.randomOf(life[0] ?? 0));
        for (const round of life) {
          const wrong = await strike(own, round).catch((error: Error) => [`${error.stack}; ${world.node.log().slice(-500)}`]);
          if (world.node.isRunning()) await world.node.stop('SIGKILL');
          for (const line of wrong) context.say(`round ${round}: ${line}`);
          violations.push(...wrong.map(line => `round ${round}: ${line}`));
        }
        await restore(own);
        await world.node.start();
        context.say(`rounds to ${life.at(-1)}: ${Object.values(figures).join(' ')}, ${violations.length} violations`);
      }
      const {accepted, changed} = world.ledger.counts;
      figures.acknowledged += accepted + changed;
    };
    await Promise.all(Array.from({length: context.isShort ? 1 : 3}, worker));
    return {rounds: context.rounds, violations, figures: {...figures}};
  },
};

/** Mail, decisions and changes; then the end, and a copy of what is on the disk. */
const live = async ({world, kept}: Worker, random: Random): Promise<void> => {
  const {node} = world;
  const send = async () => {
    for (let n = 0; n < 8; n += 1) await world.send({sizeBytes: random.pick([500, 3000, 20_000])});
  };
  await Promise.all(Array.from({length: 4}, send));
  const isKilled = random.chance(0.7);
  const held = await world.node.allHeld();
  const act = async () => {
    for (const {queue_id} of held.slice(0, 6)) await world.act(random.pick(['release', 'discard']), queue_id);
  };
  const change = async () => {
    for (let n = 0; n < 10; n += 1) await world.change(random.pick(domains));
  };
  await Promise.all([act(), change(), send()]);
  if (isKilled) await delay(random.between(0, 100));
  await node.stop(isKilled ? 'SIGKILL' : 'SIGTERM');
  await rm(kept, {recursive: true, force: true});
  for (const part of parts) await cp(join(node.data, part), join(kept, part), {recursive: true}).catch(ignoreMissing);
};

const restore = async ({world: {node}, kept}: Worker): Promise<void> => {
  for (const part of parts) {
    await rm(join(node.data, part), {recursive: true, force: true});
    await cp(join(kept, part), join(node.data, part), {recursive: true}).catch(ignoreMissing);
  }
};

const strike = async (worker: Worker, round: number): Promise<string[]> => {
  const {world, context, figures} = worker;
  const {node} = world;
  const random = context.randomOf(round);
  await restore(worker);
  const {target, what} = await damage(node.data, random);
  const refusal = await node.start().then(
    () => undefined,
    () => node.log(),
  );
  if (refusal === undefined) {
    const found = await look(worker, {target});
    if (found.wrong.length === 0) figures[found.isNamed ? 'named' : 'no difference'] += 1;
    return found.wrong.map(line => `${what}: ${line}`);
  }

  figures.refused += 1;
  const last = refusal.trimEnd().split('\n').at(-1) ?? '';
  if (!/^mfd: .*mfd repair/.test(last)) return [`${what}: refused without a word of what to do: ${last}`];
  const repaired = await run(mfdFile, ['repair', '--data', node.data]);
  if (repaired.code !== 0) return [`${what}: repair failed: ${repaired.stderr}`];
  figures.repaired += 1;
  await node.start();
  // The key may be among what was lost; `mfd bootstrap-key` makes another one then.
  if (/records removed|rows are lost/.test(repaired.stdout) && (await node.api('GET', 'auth/me')).status === 401) return [];
  const found = await look(worker, {target, told: repaired.stdout});
  return found.wrong.map(line => `${what}: after the repair of the ${target}, which said ${repaired.stdout}: ${line}`);
};

/** Differences from what was acknowledged that no message reported. `told` is the output of a repair. */
const look = async (
  {world}: Worker,
  {target, told = ''}: {target: Target; told?: string},
): Promise<{wrong: string[]; isNamed: boolean}> => {
  const {node} = world;
  const ready = await fetch(`${node.metrics_url}/readyz`);
  if (ready.status !== 200) return {wrong: [], isNamed: true};
  const audit = await node.api('GET', 'audit?limit=1000');
  const said = `${node.log()}\n${told}\n${audit.body}`;

  const held = await world.node.allHeld();
  const isSaid = (line: string) => [...line.matchAll(/\b[0-9A-Za-z]{10,64}\b/g)].some(([id]) => said.includes(`${id}`));
  const all = [...(await world.judge()), ...(await world.wrongBodies(target === 'spool' ? held : held.slice(0, 8)))];
  // A node that hands out no bytes where the right ones are gone has said so; and what a repair has lost it has counted.
  const isCounted = /changes are lost|records removed|rows are lost/.test(told);
  const wrong = all.filter(
    line => !isSaid(line) && !/^body of \w+: 500/.test(line) && !(isCounted && !line.includes('and is not held')),
  );
  return {wrong, isNamed: all.length > wrong.length};
};

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error;
};
