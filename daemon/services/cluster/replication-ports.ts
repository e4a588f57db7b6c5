// Ports of replication: the interfaces for the connections to peers and for the peer API, and the one for requests to other nodes.
import type {NodeIdentity} from '../actor.ts';
import type {ConfigRecord, RecordKey, StoredRecord} from '../records.ts';
import type {DigestsPage, EventsAnswer, EventsRequest, Heartbeat, RecordsPage} from './peer-protocol.ts';

export interface ChangedRecord {
  before: StoredRecord | undefined;
  after: StoredRecord;
}

/** The sender of changes, and the path by which they came. With `join`, the sender is the node that has the key of the authority. */
export interface ChangeSource {
  node: NodeIdentity;
  path: 'events' | 'heartbeat' | 'snapshot' | 'repair' | 'join';
}

export interface Applied {
  changed: ChangedRecord[];
  /** A one-line description of the skipped changes for users; empty if none were skipped. */
  leftOut: string;
}

export interface Replication {
  /** The number of this node's newest event. */
  lastSeq(): Promise<number>;
  /** Events after `after` within `limits`, and the floor up to which events have been deleted. */
  batchAfter(after: number, limits: {limit: number; maxChars: number}): Promise<EventsRequest>;
  /**
   * Applies the changes of `origin`, and stores the number of the last one in the same transaction. Events applied before are only
   * acknowledged again. Resolves with the number of the last applied event; `hasGap` if `origin` has deleted events that are missing
   * here; `leftOut` describes writes that were dated too far ahead and skipped.
   */
  receive(origin: NodeIdentity, request: EventsRequest): Promise<{applied: number; hasGap: boolean; leftOut: string}>;
  /** The number of the last applied event of each node, including this one. */
  applied(): Promise<Map<number, number>>;
  recordsPage(after: RecordKey | undefined): Promise<RecordsPage>;
  digestsPage(after: RecordKey | undefined): Promise<DigestsPage>;
  records(keys: RecordKey[]): Promise<ConfigRecord[]>;
  /** Merges records of another node, as far as the rules for `source` accept them. */
  merge(records: ConfigRecord[], source: ChangeSource): Promise<Applied>;
  /** Call this after a complete snapshot: stores what its sender had applied, and raises the sequences above own ids in it. */
  caughtUp(applied: Record<string, number>): Promise<void>;
  /**
   * Renumbers the outbox after a peer has applied event `seq` of this node, which this database does not have: it was restored from
   * an older copy. Throws a Fault `validation_failed` for a number that is too high to be true.
   */
  recover(seq: number): Promise<void>;
  /**
   * Checks the first acknowledgement `seq` of a peer, before this process has sent it events. If it is above the last event at the
   * start of this process, the database was restored from an older copy and has reused numbers since: then this renumbers the outbox
   * and resolves with true.
   */
  checkFirstAcknowledgement(seq: number): Promise<boolean>;
  /**
   * Skips many ids of every kind, for a start without an answer from every peer: if the database was restored from an older copy, ids
   * that were assigned since then must not be reused.
   */
  skipIds(): Promise<void>;
  /** Deletes events up to `upTo`, which every peer has applied, and in any case all but the newest `limit`. Returns how many. */
  prune(upTo: number, limit: number): Promise<number>;
}

export interface HeartbeatExchange {
  /** This node's heartbeat for node `to`, with the key uses after number `usesAfter`. Pass `usesUpTo` as `usesAfter` next time. */
  heartbeat(to: number, usesAfter: number): Promise<{heartbeat: Heartbeat; usesUpTo: number}>;
  /** Processes a heartbeat and resolves with this node's own. */
  answer(from: NodeIdentity, heartbeat: Heartbeat): Promise<Heartbeat>;
  /** Processes a heartbeat. Rejects with a Fault `validation_failed` if its sender is not `from`. */
  receiveHeartbeat(from: NodeIdentity, heartbeat: Heartbeat): Promise<void>;
  /** The node has announced that it stops. */
  receiveStop(from: NodeIdentity): void;
}

export interface EventInbox {
  /** Applies events of `from` and resolves with the answer to it. */
  receive(from: NodeIdentity, request: EventsRequest): Promise<EventsAnswer>;
  /** Records must be fetched from this node: it deleted events, or has events that this node has lost. */
  noteBehind(nodeNo: number): void;
  onBehind(listener: (nodeNo: number) => void): void;
}

/** Records of another node, requested over the wire. */
export interface RemoteRecords {
  readonly nodeNo: number;
  readonly nodeId: string;
  digestsPage(after: RecordKey | undefined): Promise<DigestsPage>;
  records(keys: RecordKey[]): Promise<ConfigRecord[]>;
}
