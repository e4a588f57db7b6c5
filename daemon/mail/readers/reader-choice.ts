// Choice of the process for a mail, among those that run or may be started.
import type {MailContent} from '../../services/intake/mail.ts';
import type {Lookup} from '../lookup.ts';
import type {Known, Task} from './protocol.ts';
import type {Purpose, ReaderProcess} from './reader-process.ts';

export interface Reading {
  content?: MailContent;
  /** For the tasks that ask DNS. */
  lookup?: Lookup;
  /** Answers of DNS that it need not ask for. */
  known?: readonly Known[];
  /** Without an answer, waits for DNS not counted. */
  maxMs?: number;
}

export interface Job extends Reading {
  no: number;
  task: Task;
  isRepeated: boolean;
  /** How many ticks it has worked. */
  ticks: number;
  maxTicks: number;
  /** DNS queries under way. */
  asking: number;
  /** Messages of its reader about it. */
  messages: number;
  sources: unknown[];
  resolve(result: never): void;
  reject(error: unknown): void;
}

export interface Reader {
  process: ReaderProcess;
  purpose: Purpose;
  share: string;
  jobs: Map<number, Job>;
  isReady: boolean;
  isOverdue: boolean;
  /** Messages about no job that it has, since it last got one. */
  strays: number;
  /** Ends it when it does not start, or is no longer needed. */
  timer: NodeJS.Timeout | undefined;
}

/** What may be read by one process. A key is in no process that reads anything but mail of its domain. */
const shareOf = (task: Task): string => (task.kind === 'sign' ? `sign ${task.keys[0]?.domain}` : purposeOf(task));

const purposeOf = ({kind}: Task): Purpose => (kind === 'spf' || kind === 'signatures' ? 'mail' : kind);

export interface Running {
  readers: Set<Reader>;
  maxReaders: number;
  start(what: Pick<Reader, 'share' | 'purpose'>): Reader;
}

/** Whether it is read apart from others of its kind, which do not wait for it: a large mail, or one that may have stopped a reader. */
const isAlone = ({task, content, isRepeated}: Job): boolean =>
  isRepeated || (purposeOf(task) === 'mail' && (content?.sizeBytes ?? 0) > maxBytesTogether);

/** Those of one line wait for each other. */
export const lineOf = (job: Job): string => `${shareOf(job.task)} ${isAlone(job)}`;

/** Without one that is free, `start` is called for another one, while there may be more. */
export const chooseReader = ({readers, maxReaders, start}: Running, job: Job): Reader | undefined => {
  const [share, purpose] = [shareOf(job.task), purposeOf(job.task)];
  const alike = [...readers].filter(reader => reader.purpose === purpose);
  const busy = alike.filter(({jobs}) => jobs.size > 0);
  const alone = busy.filter(({jobs}) => [...jobs.values()].some(isAlone)).length;
  const most = {mail: maxReaders, report: maxReportReaders, sign: maxSigners}[purpose];
  const usable = [...readers].filter(reader => reader.share === share && !reader.isOverdue);
  if ((isAlone(job) ? alone : busy.length - alone) < most) {
    const free = usable.find(({jobs}) => jobs.size === 0);
    // A mail that was lost once gets a new process: another one may be about to end because of what it reads.
    if (free && !job.isRepeated) return free;
    // One more for mail that is read alone, which may take long: it keeps no other mail waiting.
    const counted = alike.length - (isAlone(job) ? 1 : alone);
    if (counted < most || hasEndedIdle(readers, alike)) return start({share, purpose});
  } else if (isAlone(job)) return undefined;
  return usable
    .filter(reader => reader.jobs.size > 0 && mayJoin(reader, job))
    .toSorted((one, other) => working(one).length - working(other).length || one.jobs.size - other.jobs.size)[0];
};

/** As many as the services read at once (reading-order.ts), so that no sender waits for another one. */
const maxReportReaders = 4;
/** Each signs for one domain. A further domain ends the one that has been idle for longest, and starting another one takes 0.1 s. */
const maxSigners = 8;

/** Ends the one that has been idle for longest, which comes first. */
const hasEndedIdle = (readers: Set<Reader>, alike: readonly Reader[]): boolean => {
  const idle = alike.find(({jobs}) => jobs.size === 0);
  idle?.process.kill();
  return idle !== undefined && readers.delete(idle);
};

/** Senders with slow name servers must not keep other mail waiting: a mail that waits for DNS costs a reader next to nothing. */
const maxJobs = 200;
const maxWorking = 8;
const maxBytesTogether = 1024 * 1024;

const working = ({jobs}: Reader): Job[] => [...jobs.values()].filter(({asking}) => asking === 0);

/** One that may have stopped a reader is read alone; a large mail, beside nothing but what waits for DNS. */
const mayJoin = (reader: Reader, job: Job): boolean => {
  const {purpose, jobs} = reader;
  if (purpose !== 'mail' || jobs.size >= maxJobs || [job, ...jobs.values()].some(({isRepeated}) => isRepeated)) return false;
  const together = [job, ...working(reader)];
  const sizeBytes = together.reduce((sum, {content}) => sum + (content?.sizeBytes ?? 0), 0);
  return together.length === 1 || (together.length <= maxWorking && sizeBytes <= maxBytesTogether);
};
