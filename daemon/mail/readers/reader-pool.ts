// Pool of the processes that read what strangers wrote. A process that does not answer, or ends, is lost: its mails are read once more,
// each alone in a process. So a mail fails only by itself.
import {availableParallelism} from 'node:os';
import {hasOwn} from '../../../shared/has-own.ts';
import {type FromReader, maxSources, type Results, results, type Task} from './protocol.ts';
import {chooseReader, type Job, lineOf, type Reader, type Reading} from './reader-choice.ts';
import {startReader} from './reader-process.ts';

/** `time`: it gave no answer in time. `end`: it ended by itself, as when its memory is used up. */
export class ReaderLost extends Error {
  readonly reason: 'time' | 'end';

  constructor(reason: 'time' | 'end') {
    super(`the reader of a mail was lost: ${reason}`);
    this.reason = reason;
  }
}

export interface ReaderPool {
  /** Rejects with a ReaderLost when two readers were lost with it; with an Error when none starts, or the mail cannot be read. */
  read<K extends Task['kind']>(task: Task & {kind: K}, reading: Reading): Promise<Results[K]>;
  close(): Promise<void>;
}

export interface PoolNeeds {
  /** The module that the processes run. */
  file: URL;
  maxReaders?: number;
  maxMs?: number;
  heapMb?: number;
  idleMs?: number;
  /** Twice as many as may come at one time: clients that disconnect leave their mail behind. */
  maxQueued?: number;
}

interface Pool extends Required<PoolNeeds> {
  queue: Job[];
  readers: Set<Reader>;
  jobs: number;
  ticker: NodeJS.Timeout | undefined;
  isClosed: boolean;
}

const maxStartMs = 30_000;
const ticksInTime = 8;

/** Starts the processes when there is something to read. */
export const createReaderPool = (needs: PoolNeeds): ReaderPool => {
  // The node itself needs a processor: a reader on the same one makes it wait for each mail.
  const defaults = {
    maxReaders: Math.max(1, availableParallelism() - 1),
    maxMs: 2000,
    heapMb: 64,
    idleMs: 60_000,
    maxQueued: 2000,
  };
  const pool: Pool = {...defaults, ...needs, queue: [], readers: new Set(), jobs: 0, ticker: undefined, isClosed: false};
  return {
    async read(task, reading) {
      const maxTicks = Math.ceil(((reading.maxMs ?? pool.maxMs) / pool.maxMs) * ticksInTime);
      return new Promise((resolve, reject) => {
        if (pool.isClosed) return reject(closed());
        if (pool.queue.length >= pool.maxQueued) return reject(new Error('too many mails wait to be read'));
        pool.queue.push({...reading, task, maxTicks, isRepeated: false, ...attempt(pool), resolve, reject});
        dispatch(pool);
      });
    },
    async close() {
      pool.isClosed = true;
      clearInterval(pool.ticker);
      for (const {reject} of pool.queue.splice(0)) reject(closed());
      await Promise.all(
        [...pool.readers].map(async ({process}) => {
          process.kill();
          await process.hasEnded;
        }),
      );
    },
  };
};

const closed = () => new Error('the node stops');

const attempt = (pool: Pool) => {
  pool.jobs += 1;
  return {no: pool.jobs, ticks: 0, asking: 0, messages: 0, sources: []};
};

/** In the order in which they came, among those of one line. */
const dispatch = (pool: Pool): void => {
  const full = new Set<string>();
  const running = {...pool, start: (what: Pick<Reader, 'share' | 'purpose'>) => start(pool, what)};
  const given: [Reader, Job][] = [];
  pool.queue = pool.queue.filter(job => {
    const line = lineOf(job);
    const reader = full.has(line) ? undefined : chooseReader(running, job);
    reader?.jobs.set(job.no, job);
    if (reader) given.push([reader, job]);
    else full.add(line);
    return reader === undefined;
  });
  for (const [reader, job] of given) void give(pool, reader, job);
};

const start = (pool: Pool, {share, purpose}: Pick<Reader, 'share' | 'purpose'>): Reader => {
  const reader: Reader = {
    share,
    purpose,
    jobs: new Map(),
    isReady: false,
    isOverdue: false,
    strays: 0,
    timer: setTimeout(() => reader.process.kill(), maxStartMs),
    process: startReader({...pool, purpose, onMessage: message => take(pool, reader, message), onEnd: () => end(pool, reader)}),
  };
  pool.readers.add(reader);
  return reader;
};

const give = async (pool: Pool, reader: Reader, job: Job): Promise<void> => {
  const {no, task, content, known = []} = job;
  reader.strays = 0;
  if (reader.isReady) clearTimeout(reader.timer);
  pool.ticker ??= setInterval(() => tick(pool), pool.maxMs / ticksInTime);
  reader.process.tell({kind: 'task', job: no, task, known});
  try {
    let room = Promise.resolve();
    for await (const chunk of content?.open() ?? []) {
      await room;
      if (!reader.jobs.has(no)) return;
      room = reader.process.send(no, chunk as Buffer);
    }
  } catch (error) {
    job.reject(error);
    finish(pool, reader, job);
  }
  reader.process.tell({kind: 'end', job: no});
};

const finish = (pool: Pool, reader: Reader, job: Job): void => {
  reader.jobs.delete(job.no);
  if (reader.jobs.size === 0) {
    if (pool.readers.delete(reader)) pool.readers.add(reader);
    clearTimeout(reader.timer);
    reader.timer = setTimeout(() => {
      pool.readers.delete(reader);
      reader.process.kill();
    }, pool.idleMs).unref();
  }
  dispatch(pool);
};

/** More than the questions of a mail, or the parts of a report. */
const maxMessages = 1000;
/** A mail may still ask when it has its result. */
const maxStrays = 5000;

/** An error that it throws ends the reader. */
const take = (pool: Pool, reader: Reader, message: FromReader): void => {
  if (message.kind === 'ready') {
    // Its timer may be the one that ends it by now.
    if (reader.isReady) throw new Error('a reader that starts twice');
    reader.isReady = true;
    clearTimeout(reader.timer);
    return;
  }
  const job = reader.jobs.get(message.job);
  if (!job) {
    reader.strays += 1;
    if (reader.strays > maxStrays) throw new Error('messages without an end');
    return;
  }
  job.messages += 1;
  if (job.messages > maxMessages) throw new Error('messages without an end');
  switch (message.kind) {
    case 'question':
      void ask(pool, reader, {job, message});
      break;
    case 'sources':
      if (job.sources.length + message.sources.length > maxSources) throw new Error('a report without an end');
      job.sources.push(...message.sources);
      break;
    case 'error':
      job.reject(new Error(message.detail));
      finish(pool, reader, job);
      break;
    default:
      // A malformed result throws, and ends the reader.
      job.resolve(withSources(results[job.task.kind].parse(message.result), job) as never);
      finish(pool, reader, job);
  }
};

/** Each message had its sources checked: all of them at once would hold up the node. */
const withSources = (result: object | string, {sources}: Job): unknown =>
  typeof result === 'object' && hasOwn(result, 'sources') && sources.length > 0 ? {...result, sources} : result;

/** SPF asks up to 10 times, each name of MX and PTR for addresses; signatures and ARC sets for a key each. */
const maxQuestions = 300;

const ask = async (
  pool: Pool,
  reader: Reader,
  {job, message: {question, name, type}}: {job: Job; message: FromReader & {kind: 'question'}},
): Promise<void> => {
  const {tell} = reader.process;
  if (!job.lookup || job.messages > maxQuestions) return tell({kind: 'failure', question, code: 'ETIMEOUT'});
  job.asking += 1;
  // It makes room for another one.
  if (job.asking === 1 && pool.queue.length > 0) dispatch(pool);
  await job.lookup(name, type).then(
    records => tell({kind: 'records', question, records}),
    ({code}) => tell({kind: 'failure', question, code: String(code)}),
  );
  job.asking -= 1;
};

/** Counted instead of measured: a node that is busy itself must not blame its readers. */
const tick = (pool: Pool): void => {
  const working = [...pool.readers].filter(({jobs}) => jobs.size > 0);
  for (const reader of working.filter(({isReady}) => isReady)) {
    for (const job of reader.jobs.values()) {
      if (job.asking === 0) job.ticks += 1;
      if (job.ticks > job.maxTicks) reader.isOverdue = true;
    }
    if (reader.isOverdue) reader.process.kill();
  }
  if (working.length > 0) return;
  clearInterval(pool.ticker);
  pool.ticker = undefined;
};

const end = (pool: Pool, reader: Reader): void => {
  pool.readers.delete(reader);
  clearTimeout(reader.timer);
  const lost = [...reader.jobs.values()];
  reader.jobs.clear();
  const repeated: Job[] = [];
  for (const job of lost) {
    if (pool.isClosed) job.reject(closed());
    else if (!reader.isReady) job.reject(new Error('a process that reads mail did not start'));
    else if (job.isRepeated || (reader.isOverdue && job.task.kind === 'report'))
      job.reject(new ReaderLost(reader.isOverdue ? 'time' : 'end'));
    // What waited for DNS was not what kept the reader busy.
    else repeated.push({...job, isRepeated: job.isRepeated || !reader.isOverdue || job.asking === 0, ...attempt(pool)});
  }
  // Behind those that were lost before, which would wait for as long as more are lost.
  pool.queue.splice(pool.queue.findLastIndex(({isRepeated}) => isRepeated) + 1, 0, ...repeated);
  dispatch(pool);
};
