// Ports of the services: what they need of the world, implemented by the adapters (store, replication, hold, mail, cluster).
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {Domain} from '../../shared/domain.ts';
import type {SummaryGroup} from '../../shared/held-mail.ts';
import type {AuditQuery, HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Reason} from '../../shared/reason.ts';
import type {AccessScope, Scope} from '../../shared/scopes.ts';
import type {NewAuditEntry, StoredAuditEntry} from './audit/stored-entry.ts';
import type {IssuedName, PeerReport, StoredJoinToken} from './cluster/stored-trust.ts';
import type {HeldMailPage, HoldCursor} from './quarantine/hold-queue-port.ts';
import type {Samples, Steps} from './quarantine/merged-list.ts';
import type {
  Claim,
  ClaimedState,
  Confirmation,
  Description,
  Ending,
  HeldCount,
  HoldBackendName,
  NewHeldMail,
  PostfixMail,
  StoredHeldMail,
} from './quarantine/stored-mail.ts';
import type {ChangedKey, FieldsOf, KeyUse, Kind, RecordKey, StoredApiKey, StoredDkimKey, StoredNode} from './records.ts';

/** Who asks. The node and its operator act with `keyId` null and reach everything. */
export interface Actor {
  keyId: number | null;
  scope: Scope;
  reach: AccessScope;
  remoteAddress: string | null;
  /** The node that passes the request on, and says who asks; undefined where the caller was heard itself. */
  relayedBy?: string;
}

/** A node, by its name and by the number that no other node ever had: the first part of every id made there. */
export interface NodeIdentity {
  nodeId: string;
  nodeNo: number;
}

/** One domain and reason of the summary. */
export type HeldGroup = Omit<SummaryGroup, 'node_id'>;

/** The list of what is held on this node, as its store has it. */
export interface HeldQuery {
  /** Newest first, then by queue id. */
  list(filter: HoldFilter, reach: AccessScope, page: Page): Promise<HeldMailPage>;
  /** The cursors of every `stride`-th match after the first `offset`, `limit` of them. `total` counts all matches. */
  samples(filter: HoldFilter, reach: AccessScope, steps: Steps): Promise<Samples<HoldCursor>>;
  /** How many matches come before a cursor in the list of all nodes: of mails that arrived at the same time by node, then by queue id. */
  positionOf(filter: HoldFilter, reach: AccessScope, cursor: HoldCursor): Promise<number>;
  groups(filter: HoldFilter, reach: AccessScope): Promise<HeldGroup[]>;
}

/** A cursor in the audit log of all nodes, which is ordered by `at` descending, then `node_id`, then `seq` descending. */
export type AuditCursor = Pick<AuditEntry, 'at' | 'node_id' | 'seq'>;

export type AuditFilter = Omit<AuditQuery, keyof Page>;

/** What was done on one node: this one, or a peer behind mutual TLS. */
export interface AuditLog {
  readonly nodeId: string;
  list(filter: AuditFilter, page: Page, actor: Actor): Promise<{entries: AuditEntry[]; total: number}>;
  samples(filter: AuditFilter, steps: Steps, actor: Actor): Promise<Samples<AuditCursor>>;
  positionOf(filter: AuditFilter, cursor: AuditCursor, actor: Actor): Promise<number>;
}

/**
 * Waits, 2 s at most, until every node has applied what was changed here before. Resolves with the ids of those that could not
 * be reached, or did not in time.
 */
export type AwaitReplication = () => Promise<string[]>;

/** Configuration in the form in which it is read. Lists are by id, domains by name; with `ids` only those of them that are there. */
export interface ConfigReads {
  findDomain(id: number): Promise<Domain | undefined>;
  listDomains(ids?: readonly number[]): Promise<Domain[]>;
  listMailFilters(domainIds?: readonly number[]): Promise<MailFilter[]>;
  listDkimKeys(domainIds?: readonly number[]): Promise<StoredDkimKey[]>;
  findApiKey(key: {id: number} | {key_hash: string}): Promise<StoredApiKey | undefined>;
  listApiKeys(ids?: readonly number[]): Promise<StoredApiKey[]>;
  findNode(nodeNo: number): Promise<StoredNode | undefined>;
  listNodes(): Promise<StoredNode[]>;
  /** Numbers of nodes that were removed. */
  removedNodeNos(): Promise<number[]>;
  /** The greatest number a node ever had, removed ones included; 0 before the first. */
  greatestNodeNo(): Promise<number>;
  isDeleted(key: RecordKey): Promise<boolean>;
  /** Equal on two nodes exactly when their live records are. */
  configHash(): Promise<{config_hash: string; changed_at_ms: number}>;
}

/** One change of this node's own: everything in it commits together, or nothing does. What was written is there to be read. */
export interface ConfigTransaction {
  /** When it happens by this node's clock, ISO 8601. */
  at: string;
  config: ConfigReads;
  trust: TrustStore;
  nextId(kind: Kind): Promise<number>;
  create<K extends Kind>(kind: K, id: number, fields: FieldsOf[K]): Promise<void>;
  /** Only the fields that really change: an unchanged field must not win over somebody else's edit. */
  update<K extends Kind>(kind: K, id: number, fields: Partial<FieldsOf[K]>): Promise<void>;
  remove(kind: Kind, id: number): Promise<void>;
  audit(actor: Pick<Actor, 'keyId' | 'remoteAddress'>, action: string, target: string, detail?: string): Promise<void>;
}

/** Configuration of the cluster, whatever keeps it the same on all nodes. */
export interface ConfigStore {
  /** Runs `work` in one transaction, then calls the listeners, then resolves. On a full disk `work` may run twice. */
  change<T>(work: (tx: ConfigTransaction) => Promise<T>): Promise<T>;
  /**
   * Called after each commit, of any node, with the records that look different; awaited before the change resolves. A listener that
   * rejects is called again with them, before anything later or with it, and so are all others: a second call must make no difference.
   */
  onChange(listener: (changed: ChangedKey[]) => Promise<void>): void;
}

export interface AuditReads {
  /** Newest first. `key_name` comes from the key's record, so it is gone once the key has been deleted. */
  list(filter: AuditFilter, page: Page): Promise<{entries: StoredAuditEntry[]; total: number}>;
  /** The cursors of every `stride`-th entry after the first `offset`, `limit` of them. `total` counts all matches. */
  samples(filter: AuditFilter, steps: Steps): Promise<Samples<Omit<AuditCursor, 'node_id'>>>;
  /** How many matches in the log of `nodeId`, which is this one, come before a cursor in the log of all nodes. */
  positionOf(filter: AuditFilter, cursor: AuditCursor, nodeId: string): Promise<number>;
}

interface AuditStore {
  /** Appends to this node's log, in the order given. */
  append(...entries: NewAuditEntry[]): Promise<void>;
}

export interface HoldReads {
  find(queueId: string): Promise<StoredHeldMail | undefined>;
  /** Those that are there, in no order. */
  findAll(queueIds: readonly string[]): Promise<StoredHeldMail[]>;
  /** Mails that somebody has begun to act on. */
  listClaimed(keeper: HoldBackendName): Promise<string[]>;
  /**
   * Held mail of one reason that arrived before `before`, oldest first. Without what nobody here has judged: whoever put it on hold had
   * their reasons, and in Postfix it stays until they say otherwise.
   */
  listArrivedBefore(reason: Reason, before: string, limit: number): Promise<string[]>;
  /** What is held, by domain and reason. */
  counts(): Promise<HeldCount[]>;
  countHeldBy(keeper: HoldBackendName): Promise<number>;
}

/** Held mail: its rows, of which the body store has the bytes. */
export interface HoldStore extends HoldReads {
  /** Adds mails to the queue. A mail that is there already is left as it is: its bytes were indexed before. */
  insert(mails: readonly NewHeldMail[]): Promise<void>;
  /** Of many callers that want the same mail exactly one claims it: the ids of those that nobody had claimed. */
  claim(queueIds: readonly string[], claim: Claim): Promise<Set<string>>;
  /** Back into the queue: after an action that failed, or by the node that finds the claim of its former life. */
  unclaim(queueIds: readonly string[]): Promise<void>;
  /** The ends of mails' lives in the queue; the rows stay so that "who released this" has an answer. Returns the ids of those that were in `from`. */
  end(queueIds: readonly string[], from: 'held' | ClaimedState, ending: Ending): Promise<Set<string>>;
  /** Back into the queue, for a mail whose life had ended and that is there again; false if it is not in the state it was seen in. */
  reopen(mail: StoredHeldMail): Promise<boolean>;
  /** Strikes recipients who have had the mail, so that nobody gets it twice. */
  strikeRecipients(queueId: string, delivered: readonly string[]): Promise<void>;
  /** Forgets a mail, whatever its state, as Postfix without long queue ids gives an id again. */
  forget(queueId: string): Promise<void>;
  /** Forgets mails that ended before `before`, `limit` at most; returns how many. */
  forgetEnded(before: string, limit: number): Promise<number>;
}

export interface PostfixRowReads {
  /** All that are held, according to the index. */
  list(): Promise<PostfixMail[]>;
  /** Rows of mails that Postfix keeps or has kept, with these ids, whatever their state. */
  find(queueIds: readonly string[]): Promise<PostfixMail[]>;
  /** Held mails that nobody here has judged, and of which no subject is known. */
  listWithoutSubject(): Promise<string[]>;
}

/** Rows of mails whose bytes are in a Postfix's hold queue. */
export interface PostfixRows extends PostfixRowReads {
  /** Writes down when Postfix queued held mails and how big they are there; what stays unknown to the milter. */
  confirm(confirmations: readonly Confirmation[]): Promise<void>;
  /** What was read from a mail that nobody had judged here. */
  describe(queueId: string, description: Description): Promise<void>;
}

/** Who joins, what is in certificates, and what was heard last from the peers: of this node, and never replicated. */
export interface TrustReads {
  findJoinToken(id: string): Promise<StoredJoinToken | undefined>;
  listIssuedNames(): Promise<IssuedName[]>;
  listPeerReports(): Promise<PeerReport[]>;
}

export interface TrustStore extends TrustReads {
  insertJoinToken(token: StoredJoinToken): Promise<void>;
  /** Of many that come with one token exactly one gets true, and none after its end. */
  useJoinToken(id: string, at: string): Promise<boolean>;
  /** Forgets tokens that ended before `before`. */
  forgetJoinTokens(before: string): Promise<void>;
  addIssuedNames(names: readonly IssuedName[]): Promise<void>;
  /** A node with a new certificate has the names in it, and no others. */
  replaceIssuedNames(nodeNo: number, hosts: readonly string[]): Promise<void>;
  savePeerReports(reports: readonly PeerReport[]): Promise<void>;
  /** Forgets what was heard from nodes that are none any more. */
  keepPeerReports(nodeNos: readonly number[]): Promise<void>;
}

/** The latest use of each API key. */
export interface KeyUseReads {
  list(): Promise<KeyUse[]>;
}

export interface KeyUseStore extends KeyUseReads {
  /** Keeps the later of what is stored and what is told. */
  record(uses: readonly KeyUse[]): Promise<void>;
}

/** Facts that this node alone knows of itself, by name. */
export interface StateReads {
  read(name: string): Promise<string | undefined>;
}

export interface StateStore extends StateReads {
  write(name: string, value: string): Promise<void>;
}

interface StoreReads {
  config: ConfigReads;
  audit: AuditReads;
  hold: HoldReads;
  postfix: PostfixRowReads;
  trust: TrustReads;
  keyUses: KeyUseReads;
  state: StateReads;
}

export interface StoreTransaction extends Omit<StoreReads, 'audit'> {
  audit: AuditStore;
  hold: HoldStore;
  postfix: PostfixRows;
  trust: TrustStore;
  keyUses: KeyUseStore;
  state: StateStore;
}

/** What is committed, and the way to write: all that a transaction does commits together, and is on stable storage when it resolves. */
export interface Store extends StoreReads {
  /** A Fault `unavailable` for a caller who has waited for 30 s. */
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
}
