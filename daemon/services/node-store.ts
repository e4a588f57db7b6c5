// Ports to the store of a single node: what replication and the spool need from it, in addition to what the services need.
import type {ConfigReads, SampledHeldQuery, Store, StoreTransaction} from './ports.ts';
import type {HeldState, SpoolOverview} from './quarantine/stored-mail.ts';
import type {Kind, RecordDigest, RecordKey, StoredRecord} from './records.ts';

export interface RecordReads {
  find(key: RecordKey): Promise<StoredRecord | undefined>;
  /** The records that exist, in no particular order. */
  findAll(keys: readonly RecordKey[]): Promise<StoredRecord[]>;
  /** All records that have or had the unique key of one of `records`, including `records` themselves; in no particular order. */
  withUniqueKeys(records: readonly Pick<StoredRecord, 'kind' | 'unique_key'>[]): Promise<StoredRecord[]>;
  childrenOf(kinds: readonly Kind[], parentIds: readonly number[]): Promise<StoredRecord[]>;
  /** Records after `after`, ordered by kind and id. */
  after(after: RecordKey | undefined, limit: number): Promise<StoredRecord[]>;
  /** Records of one kind after the id `after`, ordered by id. */
  ofKind(kind: Kind, page: {after: number; limit: number}): Promise<StoredRecord[]>;
  /** Keys and digests after `after`, ordered by kind and id, without the fields. */
  digestsAfter(after: RecordKey | undefined, limit: number): Promise<RecordDigest[]>;
  /** The greatest id of a kind that `nodeNo` has created, including tombstones; undefined when there is none. */
  greatestId(kind: Kind, nodeNo: number): Promise<number | undefined>;
  /** The sum of all digests, hexadecimal. */
  sum(): Promise<string>;
}

/** The replicated records, which are the configuration. */
export interface RecordStore extends RecordReads {
  /** Also forgets the uses of keys that are not live any more. */
  save(records: readonly StoredRecord[]): Promise<void>;
  /** Drops a damaged record. This is not a deletion: a deletion writes a tombstone and is replicated. */
  drop(key: RecordKey): Promise<void>;
  writeSum(hex: string, changedAtMs: number): Promise<void>;
}

/** Numbers that only increase, such as the local part of the ids of one kind. */
interface SequenceReads {
  /** The latest number; 0 before the first. */
  last(sequence: string): Promise<number>;
}

export interface SequenceStore extends SequenceReads {
  /** The next number; the first is 1. */
  next(sequence: string): Promise<number>;
  /** Raises the latest number to at least `reached`. */
  raise(sequence: string, reached: number): Promise<void>;
}

export interface OutboxEntry {
  seq: number;
  event: unknown;
}

export interface OutboxReads {
  /** The number of the newest event ever appended; 0 before the first. */
  last(): Promise<number>;
  /** Events up to and including this number have been deleted. */
  floor(): Promise<number>;
  /**
   * Events after `after` in order: at most `limit`, and at most `maxChars` unless the first event alone is longer. `floor` is read
   * at the same moment.
   */
  after(after: number, limits: {limit: number; maxChars: number}): Promise<{floor: number; entries: OutboxEntry[]}>;
  all(): Promise<OutboxEntry[]>;
  depth(): Promise<number>;
}

/** Changes of this node that its peers must receive: one row per change, numbered without gaps from the floor on. */
export interface OutboxStore extends OutboxReads {
  /** Appends one event, for all peers; returns its number. */
  append(event: unknown): Promise<number>;
  /** Replaces the events that have the same numbers. */
  rewrite(entries: readonly OutboxEntry[]): Promise<void>;
  /** Deletes events up to and including `seq`; returns how many were deleted. */
  prune(seq: number): Promise<number>;
  /**
   * Renumbers the remaining events above `seq`, for a database that was restored from an older copy: peers have already seen other
   * events of this node up to `seq`. The floor becomes `seq`.
   */
  renumber(seq: number): Promise<void>;
}

interface AppliedReads {
  of(origin: number): Promise<number>;
  /** The last applied event of every known origin, by node number. */
  all(): Promise<Map<number, number>>;
}

/** How far this node has applied the events of each other node. */
export interface AppliedStore extends AppliedReads {
  /** Records that events up to `seq` are applied; a lower number than the stored one is ignored. */
  note(origin: number, seq: number): Promise<void>;
}

/** Rows of mails whose bodies are in the spool. */
interface SpoolRowReads {
  overview(): Promise<SpoolOverview>;
  /** The states of those mails that are in the spool. */
  states(queueIds: readonly string[]): Promise<Map<string, HeldState>>;
  /** Queue ids of all held mails in the spool, in batches. */
  held(): AsyncIterable<string[]>;
}

export interface SpoolRows extends SpoolRowReads {
  /** Drops a row with arbitrary content; call `rebuildCounts` afterwards, as the totals may include it. */
  drop(queueId: string): Promise<void>;
  /** Recalculates the totals of held mail, after rows were changed without updating the totals. */
  rebuildCounts(): Promise<void>;
}

interface NodeReads {
  spooled: SpoolRowReads;
  records: RecordReads;
  sequences: SequenceReads;
  outbox: OutboxReads;
  applied: AppliedReads;
}

/** What a change of the configuration writes, in a store of either make. */
export interface RecordTransaction extends StoreTransaction {
  records: RecordStore;
  sequences: SequenceStore;
  outbox: OutboxStore;
}

export interface NodeTransaction extends RecordTransaction {
  spooled: SpoolRows;
  applied: AppliedStore;
}

/** The store of one node in a replicated cluster. */
export interface NodeStore extends Store, NodeReads {
  transaction<T>(work: (tx: NodeTransaction) => Promise<T>): Promise<T>;
  /** Runs `read` on one snapshot of the store: its queries do not see what is committed meanwhile. */
  atOneMoment<T>(read: (reads: NodeReads & {config: ConfigReads}) => Promise<T>): Promise<T>;
  /** `nodeId` is the node of all mails in this store. */
  heldQuery(nodeId: string): SampledHeldQuery;
  /** The error that a read or write met on damaged data; undefined if there was none. */
  damage(): string | undefined;
  /** Looks for damage in all data but the event log, which takes a while; the first error, undefined if there is none. */
  findDamage(): Promise<string | undefined>;
  /** The first error in the index by which searches find subjects; undefined if there is none. */
  findIndexDamage(): Promise<string | undefined>;
  /** The same for the event log. */
  findLogDamage(): Promise<string | undefined>;
  close(): Promise<void>;
}
