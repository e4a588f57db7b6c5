// Makes a damaged write-ahead log one that SQLite reads as far as can be: every frame can be held against the sums that the one before
// it says it has, so it is known which are damaged, and those after them are good.
import {open, readFile, rm, writeFile} from 'node:fs/promises';
import {
  checksum,
  frameAt,
  frameHeaderBytes,
  framesIn,
  type Header,
  headerBytes,
  type Index,
  isBigEndianMachine,
  isCommit,
  readHeader,
  readIndex,
  readNative,
  readOrEmpty,
  type Sums,
  sumsOfFrame,
} from './wal-file.ts';

export interface MendedLog {
  /** Commits that are gone, the latest ones; undefined when nobody can tell how many. */
  lostCommits: number | undefined;
}

/** Nobody may have the database open. */
export const mendLog = async (database: string): Promise<MendedLog> => {
  const [log, indexBytes] = await Promise.all([readOrEmpty(`${database}-wal`), readOrEmpty(`${database}-shm`)]);
  const index = readIndex(indexBytes);
  const header = readHeader(log) ?? (await likelyHeader(log, database));
  const isIndexOfLog = header !== undefined && index?.salts.equals(header.salts) === true;
  const noted = isIndexOfLog ? index : undefined;
  // All of it is in the database already.
  if (index && index.copied >= index.frames && (noted || !header)) return drop(database, 0);
  if (!header) return drop(database, undefined);

  correctBits(log, header, noted?.frames);
  const intact = intactFrames(log, header);
  const last = noted?.frames ?? intact.findLast(number => isCommit(log, header, number)) ?? 0;
  const upTo = lastCommitBefore(firstMissed({log, header, intact, last, noted, indexBytes}), {log, header, intact, last});
  const lostCommits = last > framesIn(log, header) ? undefined : commitsBetween(log, header, {after: upTo, last});
  const kept = intact.filter(number => number <= upTo);
  if (kept.length === 0) return drop(database, lostCommits);

  await writeLog(database, rewritten(log, header, kept));
  return {lostCommits};
};

/** Where the log's own header is damaged, its first frames say what it must have said. */
const likelyHeader = async (log: Buffer, database: string): Promise<Header | undefined> => {
  if (log.length < headerBytes + frameHeaderBytes) return undefined;
  const pageBytes = (await readFile(database)).readUInt16BE(16);
  const salts = log.subarray(headerBytes + 8, headerBytes + 16);
  const sums: Sums = [log.readUInt32BE(24), log.readUInt32BE(28)];
  return {pageBytes: pageBytes === 1 ? 65_536 : pageBytes, salts, sums, isBigEndian: isBigEndianMachine};
};

const intactFrames = (log: Buffer, header: Header): number[] =>
  Array.from({length: framesIn(log, header)}, (_, n) => n + 1).filter(number => {
    const at = frameAt(header, number - 1);
    const before: Sums = number === 1 ? header.sums : [log.readUInt32BE(at + 16), log.readUInt32BE(at + 20)];
    return sumsOfFrame(log, header, {number, before}) !== undefined;
  });

/** Where a single bit has changed, only one is right: the sums have 64 bits. More than a few frames are not worth the time. */
const correctBits = (log: Buffer, header: Header, last = framesIn(log, header)): void => {
  let left = 8;
  let before: Sums = header.sums;
  for (let number = 1; number <= Math.min(last, framesIn(log, header)) && left > 0; number += 1) {
    const sums = sumsOfFrame(log, header, {number, before});
    if (!sums && correctBit(log, header, {number, before})) left -= 1;
    else if (!sums) left -= 4;
    const at = frameAt(header, number);
    before = [log.readUInt32BE(at + 16), log.readUInt32BE(at + 20)];
  }
};

const correctBit = (log: Buffer, header: Header, {number, before}: {number: number; before: Sums}): boolean => {
  const begin = frameAt(header, number);
  for (let at = begin; at < begin + frameHeaderBytes + header.pageBytes; at += 1)
    for (let bit = 1; bit < 256; bit *= 2) {
      log[at] = (log[at] ?? 0) ^ bit;
      if (sumsOfFrame(log, header, {number, before})) return true;
      log[at] = (log[at] ?? 0) ^ bit;
    }
  return false;
};

const commitsBetween = (log: Buffer, header: Header, {after, last}: {after: number; last: number}): number =>
  Array.from({length: last - after}, (_, n) => after + 1 + n).filter(number => isCommit(log, header, number)).length;

interface Frames {
  log: Buffer;
  header: Header;
  intact: number[];
  last: number;
}

/** The number of the first damaged frame whose page is nowhere else: neither in the database, nor in a later frame. */
const firstMissed = ({log, header, intact, last, noted, indexBytes}: Frames & {noted: Index | undefined; indexBytes: Buffer}) => {
  const good = new Set(intact);
  const latest = new Map(
    intact.filter(number => number <= last).map(number => [log.readUInt32BE(frameAt(header, number)), number]),
  );
  for (let number = 1; number <= last; number += 1) {
    if (good.has(number) || (noted && number <= noted.copied)) continue;
    // The number of the page may be what has changed: it counts where the index says the same.
    const page = number <= framesIn(log, header) ? log.readUInt32BE(frameAt(header, number)) : undefined;
    const isSure = noted !== undefined && page !== undefined && page === pageInIndex(indexBytes, number);
    if (!isSure || (latest.get(page) ?? 0) < number) return number;
  }
  return last + 1;
};

/** https://www.sqlite.org/walformat.html: blocks of 32 KiB, each a list of page numbers and a hash table; the header is in the first. */
const pageInIndex = (index: Buffer, number: number): number | undefined => {
  const inFirst = 4062;
  const beyond = number - inFirst - 1;
  const at = beyond < 0 ? 136 + 4 * (number - 1) : (1 + Math.floor(beyond / 4096)) * 32_768 + 4 * (beyond % 4096);
  return at + 4 <= index.length ? readNative(index, at) : undefined;
};

const lastCommitBefore = (missed: number, {log, header, intact, last}: Frames): number =>
  intact.findLast(number => number < missed && number <= last && isCommit(log, header, number)) ?? 0;

/** The frames one after the other, with the sums that follow from that. */
const rewritten = (log: Buffer, header: Header, kept: number[]): Buffer => {
  const begin = Buffer.alloc(headerBytes);
  begin.writeUInt32BE(header.isBigEndian ? 0x377f0683 : 0x377f0682, 0);
  begin.writeUInt32BE(3_007_000, 4);
  begin.writeUInt32BE(header.pageBytes, 8);
  header.salts.copy(begin, 16);
  let sums = checksum(begin.subarray(0, 24), [0, 0], header.isBigEndian);
  writeSums(begin, 24, sums);
  const frames = kept.map(number => {
    const at = frameAt(header, number);
    const frame = Buffer.from(log.subarray(at, at + frameHeaderBytes + header.pageBytes));
    sums = checksum(frame.subarray(0, 8), sums, header.isBigEndian);
    sums = checksum(frame.subarray(frameHeaderBytes), sums, header.isBigEndian);
    writeSums(frame, 16, sums);
    return frame;
  });
  return Buffer.concat([begin, ...frames]);
};

const writeSums = (bytes: Buffer, at: number, [first, second]: Sums): void => {
  bytes.writeUInt32BE(first, at);
  bytes.writeUInt32BE(second, at + 4);
};

const writeLog = async (database: string, bytes: Buffer): Promise<void> => {
  await rm(`${database}-shm`, {force: true});
  await writeFile(`${database}-wal`, bytes);
  const file = await open(`${database}-wal`, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
};

const drop = async (database: string, lostCommits: number | undefined): Promise<MendedLog> => {
  for (const end of ['-wal', '-shm']) await rm(`${database}${end}`, {force: true});
  return {lostCommits};
};
