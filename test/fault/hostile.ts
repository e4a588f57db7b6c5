// Common parts of the hostile input faults: workers that send it, a good client beside them, and checks of the daemon meanwhile.
import {readdir, readlink} from 'node:fs/promises';
import type {Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {eventually} from '../helpers/eventually.ts';
import type {TestNode} from '../helpers/node.ts';
import type {FaultContext, FaultReport} from './fault.ts';
import {judgeMemory} from './memory-judge.ts';
import type {MemoryProbe} from './memory-probe.ts';
import type {Random} from './random.ts';

export interface Hostility {
  node: Pick<TestNode, 'pid' | 'log' | 'isRunning'>;
  /** The probe with whose environment the node was started. */
  memory: MemoryProbe;
  /** Sessions under way at one time. */
  concurrency: number;
  /** Sends some inputs, each with a limit of its own, and says how many they were. What it throws is a violation. */
  session(random: Random): Promise<number>;
  /** The repeated requests of a well-behaved client; rejects when one fails. */
  good(): Promise<void>;
  /** Errors in the log that are expected. */
  expectedErrors?: RegExp;
  figures?(): Record<string, number | string>;
}

/** A good client may be served more slowly on a busy node, but must not be turned away. */
const goodPauseMs = 50;
const sampleMs = 250;
const reportedViolations = 20;

export const runHostile = async (
  {rounds, isShort, randomOf, say}: FaultContext,
  {node, memory, concurrency, session, good, expectedErrors, figures}: Hostility,
): Promise<FaultReport> => {
  const violations = createViolations(say);
  const servedMs: number[] = [];
  let inputs = 0;
  let begun = 0;
  let isOver = false;
  const startedAt = performance.now();
  const filesBefore = (await openFiles(node.pid())).length;

  /** Runs until this share of all inputs has been sent and answered. */
  const attack = async (share: number): Promise<void> => {
    const [wanted, endsAt] = [share * rounds, startedAt + (isShort ? 0 : share * leastMs)];
    while ((inputs < wanted || performance.now() < endsAt) && node.isRunning()) {
      const number = begun;
      begun += 1;
      try {
        const sent = await within(session(randomOf(number)), 'the session hung', longestSessionMs);
        inputs += sent;
      } catch (error) {
        inputs += 1;
        violations.add(`session ${number}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
  const beGood = async (): Promise<void> => {
    while (!isOver) {
      const askedAt = performance.now();
      await within(good(), 'it hung').catch(error => violations.add(`the good client was not served: ${String(error)}`));
      servedMs.push(performance.now() - askedAt);
      await delay(goodPauseMs);
    }
  };
  const watch = async (): Promise<void> => {
    for (let saidAt = 0; !isOver && node.isRunning(); await delay(sampleMs)) {
      if (inputs - saidAt < rounds / 10) continue;
      saidAt = inputs;
      say(`${inputs} inputs`);
    }
  };

  const beside = Promise.all([beGood(), watch()]);
  const attackAll = async (share: number) => Promise.all(Array.from({length: concurrency}, async () => attack(share)));
  await attackAll(1 / 3);
  const judge = await judgeMemory(async () =>
    memory.heldMebibytes(node.pid()).catch(error => {
      if (node.isRunning()) throw error;
      return 0;
    }),
  );
  say(`${inputs} inputs, memory ${judge.text()}`);
  await attackAll(1);
  isOver = true;
  await beside;

  if (!node.isRunning()) violations.add('the daemon ended');
  if (!(await judge.isFlat())) violations.add(`memory is not flat: ${judge.text()}`);
  const files = await filesLeft(node.pid(), filesBefore);
  if (files.length > filesBefore) violations.add(`files are left open: ${files.slice(0, 10).join(' ')}`);
  for (const line of wrongLines(node.log(), expectedErrors)) violations.add(`logged: ${line}`);
  return {
    rounds: inputs,
    violations: violations.all(),
    figures: {
      sessions: begun,
      'MiB held after a third and at the end': judge.text(),
      'open files before and after': `${filesBefore} then ${files.length}`,
      'good client': `${servedMs.length} times`,
      'p99 ms': percentile(servedMs, 0.99),
      ...figures?.(),
    },
  };
};

/** Long enough for caches to fill, and for the cleanup that happens after half a minute. */
const leastMs = 120_000;
/** Longer than anything a node may take. Without this limit, a hanging request would keep the run from ending. */
const longestMs = 60_000;
/** A session of many requests, each with a limit of its own. */
const longestSessionMs = 8 * longestMs;

export const within = async <T>(work: Promise<T>, otherwise: string, waitMs = longestMs): Promise<T> => {
  const over = new AbortController();
  const late = delay(waitMs, undefined, {signal: over.signal}).then(() => Promise.reject(new Error(otherwise)));
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
};

/** The beginning of what a client has sent. */
export const shown = (bytes: Buffer): string => `in ${JSON.stringify(bytes.subarray(0, 600).toString('latin1'))}`;

const exchangeMs = 20_000;

/** All bytes on a new connection, then a normal end, an abort, or nothing. The other side must close the connection too. */
export const exchange = async (socket: Socket, bytes: Buffer, {isBrokenOff = false, isLeftOpen = false} = {}): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      reject(new Error(`hung ${shown(bytes)}: ${Buffer.concat(chunks).subarray(-300).toString('latin1')}`));
      socket.destroy();
    }, exchangeMs);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks));
    });
    if (isBrokenOff) socket.write(bytes, () => socket.destroy());
    else if (isLeftOpen) socket.write(bytes);
    else socket.end(bytes);
  });

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
};

/** Number of occurrences, the most frequent first, as one word of a table. */
export const createTally = () => {
  const counts = new Map<string, number>();
  return {
    add: (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    text: () =>
      [...counts]
        .sort(([, a], [, b]) => b - a)
        .map(([what, count]) => `${what}×${count}`)
        .join(' '),
  };
};

/** The same violation may occur ten thousand times: each is reported once, with its number. */
const createViolations = (say: (line: string) => void) => {
  const counts = new Map<string, {first: string; count: number}>();
  return {
    add(text: string) {
      const kind = (text.split(' in "')[0] ?? '').replace(/\d+/g, '#').slice(0, 200);
      const seen = counts.get(kind) ?? {first: text.slice(0, 1000), count: 0};
      if (seen.count === 0) say(seen.first);
      seen.count += 1;
      counts.set(kind, seen);
    },
    all: () =>
      [...counts.values()]
        .slice(0, reportedViolations)
        .map(({first, count}) => (count === 1 ? first : `${first} (and ${count - 1} more like it)`)),
  };
};

/** Errors, and lines that no logger wrote: a warning of the runtime, a stack trace. */
const wrongLines = (log: string, expected?: RegExp): string[] =>
  log
    .split('\n')
    .filter(line => line !== '' && (!line.startsWith('{') || /"level":"(error|fatal)"/.test(line)) && !expected?.test(line));

/** Without those of the database, whose connections come and go. */
const openFiles = async (pid: number): Promise<string[]> => {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const paths = await Promise.all(names.map(async name => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return paths.filter(path => /^\/(?!dev\/(?!shm\/))/.test(path) && !/\.db(-\w+)?$/.test(path));
};

/** Called once requests under way have had time to end. */
const filesLeft = async (pid: number, wanted: number): Promise<string[]> => {
  let files: string[] = [];
  const look = async () => {
    files = await openFiles(pid);
    return files.length <= wanted;
  };
  await eventually(look, longestMs).catch(() => undefined);
  return files;
};
