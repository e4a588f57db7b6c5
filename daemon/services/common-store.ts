// Ports to a store that all nodes of a cluster share. The ports of a node's own data (held mail, rows of Postfix, local state, the
// audit log) speak for the node in scope; all others are the same for every node.
import type {Readable} from 'node:stream';
import type {MailReference, SummaryGroup} from '../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {Reason} from '../../shared/reason.ts';
import type {AccessScope} from '../../shared/scopes.ts';
import type {OutboxReads, RecordReads, RecordTransaction} from './node-store.ts';
import type {Store} from './ports.ts';
import type {HeldMailPage, HoldBackendName} from './quarantine/stored-mail.ts';

/** Held mail of all nodes, those that are gone as well. */
export interface CommonHeldQuery {
  /** Ordered by arrival, newest first, then by node and queue id. */
  list(filter: HoldFilter, scope: AccessScope, page: Page): Promise<HeldMailPage>;
  groups(filter: HoldFilter, scope: AccessScope): Promise<SummaryGroup[]>;
  /** The nodes that have held mail in Postfix. */
  postfixNodes(): Promise<string[]>;
  /** The nodes of which mail is held. */
  holdingNodes(): Promise<string[]>;
  /** Which of the mails there are, in any state, and what has the bytes of each. */
  keepersOf(mails: readonly MailReference[]): Promise<(MailReference & {keeper: HoldBackendName})[]>;
}

/** Bytes of the held mails of the node in scope. They go in the transaction that ends their mail. */
export interface BodyReads {
  /** The bytes, read chunk by chunk; empty when there are none. */
  open(queueId: string): Readable;
}

export interface BodyStore {
  /** Stores the bytes in chunks of 256 KiB, in this transaction. */
  write(queueId: string, bytes: AsyncIterable<Buffer>): Promise<void>;
}

/** What the store knows of a node besides its record. */
export interface NodePresence {
  node_no: number;
  node_id: string;
  /** When the node last wrote to the store, ISO 8601, by the clock of the store. */
  last_seen: string;
  ageSeconds: number;
  /** The number of the last change that the node has in memory. */
  seq: number;
  /** How long its mail is held, by reason, in milliseconds. */
  retention_ms: Record<Reason, number>;
}

export type OwnPresence = Pick<NodePresence, 'seq' | 'retention_ms'> & {
  /** The longest that mail of any domain is held. Nodes of 0.8 know of no domain's setting, and expire mail of this node too: they read this. */
  longest_ms: Record<Reason, number>;
};

/** The configuration at one moment. */
export interface ConfigPosition {
  /** The number of the last change. */
  seq: number;
  config_hash: string;
  changed_at_ms: number;
}

export interface Leases {
  /** Extends all claims of this node by the length of a lease. */
  renew(): Promise<void>;
  /** Whether this node still has the claim of a mail of the node in scope; if so it is extended. */
  isOwn(queueId: string): Promise<boolean>;
  /** Returns spooled mail of all nodes to the queue whose claim has ended without a result; returns how many. */
  giveBack(): Promise<number>;
}

/** Which node sends the events that a node has logged to webhooks: itself, or another one while it is away. By the clock of the store. */
export interface LogHolds {
  /**
   * Takes the log of this node, and the logs of nodes that are away and that nobody has. `held`: all that this node has for the next 20 s;
   * `taken`: those of them that it did not have a moment ago; `returning`: those that it still has, whose nodes are back.
   */
  renew(): Promise<{held: string[]; taken: string[]; returning: string[]}>;
  giveBack(loggedBy: string): Promise<void>;
}

export interface CommonTransaction extends RecordTransaction {
  bodies: BodyStore;
  /** Whether this node has a log. No other one takes it before the transaction ends. */
  holdsLog(loggedBy: string): Promise<boolean>;
}

export interface CommonStore extends Store {
  records: RecordReads;
  outbox: OutboxReads;
  bodies: BodyReads;
  leases: Leases;
  logHolds: LogHolds;
  heldQuery: CommonHeldQuery;
  /** Rejects with a Fault `unavailable` when the database cannot be reached, and `outcome_unknown` when nobody can say what became of it. */
  transaction<T>(work: (tx: CommonTransaction) => Promise<T>): Promise<T>;
  /** The same, but only one at a time among all nodes: a change of the configuration reads before it writes. */
  changeTransaction<T>(work: (tx: CommonTransaction) => Promise<T>): Promise<T>;
  /** The same store with another node in scope. Claims are still those of this node. */
  of(nodeId: string): CommonStore;
  presence(): Promise<NodePresence[]>;
  /** Notes that this node lives. */
  notePresence(own: OwnPresence): Promise<void>;
  /**
   * Calls `onPosition` at least once a second while the database answers, at once after a change, and `onLost` when it stops answering.
   * With `isNew` the connection is a new one, and perhaps the database another one: everything in memory has to be read again.
   */
  watch(listeners: StoreListeners): {stop(): Promise<void>};
  /** Tells the other nodes that there is a change. Never rejects: they find it without this too. */
  notify(): void;
  close(): Promise<void>;
}

export interface StoreListeners {
  /** `ageMs`: since it was asked for. */
  onPosition(position: ConfigPosition, isNew: boolean, ageMs: number): Promise<void>;
  onLost(error: Error): void;
}

/** For callers, who do not learn where it is. */
export const databaseAway = 'PostgreSQL does not answer; nothing was done, try again in a few seconds';
