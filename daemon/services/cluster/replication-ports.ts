// Ports of replication: what the cluster's connections and the API for peers need of it, and what it needs of other nodes.
import type {NodeIdentity} from '../ports.ts';
import type {ConfigRecord, RecordKey, StoredRecord} from '../records.ts';
import type {DigestsPage, EventsAnswer, EventsRequest, Heartbeat, RecordsPage} from './peer-protocol.ts';

export interface ChangedRecord {
  before: StoredRecord | undefined;
  after: StoredRecord;
}

/** Who sends changes, and how they came. The snapshot of a join comes from the node that has the key of the authority. */
export interface ChangeSource {
  node: NodeIdentity;
  path: 'events' | 'heartbeat' | 'snapshot' | 'repair' | 'join';
}

export interface Applied {
  changed: ChangedRecord[];
  /** What was left out, as one line for people; empty when nothing was. */
  leftOut: string;
}

export interface Replication {
  /** The number of this node's newest event. */
  lastSeq(): Promise<number>;
  /** Events after `after`, at most so many and so long together, and the number up to which there are none any more. */
  batchAfter(after: number, limits: {limit: number; maxChars: number}): Promise<EventsRequest>;
  /**
   * Applies what `origin` has changed, in one transaction with the note of how far that goes. What was applied before is
   * acknowledged again. Resolves with how far that is; `hasGap` when older events are gone there; `leftOut` names the writes that
   * were dated too far ahead and not applied.
   */
  receive(origin: NodeIdentity, request: EventsRequest): Promise<{applied: number; hasGap: boolean; leftOut: string}>;
  /** How far this node has applied the events of each node, itself included. */
  applied(): Promise<Map<number, number>>;
  recordsPage(after: RecordKey | undefined): Promise<RecordsPage>;
  digestsPage(after: RecordKey | undefined): Promise<DigestsPage>;
  records(keys: RecordKey[]): Promise<ConfigRecord[]>;
  /** Merges records as another node serves them, as far as it is believed. */
  merge(records: ConfigRecord[], source: ChangeSource): Promise<Applied>;
  /** After a whole snapshot: notes how far the node it came from had applied the others, and goes on counting after all of it. */
  caughtUp(applied: Record<string, number>): Promise<void>;
  /**
   * Somebody has applied more of this node's events than there have been: its database has gone back in time. A number that no
   * node can have come to is not believed: a Fault `validation_failed`.
   */
  recover(seq: number): Promise<void>;
  /**
   * How far a peer has come, before it was told anything by this process. Beyond where this node began: its database has gone
   * back in time, and has given the same numbers to other events since. Resolves with whether that is so.
   */
  checkFirstAcknowledgement(seq: number): Promise<boolean>;
  /**
   * For a start without word from every peer: should the database have gone back in time, ids that were given since are left
   * out by a wide margin.
   */
  skipIds(): Promise<void>;
  /** Forgets events that every peer has, `upTo` the one that has least; and more than `limit` in any case. */
  prune(upTo: number, limit: number): Promise<number>;
}

export interface HeartbeatExchange {
  /** This node's heartbeat for the node `to`, with the key uses after the `usesAfter`-th; `usesUpTo` is for the next one. */
  heartbeat(to: number, usesAfter: number): Promise<{heartbeat: Heartbeat; usesUpTo: number}>;
  /** Takes in a heartbeat and answers with this node's own. */
  answer(from: NodeIdentity, heartbeat: Heartbeat): Promise<Heartbeat>;
  /** Takes in a heartbeat. A Fault `validation_failed` when it speaks for another node than the one it came from. */
  receiveHeartbeat(from: NodeIdentity, heartbeat: Heartbeat): Promise<void>;
  /** The node says that it stops. */
  receiveStop(from: NodeIdentity): void;
  receiveEvents(from: NodeIdentity, request: EventsRequest): Promise<EventsAnswer>;
  /** Something has to be fetched from that node: events are gone there, or it knows more of this node than the node itself. */
  onBehind(listener: (nodeNo: number) => void): void;
}

/** Records of another node, requested over the wire. */
export interface RemoteRecords {
  readonly nodeNo: number;
  readonly nodeId: string;
  digestsPage(after: RecordKey | undefined): Promise<DigestsPage>;
  records(keys: RecordKey[]): Promise<ConfigRecord[]>;
}
