// Check of the write-ahead log before SQLite opens it (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). SQLite reads
// the log up to the first frame with a wrong checksum and takes that for its end: one changed byte silently loses every later
// commit. The log is therefore compared with its index (`-shm`), which has the number of committed frames.
import {readFile} from 'node:fs/promises';
import {endianness} from 'node:os';

const headerBytes = 32;
const frameHeaderBytes = 24;

export interface LostCommits {
  /** Offset in the file of the first unreadable frame; 0 for the header of the file, or when the log is missing. */
  atByte: number;
  /**
   * Whether the database already contains the commits after `atByte`. SQLite must not read the log then, as older pages in it
   * would replace newer ones. `all`: nothing is lost without the log.
   */
  isCopied: 'all' | 'some' | 'no';
}

/** Undefined when no loss of a committed frame can be found. The database must not be written to meanwhile. */
export const findLostCommits = async (database: string): Promise<LostCommits | undefined> => {
  const [log, index] = await Promise.all([readOrEmpty(`${database}-wal`), readOrEmpty(`${database}-shm`)]);
  const noted = readIndex(index);
  if (log.length < headerBytes + frameHeaderBytes)
    return noted && noted.frames > noted.copied ? {atByte: 0, isCopied: 'no'} : undefined;

  const header = readHeader(log);
  if (!header) {
    // The first frame still has the salts of the log.
    const salts = log.subarray(headerBytes + 8, headerBytes + 16);
    return {atByte: 0, isCopied: noted?.salts.equals(salts) ? copiedAfter(noted, 0) : 'no'};
  }
  const {valid, lastCommit} = validFrames(log, header);
  const atByte = headerBytes + valid * (frameHeaderBytes + header.pageBytes);
  // An index with other salts is older than this log; a power cut may cause that.
  if (noted?.salts.equals(header.salts))
    return noted.frames <= lastCommit ? undefined : {atByte, isCopied: copiedAfter(noted, lastCommit)};
  // Each commit is on the disk before the next one begins, so a power cut damages only the last one, which was not acknowledged.
  return commitsAfter(log, header, valid + 1) > 1 ? {atByte, isCopied: 'no'} : undefined;
};

const copiedAfter = ({frames, copied}: Index, readable: number): LostCommits['isCopied'] => {
  if (copied >= frames) return 'all';
  return copied > readable ? 'some' : 'no';
};

interface Header {
  pageBytes: number;
  salts: Buffer;
  isBigEndian: boolean;
  sums: Sums;
}

type Sums = readonly [number, number];

const readHeader = (log: Buffer): Header | undefined => {
  const magic = log.readUInt32BE(0);
  if (magic !== 0x377f0682 && magic !== 0x377f0683) return undefined;
  const isBigEndian = magic === 0x377f0683;
  const sums = checksum(log.subarray(0, 24), [0, 0], isBigEndian);
  if (!areSums(log, 24, sums)) return undefined;
  return {pageBytes: log.readUInt32BE(8), salts: log.subarray(16, 24), isBigEndian, sums};
};

/** Reads frames as SQLite does: the number of valid frames, and the number of the last one that ends a commit, counted from 1. */
const validFrames = (log: Buffer, header: Header): {valid: number; lastCommit: number} => {
  let sums: Sums | undefined = header.sums;
  let valid = 0;
  let lastCommit = 0;
  for (;;) {
    sums = sumsOfFrame(log, header, {number: valid + 1, before: sums});
    if (!sums) return {valid, lastCommit};
    valid += 1;
    if (isCommit(log, header, valid)) lastCommit = valid;
  }
};

/** Number of frames after frame `broken` that end a commit. Each is checked with the sums stored in the frame before it. */
const commitsAfter = (log: Buffer, header: Header, broken: number): number => {
  let commits = 0;
  for (let number = broken + 1; number <= framesIn(log, header); number += 1) {
    const at = frameAt(header, number - 1);
    const before: Sums = [log.readUInt32BE(at + 16), log.readUInt32BE(at + 20)];
    if (isCommit(log, header, number) && sumsOfFrame(log, header, {number, before})) commits += 1;
  }
  return commits;
};

/** Undefined when the frame belongs to another log or is damaged. */
const sumsOfFrame = (log: Buffer, header: Header, {number, before}: {number: number; before: Sums}): Sums | undefined => {
  if (number > framesIn(log, header)) return undefined;
  const at = frameAt(header, number);
  if (!log.subarray(at + 8, at + 16).equals(header.salts)) return undefined;
  const begun = checksum(log.subarray(at, at + 8), before, header.isBigEndian);
  const sums = checksum(log.subarray(at + frameHeaderBytes, at + frameHeaderBytes + header.pageBytes), begun, header.isBigEndian);
  return areSums(log, at + 16, sums) ? sums : undefined;
};

const frameAt = ({pageBytes}: Header, number: number): number => headerBytes + (number - 1) * (frameHeaderBytes + pageBytes);

const framesIn = (log: Buffer, {pageBytes}: Header): number =>
  Math.floor((log.length - headerBytes) / (frameHeaderBytes + pageBytes));

/** The frame that ends a commit contains the size of the database after it. */
const isCommit = (log: Buffer, header: Header, number: number): boolean => log.readUInt32BE(frameAt(header, number) + 4) > 0;

const areSums = (log: Buffer, at: number, [first, second]: Sums): boolean =>
  log.readUInt32BE(at) === first && log.readUInt32BE(at + 4) === second;

const checksum = (bytes: Buffer, [first, second]: Sums, isBigEndian: boolean): Sums => {
  let a = first;
  let b = second;
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + b) >>> 0;
    b = (b + (isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + a) >>> 0;
  }
  return [a, b];
};

interface Index {
  /** Number of frames up to the last commit. */
  frames: number;
  /** Number of frames that are already in the database. */
  copied: number;
  salts: Buffer;
}

const indexHeaderBytes = 48;

/**
 * The index is shared memory that survives the process but not a power cut, after which it is older or missing. Its header is
 * stored twice: a process that dies while writing leaves one copy intact.
 */
const readIndex = (index: Buffer): Index | undefined => {
  if (index.length < 2 * indexHeaderBytes + 4) return undefined;
  const copied = readNative(index, 2 * indexHeaderBytes);
  const headers = [0, indexHeaderBytes].flatMap(at => {
    const header = index.subarray(at, at + indexHeaderBytes);
    const [first, second] = checksum(header.subarray(0, 40), [0, 0], isBigEndianMachine);
    const isWhole = header[12] !== 0 && readNative(header, 40) === first && readNative(header, 44) === second;
    return isWhole ? [{frames: readNative(header, 16), copied, salts: header.subarray(32, 40)}] : [];
  });
  return headers.sort((a, b) => b.frames - a.frames)[0];
};

const isBigEndianMachine = endianness() === 'BE';
const readNative = (bytes: Buffer, at: number): number => (isBigEndianMachine ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));

const readOrEmpty = async (path: string): Promise<Buffer> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
