// Ports of the services: the interfaces that the adapters (store, replication, hold, mail, cluster) implement.
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {Domain} from '../../shared/domain.ts';
import type {SummaryGroup} from '../../shared/held-mail.ts';
import type {AuditQuery, HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {AccessScope} from '../../shared/scopes.ts';
import type {Actor} from './actor.ts';
import type {NewAuditEntry, StoredAuditEntry} from './audit/stored-entry.ts';
import type {IssuedName, PeerReport, StoredJoinToken} from './cluster/stored-trust.ts';
import type {DmarcReads, DmarcStore} from './dmarc/dmarc-store.ts';
import type {ReceivedReads, ReceivedStore} from './dmarc/received-store.ts';
import type {EventLog, EventReads} from './events/mail-event.ts';
import type {Samples, Steps} from './peers/merged-list.ts';
import type {PostfixRowReads, PostfixRows} from './quarantine/postfix-rows.ts';
import type {
  ArrivalLimit,
  Claim,
  ClaimedState,
  Ending,
  HeldCount,
  HeldMailPage,
  HoldBackendName,
  HoldCursor,
  NewHeldMail,
  PartEnding,
  RecipientAct,
  ReleaseRequest,
  StoredHeldMail,
} from './quarantine/stored-mail.ts';
import type {DigestReads, DigestStore} from './recipients/digest-store.ts';
import type {
  ChangedKey,
  FieldsOf,
  KeyUse,
  Kind,
  ReadableOf,
  RecordKey,
  StoredApiKey,
  StoredDigest,
  StoredDkimKey,
  StoredNode,
  StoredWebhook,
} from './records.ts';
import type {WebhookReads, WebhookStore} from './webhooks/webhook-store.ts';

/** The totals of one domain and reason in the summary. */
export type HeldGroup = Omit<SummaryGroup, 'node_id'>;

/** The list of mail held on this node, according to its store. */
export interface HeldQuery {
  /** Ordered by arrival, newest first, then by queue id. */
  list(filter: HoldFilter, reach: AccessScope, page: Page): Promise<HeldMailPage>;
  groups(filter: HoldFilter, reach: AccessScope): Promise<HeldGroup[]>;
}

/** A list that is merged with those of other nodes. */
export interface SampledHeldQuery extends HeldQuery {
  /** The cursors of every `stride`-th match after the first `offset`, `limit` of them. `total` counts all matches. */
  samples(filter: HoldFilter, reach: AccessScope, steps: Steps): Promise<Samples<HoldCursor>>;
  /** The number of matches before a cursor in the list of all nodes. */
  positionOf(filter: HoldFilter, reach: AccessScope, cursor: HoldCursor): Promise<number>;
}

/** A cursor in the audit log of all nodes, which is ordered by `at` descending, then `node_id`, then `seq` descending. */
export type AuditCursor = Pick<AuditEntry, 'at' | 'node_id' | 'seq'>;

export type AuditFilter = Omit<AuditQuery, keyof Page>;

/** The audit log of one node: this node, or a peer over mutual TLS. */
export interface AuditLog {
  readonly nodeId: string;
  list(filter: AuditFilter, page: Page, actor: Actor): Promise<{entries: AuditEntry[]; total: number}>;
  samples(filter: AuditFilter, steps: Steps, actor: Actor): Promise<Samples<AuditCursor>>;
  positionOf(filter: AuditFilter, cursor: AuditCursor, actor: Actor): Promise<number>;
}

/**
 * Waits at most 2 s until every node has applied all earlier changes of this node. Resolves with the ids of the nodes that could not
 * be reached or did not apply them in time.
 */
export type AwaitReplication = () => Promise<string[]>;

/** Configuration in its readable form. Lists are ordered by id, domains by name; with `ids`, only existing records with these ids. */
export interface ConfigReads {
  findDomain(id: number): Promise<Domain | undefined>;
  listDomains(ids?: readonly number[]): Promise<Domain[]>;
  listMailFilters(domainIds?: readonly number[]): Promise<MailFilter[]>;
  listDkimKeys(domainIds?: readonly number[]): Promise<StoredDkimKey[]>;
  listWebhooks(ids?: readonly number[]): Promise<StoredWebhook[]>;
  /** Their ids are those of their domains. */
  listDigests(ids?: readonly number[]): Promise<StoredDigest[]>;
  findApiKey(key: {id: number} | {key_hash: string}): Promise<StoredApiKey | undefined>;
  listApiKeys(ids?: readonly number[]): Promise<StoredApiKey[]>;
  findNode(nodeNo: number): Promise<StoredNode | undefined>;
  listNodes(): Promise<StoredNode[]>;
  /** The numbers of removed nodes. */
  removedNodeNos(): Promise<number[]>;
  /** The greatest node number ever used, including removed nodes; 0 before the first. */
  greatestNodeNo(): Promise<number>;
  isDeleted(key: RecordKey): Promise<boolean>;
  /** Two nodes have equal hashes exactly when their live records are equal. */
  configHash(): Promise<{config_hash: string; changed_at_ms: number}>;
}

/** One change by this node: everything in it commits together or not at all. Reads in it see its own writes. */
export interface ConfigTransaction {
  /** The time of the change by this node's clock, ISO 8601. */
  at: string;
  config: ConfigReads;
  trust: TrustStore;
  nextId(kind: Kind): Promise<number>;
  /** Resolves with the new record; undefined when another one has its name. */
  create<K extends Kind>(kind: K, id: number, fields: FieldsOf[K]): Promise<ReadableOf[K] | undefined>;
  /**
   * Writes only fields that really change: an unchanged field must not override an edit of it on another node. `fields` may be made
   * from the record as it is stored, which is read once; undefined if it is not live. Resolves with the record after the change.
   */
  update<K extends Kind>(
    kind: K,
    id: number,
    fields: Partial<FieldsOf[K]> | ((current: ReadableOf[K] | undefined) => Partial<FieldsOf[K]>),
  ): Promise<ReadableOf[K] | undefined>;
  remove(kind: Kind, id: number): Promise<void>;
  audit(actor: Pick<Actor, 'keyId' | 'remoteAddress'>, action: string, target: string, detail?: string): Promise<void>;
}

/** The configuration of the cluster, independent of how nodes share it. */
export interface ConfigStore {
  /** Runs `work` in one transaction, then calls the listeners, then resolves. On a full disk `work` may run twice. */
  change<T>(work: (tx: ConfigTransaction) => Promise<T>): Promise<T>;
  /**
   * Calls `listener` after each commit, of any node, with the keys of the records that changed; `change` waits for it. If a listener
   * rejects, all are called again with the same keys, before or together with later changes, so a second call must be harmless.
   */
  onChange(listener: (changed: ChangedKey[]) => Promise<void>): void;
}

export interface AuditReads {
  /** Newest first. `key_name` comes from the record of the key, so it is null after the key has been deleted. */
  list(filter: AuditFilter, page: Page): Promise<{entries: StoredAuditEntry[]; total: number}>;
  /** The cursors of every `stride`-th entry after the first `offset`, `limit` of them. `total` counts all matches. */
  samples(filter: AuditFilter, steps: Steps): Promise<Samples<Omit<AuditCursor, 'node_id'>>>;
  /** The number of matches in the log of this node, `nodeId`, before a cursor in the log of all nodes. */
  positionOf(filter: AuditFilter, cursor: AuditCursor, nodeId: string): Promise<number>;
}

interface AuditStore {
  /** Appends to the log of this node, in the given order. */
  append(...entries: NewAuditEntry[]): Promise<void>;
}

interface HoldReads {
  find(queueId: string): Promise<StoredHeldMail | undefined>;
  /** The mails that exist, in no particular order. */
  findAll(queueIds: readonly string[]): Promise<StoredHeldMail[]>;
  /** What was done for recipients of these mails, by their ids, the first first. */
  recipientActs(queueIds: readonly string[]): Promise<Map<string, RecipientAct[]>>;
  /** What recipients for whom these mails are held have asked for, the first first. */
  requests(queueIds: readonly string[]): Promise<ReleaseRequest[]>;
  /** Mails with an unfinished action. */
  listClaimed(backend: HoldBackendName): Promise<string[]>;
  /**
   * Held mail that arrived before the limit of its domain and reason, of all keepers or of one; none of a group without a limit. Excludes
   * mail that mfd has not scored: an administrator or a rule of Postfix put it on hold, and it stays there until an administrator decides.
   */
  listArrivedBefore(
    limits: readonly ArrivalLimit[],
    choice: {limit: number; keeper?: HoldBackendName | undefined},
  ): Promise<string[]>;
  /** Held mail with an id after `after`, ascending, whose header From has not been read: earlier versions did not keep it. */
  listWithoutFrom(after: string, choice: {limit: number; keeper?: HoldBackendName | undefined}): Promise<string[]>;
  /** The totals of held mail by domain and reason. */
  counts(): Promise<HeldCount[]>;
  countHeldBy(backend: HoldBackendName): Promise<number>;
}

/** The rows of held mail. The keeper of each mail has its bytes (`../hold/hold-backend.ts`). */
export interface HoldStore extends HoldReads {
  /**
   * Adds mails to the queue. A mail that has a row already is not changed. This, `end` and `reopen` write into the event log in the same
   * transaction, unless rows are `moved` from elsewhere: what happened to them is in the log already.
   */
  insert(mails: readonly NewHeldMail[], how?: 'moved'): Promise<void>;
  /**
   * Keeps these mails from changing by others until the transaction ends. For several writes in one transaction: two nodes whose writes
   * lock the same mails one by one would each wait for the other.
   */
  lock(queueIds: readonly string[]): Promise<void>;
  /**
   * Claims mails for an action; exactly one of several concurrent callers gets a mail. Returns the recipients of those that this call has
   * claimed, by id: other actions may have struck some since the caller read the mail.
   */
  claim(queueIds: readonly string[], claim: Claim): Promise<Map<string, string[]>>;
  /** Returns mails to the queue, after a failed action or when a restarted node finds its old claims. Returns the ids of those. */
  unclaim(queueIds: readonly string[]): Promise<Set<string>>;
  /** Ends mails that are in state `from`, and returns their ids. The rows stay, so that it is known who released a mail. */
  end(queueIds: readonly string[], from: 'held' | ClaimedState, ending: Ending, how?: 'moved'): Promise<Set<string>>;
  /** Returns an ended mail to the queue after its bytes have reappeared; false if it is no longer in state `mail.state`. */
  reopen(mail: StoredHeldMail, at: string): Promise<boolean>;
  /** Stores the addresses in the header From of mails that have none yet. */
  writeFrom(mails: readonly {queueId: string; from: readonly string[]}[]): Promise<void>;
  /** Removes recipients of a mail for whom something was done elsewhere, and keeps what. The event log has that already. */
  strikeRecipients(queueId: string, acts: readonly RecipientAct[]): Promise<void>;
  /**
   * Removes recipients of a mail, keeps what was done for each, and writes it into the event log. Resolves with those for whom nothing was
   * done before. When they are all that are left, nothing is written: the mail has to end.
   */
  endFor(queueId: string, ending: PartEnding): Promise<{addresses: readonly string[]; isLast: boolean}>;
  /**
   * Keeps a request, and writes it into the event log. False when there is one of this recipient, or the mail is not held for him: then
   * nothing changes.
   */
  request(request: ReleaseRequest): Promise<boolean>;
  /** Adds requests from elsewhere; the event log has them already. What is there stays. */
  restoreRequests(requests: readonly ReleaseRequest[]): Promise<void>;
  /** Deletes the row of a mail in any state, because Postfix without long queue ids reuses ids. */
  forget(queueId: string): Promise<void>;
  /** Deletes rows of mails that ended before `before`, at most `limit`; returns how many. */
  forgetEnded(before: string, limit: number): Promise<number>;
}

/** Join tokens, names in certificates, and the last reports of peers. They belong to this node and are never replicated. */
export interface TrustReads {
  findJoinToken(id: string): Promise<StoredJoinToken | undefined>;
  listIssuedNames(): Promise<IssuedName[]>;
  listPeerReports(): Promise<PeerReport[]>;
}

export interface TrustStore extends TrustReads {
  insertJoinToken(token: StoredJoinToken): Promise<void>;
  /** Marks a token as used. True for exactly one of several concurrent callers; false for an expired token. */
  useJoinToken(id: string, at: string): Promise<boolean>;
  /** Deletes tokens that expired before `before`. */
  forgetJoinTokens(before: string): Promise<void>;
  addIssuedNames(names: readonly IssuedName[]): Promise<void>;
  /** Replaces the names of a node with those in its new certificate. */
  replaceIssuedNames(nodeNo: number, hosts: readonly string[]): Promise<void>;
  savePeerReports(reports: readonly PeerReport[]): Promise<void>;
  /** Deletes the reports of all nodes except these. */
  keepPeerReports(nodeNos: readonly number[]): Promise<void>;
}

/** The latest use of each API key. */
interface KeyUseReads {
  list(): Promise<KeyUse[]>;
}

export interface KeyUseStore extends KeyUseReads {
  /** Stores each use that is later than the stored one. */
  record(uses: readonly KeyUse[]): Promise<void>;
}

/** Local state of this node, by name. */
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
  events: EventReads;
  postfix: PostfixRowReads;
  trust: TrustReads;
  keyUses: KeyUseReads;
  state: StateReads;
  dmarc: DmarcReads;
  received: ReceivedReads;
  webhooks: WebhookReads;
  digests: DigestReads;
}

export interface StoreTransaction extends Omit<StoreReads, 'audit'> {
  audit: AuditStore;
  hold: HoldStore;
  events: EventLog;
  postfix: PostfixRows;
  trust: TrustStore;
  keyUses: KeyUseStore;
  state: StateStore;
  dmarc: DmarcStore;
  received: ReceivedStore;
  webhooks: WebhookStore;
  digests: DigestStore;
}

export interface EventSettings {
  /** Asked for each entry of the event log; without it subjects are kept. */
  keepsSubjects(): boolean;
  /** Called after held mail was changed without this number of entries, because of `error`: the disk is full, or the log is damaged. */
  onLeftOut(count: number, error: unknown): void;
}

/** Committed data, and transactions to change it. A transaction commits as a whole and is on stable storage when it resolves. */
export interface Store extends StoreReads {
  configureEvents(settings: EventSettings): void;
  /**
   * Rejects with a Fault `unavailable` if the transaction cannot start within 30 s. `work` runs again, without the entries about held
   * mail, if these cannot be written.
   */
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
}
