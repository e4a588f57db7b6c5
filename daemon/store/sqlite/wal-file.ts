// The write-ahead log as it lies on the disk (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). SQLite reads it up to the
// first frame whose checksum is wrong and takes that for its end: one changed byte, and every commit after it is gone without a word.
// So it is read here before SQLite does, and held against what the index of the log (`-shm`) says that there was.
import {readFile} from 'node:fs/promises';

const headerBytes = 32;
const frameHeaderBytes = 24;

export interface LostCommits {
  /** Where in the file the first frame lies that cannot be read; 0 for the file's own header, or a log that is gone. */
  atByte: number;
  /**
   * Whether the database itself has what comes after that: SQLite must not read the log then, whose older pages would stand before
   * newer ones. `all`: nothing is lost without the log.
   */
  isCopied: 'all' | 'some' | 'no';
}

/** Undefined when the log says all that was committed, as far as anybody can tell. Nobody may be writing to the database. */
export const findLostCommits = async (database: string): Promise<LostCommits | undefined> => {
  const [log, index] = await Promise.all([readOrEmpty(`${database}-wal`), readOrEmpty(`${database}-shm`)]);
  const noted = readIndex(index);
  if (log.length < headerBytes + frameHeaderBytes)
    return noted && noted.frames > noted.copied ? {atByte: 0, isCopied: 'no'} : undefined;

  const header = readHeader(log);
  if (!header) {
    // Its first frame still says which log it is.
    const salts = log.subarray(headerBytes + 8, headerBytes + 16);
    return {atByte: 0, isCopied: noted?.salts.equals(salts) ? copiedAfter(noted, 0) : 'no'};
  }
  const {valid, lastCommit} = validFrames(log, header);
  const atByte = headerBytes + valid * (frameHeaderBytes + header.pageBytes);
  // An index that was written to before the log was begun anew, and never after, is what a power cut may leave.
  if (noted?.salts.equals(header.salts))
    return noted.frames <= lastCommit ? undefined : {atByte, isCopied: copiedAfter(noted, lastCommit)};
  // Each commit is on the disk before the next one begins: a power cut spoils the last one at most, which nobody was told of.
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

/** As SQLite reads it: how many frames there are, and the number of the last one that ends a commit; they count from 1. */
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

/** Ends of commits among the frames after number `broken`: each is held against the sums that the one before it says it has. */
const commitsAfter = (log: Buffer, header: Header, broken: number): number => {
  let commits = 0;
  for (let number = broken + 1; number <= framesIn(log, header); number += 1) {
    const at = frameAt(header, number - 1);
    const before: Sums = [log.readUInt32BE(at + 16), log.readUInt32BE(at + 20)];
    if (isCommit(log, header, number) && sumsOfFrame(log, header, {number, before})) commits += 1;
  }
  return commits;
};

/** Undefined when the frame is not one of this log, or not what was written. */
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

/** The frame that ends a commit has the size of the database after it. */
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
  /** Of the last commit. */
  frames: number;
  /** Frames that are in the database itself by now. */
  copied: number;
  salts: Buffer;
}

const indexHeaderBytes = 48;

/**
 * The index is memory that outlives the process, not the machine: after a power cut it is older, or nothing at all. Its header is there
 * twice; a process that ends while it writes leaves one of the two whole.
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

const isBigEndianMachine = new Uint8Array(new Uint32Array([1]).buffer)[0] === 0;
const readNative = (bytes: Buffer, at: number): number => (isBigEndianMachine ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));

const readOrEmpty = async (path: string): Promise<Buffer> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
