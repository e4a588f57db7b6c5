// Follower of the journal of systemd, by `journalctl`. The place is a cursor of the journal.
import {type ChildProcess, spawn} from 'node:child_process';
import {z} from 'zod';
import {childEnvironment} from '../../../shared/child-environment.ts';
import {jsonIn} from '../../../shared/json-in.ts';
import type {PostfixLine} from '../../services/events/postfix-line.ts';
import {atOnce, type LogFollower, type LogFollowerNeeds, LogUnreadable, placeMs, settleMs} from './log-follower.ts';
import {maxLineChars, readMessage} from './log-line.ts';

interface Needs extends LogFollowerNeeds {
  monotonic: () => number;
  settleMs?: number;
  /** The program that is run. */
  journalctl?: string;
}

/** Before the first message there is no cursor. */
const placeSchema = z.object({kind: z.literal('journal'), cursor: z.string().max(1000).optional(), since: z.number()});
type Place = z.infer<typeof placeSchema>;

interface Entry {
  cursor: string;
  /** When it came, by the clock that never jumps, and when it was logged. */
  cameAt: number;
  at: number;
  line: PostfixLine | undefined;
}

/** Entries that wait here; `journalctl` waits with the others. */
const maxWaiting = 5000;
const restartMs = 10_000;
const maxStderrChars = 4096;

export const createJournal = (needs: Needs): LogFollower => {
  const {readPlace, take, now, monotonic, settleMs: settled = settleMs, journalctl = 'journalctl'} = needs;
  let place: Place | undefined;
  let kept = {cursor: undefined as string | undefined, at: 0};
  let running: RunningJournalctl | undefined;
  let startedAt = Number.NEGATIVE_INFINITY;
  /** Why the run before this one ended. */
  let formerFault: string | undefined;
  let isStopped = false;

  const keep = async (lines: readonly PostfixLine[], next: Place): Promise<void> => {
    await take(lines, JSON.stringify(next));
    place = next;
    kept = {cursor: next.cursor, at: monotonic()};
  };

  const begin = async (): Promise<Place> => {
    const known = parsedPlace(await readPlace());
    const first = known ?? {kind: 'journal' as const, since: now()};
    if (!known) await keep([], first);
    place = first;
    return first;
  };

  const takeSome = async (entries: readonly Entry[], {since}: Place): Promise<void> => {
    const last = entries.at(-1);
    if (!last) return;
    const lines = entries.flatMap(({line}) => line ?? []);
    const next = {kind: 'journal' as const, cursor: last.cursor, since};
    if (lines.length > 0) await keep(lines, next);
    else place = next;
  };

  const isSettled = ({at, cameAt}: Entry): boolean => at <= now() - settled || cameAt <= monotonic() - settled;

  const ensureRunning = (from: Place): RunningJournalctl => {
    if (running && !running.hasEnded()) return running;
    formerFault = running?.fault();
    if (formerFault !== undefined && monotonic() - startedAt < restartMs) throw new LogUnreadable(formerFault);
    startedAt = monotonic();
    running = runJournalctl(journalctl, from, monotonic);
    return running;
  };

  const takeSettled = async ({waiting, goOn}: RunningJournalctl, from: Place): Promise<void> => {
    while (!isStopped) {
      const unsettled = waiting.findIndex(entry => !isSettled(entry));
      const some = waiting.slice(0, Math.min(atOnce, unsettled < 0 ? waiting.length : unsettled));
      if (some.length === 0) return;
      await takeSome(some, from);
      waiting.splice(0, some.length);
      goOn();
    }
  };

  const stop = (): void => {
    isStopped = true;
    running?.stop();
  };

  return {
    async follow() {
      const from = place ?? (await begin());
      if (isStopped) return;
      const current = ensureRunning(from);
      await takeSettled(current, from);
      if (place && place.cursor !== kept.cursor && monotonic() - kept.at >= placeMs) await keep([], place);
      // One that ends again and again is one problem, and not a new one each time.
      const hasLasted = monotonic() - startedAt >= settled;
      const fault = current.fault() ?? (hasLasted ? undefined : formerFault);
      if (fault !== undefined) throw new LogUnreadable(fault);
    },

    stop,

    async close() {
      stop();
      if (place && place.cursor !== kept.cursor) await keep([], place).catch(() => undefined);
    },
  };
};

type RunningJournalctl = ReturnType<typeof runJournalctl>;

const parsedPlace = (text: string | undefined): Place | undefined => placeSchema.safeParse(jsonIn(text ?? '')).data;

/** Messages of the facility `mail`, from a place on, also those that are yet to come. */
const argumentsFor = ({cursor, since}: Place): string[] => [
  ...['--follow', '--no-tail', '--no-pager', '--output=json', '--output-fields=SYSLOG_IDENTIFIER,MESSAGE'],
  cursor === undefined ? `--since=@${(since / 1000).toFixed(3)}` : `--after-cursor=${cursor}`,
  'SYSLOG_FACILITY=2',
];

const runJournalctl = (program: string, place: Place, monotonic: () => number) => {
  const env = childEnvironment({PATH: '/usr/bin:/bin', LC_ALL: 'C'});
  // Without free file descriptors a program has no streams.
  const child: ChildProcess = spawn(program, argumentsFor(place), {stdio: ['ignore', 'pipe', 'pipe'], env, cwd: '/'});
  const waiting: Entry[] = [];
  let stderr = '';
  let failure: NodeJS.ErrnoException | undefined;
  let hasEnded = false;
  child.on('error', error => {
    failure = error;
    hasEnded = true;
  });
  child.on('close', () => {
    hasEnded = true;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < maxStderrChars) stderr += text;
  });
  const lines = createLines(text => {
    const entry = entryIn(text, monotonic());
    if (entry) waiting.push(entry);
    if (waiting.length >= maxWaiting) child.stdout?.pause();
  });
  child.stdout?.on('data', lines);

  return {
    waiting,
    goOn: () => void (waiting.length < maxWaiting && child.stdout?.isPaused() && child.stdout.resume()),
    hasEnded: () => hasEnded && waiting.length === 0,
    fault: () => (failure ? faultOf(failure) : faultIn(stderr, hasEnded)),
    stop: () => void child.kill(),
  };
};

const faultOf = ({code}: NodeJS.ErrnoException): string =>
  code === 'ENOENT' ? 'journalctl is not installed: set postfix.log_file to the file' : `journalctl cannot be run (${code})`;

const mayNot = /not seeing messages from other users|insufficient permissions/;

const faultIn = (stderr: string, hasEnded: boolean): string | undefined => {
  if (mayNot.test(stderr))
    return 'this node may not read the journal: put its user into the group systemd-journal, and restart mfd';
  return hasEnded ? `journalctl has ended: ${stderr.split('\n')[0]?.slice(0, 200) || 'it gave no reason'}` : undefined;
};

/** Splits bytes into lines; lines that are too long are left out. */
const createLines = (onLine: (text: string) => void) => {
  const maxBytes = 8 * maxLineChars;
  let parts: Buffer[] = [];
  let length = 0;
  return (chunk: Buffer): void => {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      if (length + end - start <= maxBytes) onLine(Buffer.concat([...parts, chunk.subarray(start, end)]).toString());
      [parts, length, start] = [[], 0, end + 1];
    }
    length += chunk.length - start;
    if (length <= maxBytes) parts.push(chunk.subarray(start));
    else parts = [];
  };
};

const entrySchema = z.object({
  __CURSOR: z.string().max(1000),
  __REALTIME_TIMESTAMP: z.string().regex(/^\d{1,17}$/),
  SYSLOG_IDENTIFIER: z.unknown(),
  /** Bytes where it is no UTF-8; null where it is too long. */
  MESSAGE: z.unknown(),
});

const entryIn = (text: string, cameAt: number): Entry | undefined => {
  const parsed = entrySchema.safeParse(jsonIn(text));
  if (!parsed.success) return undefined;
  const {__CURSOR: cursor, __REALTIME_TIMESTAMP: time, SYSLOG_IDENTIFIER: identifier, MESSAGE: message} = parsed.data;
  const at = Number(time) / 1000;
  const said = Array.isArray(message) ? Buffer.from(message as number[]).toString() : message;
  const isText = typeof identifier === 'string' && typeof said === 'string';
  return {cursor, cameAt, at, line: isText ? readMessage({identifier, text: said, at}) : undefined};
};
