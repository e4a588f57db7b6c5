// Ports to a store that one node has for itself: what replication and the spool need of it, beside what the services need.
import type {ConfigReads, Store, StoreTransaction} from './ports.ts';
import type {HeldState, SpoolOverview} from './quarantine/stored-mail.ts';
import type {Kind, Readable, RecordDigest, RecordKey, StoredRecord} from './records.ts';

export interface RecordReads {
  find(key: RecordKey): Promise<StoredRecord | undefined>;
  /** Those that are there, in no order. */
  findAll(keys: readonly RecordKey[]): Promise<StoredRecord[]>;
  /** All that ever had the name of one of `records`, those themselves included; in no order. */
  withUniqueKeys(records: readonly Pick<StoredRecord, 'kind' | 'unique_key'>[]): Promise<StoredRecord[]>;
  childrenOf(kinds: readonly Kind[], parentIds: readonly number[]): Promise<StoredRecord[]>;
  /** In the order of kind and id, from after `after`. */
  after(after: RecordKey | undefined, limit: number): Promise<StoredRecord[]>;
  /** Of one kind, in the order of their ids, from after `after`. */
  ofKind(kind: Kind, page: {after: number; limit: number}): Promise<StoredRecord[]>;
  /** In the order of kind and id, without what the records say. */
  digestsAfter(after: RecordKey | undefined, limit: number): Promise<RecordDigest[]>;
  /** The greatest id of a kind that `nodeNo` has made, tombstones included; undefined when there is none. */
  greatestId(kind: Kind, nodeNo: number): Promise<number | undefined>;
  /** The sum of all digests, hexadecimal. */
  sum(): Promise<string>;
  /** Where what is shown of the ids after `after`, up to `upTo` where that is given, is not `records`. */
  compareShown(kind: Kind, range: IdRange, records: readonly Readable[]): Promise<Differences>;
}

export interface IdRange {
  after: number;
  upTo: number | undefined;
}

/** The mergeable truth behind all configuration, and the readable form of those records that are live. */
export interface RecordStore extends RecordReads {
  save(records: readonly StoredRecord[]): Promise<void>;
  /** Takes records out that are not what was written: not a deletion, which is a tombstone and told to others. */
  drop(key: RecordKey): Promise<void>;
  writeSum(hex: string, changedAtMs: number): Promise<void>;
  show(kind: Kind, records: readonly Readable[]): Promise<void>;
  hide(kind: Kind, ids: readonly number[]): Promise<void>;
  /** Shows `records` even where others wrongly have what only one may have. */
  restore(kind: Kind, records: readonly Readable[]): Promise<void>;
}

export type ReadableRow = Record<string, string | number | boolean | null> & {id: number};

/** How a readable table differs from its records. */
export interface Differences {
  /** What is not shown, or shown as something else. */
  missing: Readable[];
  /** Rows that no record stands behind, or that say something else. */
  wrong: ReadableRow[];
}

/** Numbers that only ever grow, such as the local part of ids of one kind. */
export interface SequenceReads {
  /** The latest number; 0 before the first. */
  last(sequence: string): Promise<number>;
}

export interface SequenceStore extends SequenceReads {
  /** From 1. */
  next(sequence: string): Promise<number>;
  /** The sequence goes on from `reached` at least. */
  raise(sequence: string, reached: number): Promise<void>;
}

export interface OutboxEntry {
  seq: number;
  event: unknown;
}

export interface OutboxReads {
  /** The number of the newest event there has been; 0 before the first. */
  last(): Promise<number>;
  /** Events up to this number are gone. */
  floor(): Promise<number>;
  /**
   * Events after `after` in order, at most `limit`, and no more than `maxChars` unless the first alone is longer; and, of the same
   * moment, up to where events are gone.
   */
  after(after: number, limits: {limit: number; maxChars: number}): Promise<{floor: number; entries: OutboxEntry[]}>;
  all(): Promise<OutboxEntry[]>;
  depth(): Promise<number>;
}

/** What this node has changed and its peers have to be sent: one row per change, numbered without a gap from the floor on. */
export interface OutboxStore extends OutboxReads {
  /** Leaves one event for every peer; returns its number. */
  append(event: unknown): Promise<number>;
  /** Puts other events in the place of those that have their numbers. */
  rewrite(entries: readonly OutboxEntry[]): Promise<void>;
  /** Forgets events up to `seq`; returns how many there were. */
  prune(seq: number): Promise<number>;
  /**
   * For a database that has gone back in time: what it still has gets numbers above `seq`, which peers have seen of this
   * node's former life. Nothing up to there can be asked for any more.
   */
  renumber(seq: number): Promise<void>;
}

export interface AppliedReads {
  of(origin: number): Promise<number>;
  /** Of every origin there has been, by node number. */
  all(): Promise<Map<number, number>>;
}

/** How far this node has applied the events of each other node. */
export interface AppliedStore extends AppliedReads {
  /** Never goes back. */
  note(origin: number, seq: number): Promise<void>;
}

/** Rows of mails whose bytes are in the spool. */
export interface SpoolRowReads {
  overview(): Promise<SpoolOverview>;
  /** What became of those of the mails that are the spool's. */
  states(queueIds: readonly string[]): Promise<Map<string, HeldState>>;
  /** Mails that are in the spool, by queue id in ascending order, from after `after`. */
  list(after: string, limit: number): Promise<string[]>;
}

export interface SpoolRows extends SpoolRowReads {
  /** Takes a row out that may say anything; whether it was counted is for `recount` to find out. */
  drop(queueId: string): Promise<void>;
  /** Works the totals of held mail out anew, for rows that were changed without them. */
  recount(): Promise<void>;
}

interface NodeReads {
  spooled: SpoolRowReads;
  records: RecordReads;
  sequences: SequenceReads;
  outbox: OutboxReads;
  applied: AppliedReads;
}

export interface NodeTransaction extends StoreTransaction {
  spooled: SpoolRows;
  records: RecordStore;
  sequences: SequenceStore;
  outbox: OutboxStore;
  applied: AppliedStore;
}

/** The store of one node, in a cluster that replicates. */
export interface NodeStore extends Store, NodeReads {
  transaction<T>(work: (tx: NodeTransaction) => Promise<T>): Promise<T>;
  /** Runs `read` on one moment of the store: what is committed meanwhile is in none of its answers. */
  atOneMoment<T>(read: (reads: NodeReads & {config: ConfigReads}) => Promise<T>): Promise<T>;
}
