// Follower of a log file. The place in it is a file, an offset, and what stands before the offset: by that a file is found again after it was
// renamed or copied, and a file that was truncated or replaced is not taken for the same.
//
// at the end, and the path leads to another file → the files between, oldest first → the file at the path
// shorter than the place, or other bytes before it → the copy that has them, if there is one → the file at the path, from its beginning
import {createHash} from 'node:crypto';
import {constants} from 'node:fs';
import {access, type FileHandle, open, readdir, stat} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';
import {z} from 'zod';
import {jsonIn} from '../../../shared/json-in.ts';
import type {PostfixLine} from '../../services/events/postfix-line.ts';
import {atOnce, type LogFollower, type LogFollowerNeeds, LogUnreadable, placeMs, settleMs} from './log-follower.ts';
import {createLineReader} from './log-line.ts';

interface Needs extends LogFollowerNeeds {
  path: string;
  /** Milliseconds, by a clock that never jumps. */
  monotonic: () => number;
  settleMs?: number;
}

const tailBytes = 256;
const chunkBytes = 256 * 1024;
const lineFeed = 10;
/** The log may be away for a moment while it is rotated. */
const awayMs = 10_000;

const placeSchema = z.object({
  kind: z.literal('file'),
  inode: z.string(),
  offset: z.int().min(0),
  /** The number of bytes before the offset, and their hash. */
  tail: z.tuple([z.int().min(0).max(tailBytes), z.string()]),
  /** When the file was written to last, as far as was seen. */
  modifiedMs: z.number(),
});
type Place = z.infer<typeof placeSchema>;

/** A file that is being read. */
interface Reading {
  file: FileHandle;
  inode: string;
  modifiedMs: number;
  /** The bytes before it were taken, and the last of them. */
  offset: number;
  tail: Buffer;
  /** Sizes that the file had, and when; oldest first. */
  sizes: {size: number; at: number}[];
}

interface Candidate {
  path: string;
  inode: string;
  size: number;
  modifiedMs: number;
}

export const createLogFile = (needs: Needs): LogFollower => {
  const {path, readPlace, now, monotonic} = needs;
  const taker = createTaker(needs);
  let isStopped = false;
  const {takeSettled, isOver} = createSettledReader(needs, {takeChunk: taker.takeChunk, isStopped: () => isStopped});
  let reading: Reading | undefined;
  let seenAt = 0;

  const goTo = async (next: Reading | undefined): Promise<void> => {
    await reading?.file.close().catch(() => undefined);
    reading = next;
  };

  /** The file that was begun after this one; undefined where there is none yet. */
  const nextAfter = async (current: Reading): Promise<Reading | undefined> => {
    const live = await candidateAt(path);
    if (live) seenAt = monotonic();
    else if (monotonic() - seenAt > awayMs) throw unreadable('ENOENT');
    if (!live || live.inode === current.inode || live.size === 0 || !(await isOver(current))) return undefined;
    const {mtimeMs} = await ofLog(current.file.stat());
    const between = (await rotated(path)).filter(({inode, modifiedMs}) => inode !== current.inode && modifiedMs > mtimeMs);
    const next = between[0] ?? live;
    // An editor writes another file with the same lines.
    return (await findPlace([next], placeOf(current))) ?? (await openAt(next, 0));
  };

  const begin = async (): Promise<Reading> => {
    const place = parsedPlace(await readPlace());
    const {opened, isKept} = await openFirst(path, place).catch(async error => {
      if (error instanceof LogUnreadable && !place) await taker.keep([], nowhere(now()));
      throw error;
    });
    reading = opened;
    seenAt = monotonic();
    if (isKept) taker.noteKept(opened);
    else await taker.keep([], opened);
    return opened;
  };

  return {
    async follow() {
      let current = reading ?? (await begin());
      while (!isStopped) {
        const isSame = await takeSettled(current);
        if (isStopped) break;
        const next = isSame ? await nextAfter(current) : await afterTruncation(path, current);
        if (!next) break;
        await goTo(next);
        current = next;
      }
      await taker.keepAfter(placeMs, current);
    },

    stop() {
      isStopped = true;
    },

    async close() {
      isStopped = true;
      if (reading) await taker.keepAfter(0, reading).catch(() => undefined);
      await goTo(undefined);
    },
  };
};

/** Takes lines, and keeps the place after them. */
const createTaker = ({take, now, monotonic}: Pick<Needs, 'take' | 'now' | 'monotonic'>) => {
  const readLine = createLineReader(now);
  let kept = {place: '', at: Number.NEGATIVE_INFINITY};

  const noteKept = ({inode, offset}: Pick<Reading, 'inode' | 'offset'>): void => {
    kept = {place: `${inode} ${offset}`, at: monotonic()};
  };
  const keep = async (lines: readonly PostfixLine[], at: PlaceFacts): Promise<void> => {
    await take(lines, JSON.stringify(placeOf(at)));
    noteKept(at);
  };

  return {
    keep,
    noteKept,
    /** Keeps the place if the last one was kept `ms` ago. */
    async keepAfter(ms: number, current: Reading): Promise<void> {
      const {inode, offset} = current;
      if (kept.place !== `${inode} ${offset}` && monotonic() - kept.at >= ms) await keep([], current);
    },
    async takeChunk(current: Reading, chunk: Buffer): Promise<void> {
      const {offset, tail} = current;
      const advance = async (length: number, lines: readonly PostfixLine[]) => {
        const next = {offset: offset + length, tail: lastOf(tail, chunk.subarray(0, length))};
        if (lines.length > 0) await keep(lines, {...current, ...next});
        Object.assign(current, next);
      };
      let lines: PostfixLine[] = [];
      // First the rest of a line that is too long, or of one that was being written when this node began to read.
      let at = offset > 0 && tail.at(-1) !== lineFeed ? chunk.indexOf(lineFeed) + 1 : 0;
      for (let end = chunk.indexOf(lineFeed, at); end >= 0; end = chunk.indexOf(lineFeed, at)) {
        const line = readLine(chunk.toString('utf8', at, end));
        at = end + 1;
        if (line && lines.push(line) >= atOnce) {
          await advance(at, lines);
          lines = [];
        }
      }
      await advance(chunk.length, lines);
    },
  };
};

/** Reads what is old enough. */
const createSettledReader = (
  {monotonic, settleMs: settled = settleMs}: Pick<Needs, 'monotonic' | 'settleMs'>,
  {takeChunk, isStopped}: {takeChunk: TakeChunk; isStopped(): boolean},
) => {
  /** Takes what is old enough. False when the file is not the one that was read before: it was truncated. */
  const takeSettled = async (current: Reading): Promise<boolean> => {
    const {size, mtimeMs} = await ofLog(current.file.stat());
    current.modifiedMs = mtimeMs;
    current.sizes.push({size, at: monotonic()});
    const old = current.sizes.findLastIndex(({at}) => at <= monotonic() - settled);
    const limit = current.sizes[old]?.size ?? 0;
    current.sizes.splice(0, old);
    while (!isStopped()) {
      const {offset, tail} = current;
      const wanted = Math.max(0, Math.min(chunkBytes, limit - offset));
      const bytes = await readAt(current.file, offset - tail.length, tail.length + wanted);
      if (!bytes.subarray(0, tail.length).equals(tail)) return false;
      const chunk = wholeLines(bytes.subarray(tail.length));
      if (chunk.length === 0) break;
      await takeChunk(current, chunk);
    }
    return true;
  };

  /** Whether nothing more comes in a file that was renamed: all of it was taken, and it has not grown for a while. */
  const isOver = async ({file, offset, sizes: [old]}: Reading): Promise<boolean> => {
    const {size} = await ofLog(file.stat());
    const isOld = old !== undefined && old.size === size && old.at <= monotonic() - settled;
    return isOld && wholeLines(await readAt(file, offset, chunkBytes)).length === 0;
  };

  return {takeSettled, isOver};
};

type TakeChunk = (current: Reading, chunk: Buffer) => Promise<void>;

/** The file with the place that was kept, or where to begin. */
const openFirst = async (path: string, place: Place | undefined): Promise<{opened: Reading; isKept: boolean}> => {
  const live = await candidateAt(path);
  const files = [...(await rotated(path)), ...(live ? [live] : [])];
  const found = place && (await findPlace(files, place));
  if (found) return {opened: found, isKept: true};
  const next = place ? (files.find(({modifiedMs}) => modifiedMs > place.modifiedMs) ?? live) : live;
  if (!next) throw unreadable('ENOENT');
  // Mail from before this node first looked is not known to it.
  return {opened: await openAt(next, place ? 0 : next.size), isKept: false};
};

/** Where to go on in a log that was truncated: the rest may be in a copy. */
const afterTruncation = async (path: string, former: Reading): Promise<Reading> => {
  const others = (await rotated(path)).filter(({inode}) => inode !== former.inode);
  const copy = await findPlace(others, placeOf(former));
  if (copy) return copy;
  const live = await candidateAt(path);
  if (!live) throw unreadable('ENOENT');
  return openAt(live, 0);
};

/** A log that could not be read at the first look: it is read from its beginning, and what was rotated since. */
const nowhere = (nowMs: number): PlaceFacts => ({inode: '', modifiedMs: nowMs, offset: 0, tail: Buffer.alloc(0)});

type PlaceFacts = Pick<Reading, 'inode' | 'modifiedMs' | 'offset' | 'tail'>;

const placeOf = ({inode, modifiedMs, offset, tail}: PlaceFacts): Place => ({
  kind: 'file',
  inode,
  offset,
  tail: [tail.length, hashOf(tail)],
  modifiedMs,
});

/** Undefined for the place in something else than a file. */
const parsedPlace = (text: string | undefined): Place | undefined => placeSchema.safeParse(jsonIn(text ?? '')).data;

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url').slice(0, 22);

const lastOf = (tail: Buffer, bytes: Buffer): Buffer =>
  Buffer.from(bytes.length >= tailBytes ? bytes.subarray(-tailBytes) : Buffer.concat([tail, bytes]).subarray(-tailBytes));

/** Up to the last line feed; all of it where a line does not end. */
const wholeLines = (bytes: Buffer): Buffer => {
  const length = bytes.lastIndexOf(lineFeed) + 1;
  return length === 0 && bytes.length >= chunkBytes ? bytes : bytes.subarray(0, length);
};

/** The file that has the bytes before a place; opened there. */
const findPlace = async (files: readonly Candidate[], {inode, offset, tail, modifiedMs}: Place): Promise<Reading | undefined> => {
  const [length, hash] = tail;
  const likelyFirst = files.toSorted((a, b) => Number(b.inode === inode) - Number(a.inode === inode));
  for (const candidate of likelyFirst) {
    if (candidate.size < offset || (length === 0 && candidate.inode !== inode)) continue;
    const opened = await openAt(candidate, offset);
    if (opened.tail.length === length && hashOf(opened.tail) === hash) return {...opened, modifiedMs};
    await opened.file.close();
  }
  return undefined;
};

/** As long as it is the same file that the candidate was. */
const openAt = async ({path}: Candidate, offset: number): Promise<Reading> => {
  // A pipe must not stop this node.
  const file = await ofLog(open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    const {ino, mtimeNs} = await ofLog(file.stat({bigint: true}));
    const length = Math.min(offset, tailBytes);
    const tail = await readAt(file, offset - length, length);
    return {file, inode: String(ino), modifiedMs: Number(mtimeNs) / 1e6, offset, sizes: [], tail};
  } catch (error) {
    await file.close();
    throw error;
  }
};

const readAt = async (file: FileHandle, position: number, length: number): Promise<Buffer> => {
  const {buffer, bytesRead} = await ofLog(file.read(Buffer.allocUnsafe(length), 0, length, position));
  return buffer.subarray(0, bytesRead);
};

/** Undefined when there is nothing at the path. */
const candidateAt = async (path: string): Promise<Candidate | undefined> => {
  const found = await stat(path, {bigint: true}).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw unreadable(error.code);
  });
  if (!found) return undefined;
  if (!found.isFile()) throw unreadable('EISDIR');
  return {path, inode: String(found.ino), size: Number(found.size), modifiedMs: Number(found.mtimeNs) / 1e6};
};

/** Earlier files of the log that were not compressed, oldest first: `mail.log.1`, `mail.log-20260301`. Those that may not be read do not count. */
const rotated = async (path: string): Promise<Candidate[]> => {
  const name = basename(path);
  const all = await readdir(dirname(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES') return [];
    throw unreadable(error.code);
  });
  const names = all.filter(other => other.startsWith(name) && /^[.-]\d[\d.-]*$/.test(other.slice(name.length)));
  const found = await Promise.all(
    names.map(async other => {
      const file = join(dirname(path), other);
      const isReadable = await access(file, constants.R_OK).then(
        () => true,
        () => false,
      );
      return isReadable ? candidateAt(file).catch(() => undefined) : undefined;
    }),
  );
  return found.flatMap(one => one ?? []).toSorted((a, b) => a.modifiedMs - b.modifiedMs);
};

const unreadable = (code: string | undefined): LogUnreadable => {
  switch (code) {
    case 'ENOENT':
      return new LogUnreadable('there is no such file: correct postfix.log_file, or see whether Postfix logs at all');
    case 'EACCES':
    case 'EPERM':
      return new LogUnreadable(
        'this node may not read it: put its user into the group of that file (often adm), let the group read it, and restart mfd',
      );
    case 'EISDIR':
      return new LogUnreadable('it is no file: correct postfix.log_file');
    default:
      return new LogUnreadable(`it cannot be read (${code})`);
  }
};

/** The message of an error of the file system has its path. */
const ofLog = async <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: NodeJS.ErrnoException) => {
    throw unreadable(error.code);
  });
