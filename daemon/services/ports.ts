// What the services need from the world, declared here and implemented by the adapters (mail, hold, cluster).
import type {Readable} from 'node:stream';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {Domain} from '../../shared/domain.ts';
import type {ActionOutcome, HeldMail, HeldMailDetail, HoldAction, Summary} from '../../shared/held-mail.ts';
import type {AuditQuery, HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {HostPort} from '../../shared/host-port.ts';
import type {Reach, Scope} from '../../shared/scopes.ts';
import type {Envelope, Judgement, MailContent, Ownership, ReceivedMail, Score} from './intake/mail.ts';
import type {Samples, Steps} from './quarantine/merged-list.ts';

/** Who asks. The node and its operator act with `keyId` null and reach everything. */
export interface Actor {
  keyId: number | null;
  scope: Scope;
  reach: Reach;
  remoteAddress: string | null;
  /** The node that passes the request on, and says who asks; undefined where the caller was heard itself. */
  relayedBy?: string;
}

/** A node, by its name and by the number that no other node ever had: the first part of every id made there. */
export interface NodeIdentity {
  nodeId: string;
  nodeNo: number;
}

/** Gives a mail a score. Rejects with a Fault `unavailable` when it cannot. */
export interface Scorer {
  score(mail: ReceivedMail): Promise<Score>;
}

export type Lesson = 'ham' | 'spam';

export interface LessonMail {
  queueId: string;
  sender: string;
  recipients: readonly string[];
  content: MailContent;
}

/** `known`: it wants no more of this. `refused`: it answered, and did not learn. */
export type Learnt = {kind: 'learned' | 'known'} | {kind: 'refused' | 'unreachable'; detail: string};

/** Learns from mail what ham and spam look like. Never rejects; ends within 5 s. */
export interface Classifier {
  learn(lesson: Lesson, mail: LessonMail): Promise<Learnt>;
}

/** Told of what people decide about held mail. Never rejects, and takes 5 s at most beside the reading. */
export interface Learner {
  /** Calls `read` only when there is somebody to teach. */
  learn(lesson: Lesson, mail: Omit<LessonMail, 'content'>, read: () => Promise<MailBody>): Promise<void>;
}

/** A reply of an SMTP server: the code and all of its text, enhanced status code included, lines joined by a space. */
export interface SmtpReply {
  code: number;
  text: string;
}

/** What became of one recipient: delivered, refused for good (5xx), or to be tried again (4xx, no server reached). */
export interface RecipientResult {
  recipient: string;
  outcome: 'delivered' | 'refused' | 'deferred';
  reply: SmtpReply;
}

/** Where mail goes: servers in order, the next one on connection failure; `domain` for the DKIM signature when outbound. */
export interface Route {
  servers: HostPort[];
  /** Login, over verified TLS only; `ca` (PEM) instead of the system's authorities. */
  auth?: {username: string; password: string; ca?: string};
  signFor?: Domain;
}

/** Hands one mail to one route. Resolves with one result per recipient; never rejects for what a server says or fails to say. */
export interface Deliver {
  deliver(route: Route, envelope: Envelope, content: MailContent): Promise<RecipientResult[]>;
}

/** Takes a suspicious mail into keeping. Resolved means file and row are on stable storage. */
export interface Keep {
  hold(mail: ReceivedMail, ownership: Ownership, judgement: Judgement): Promise<void>;
}

/** A cursor in the list of held mails, which is ordered by `arrived_at` descending, then `node_id`, then `queue_id`. */
export type HoldCursor = Pick<HeldMail, 'arrived_at' | 'node_id' | 'queue_id'>;

export interface HeldMailPage {
  mails: HeldMail[];
  /** All matches, not only this page. */
  total: number;
}

/** To be read once, or destroyed. */
export interface MailBody {
  sizeBytes: number;
  stream: Readable;
}

/** One node's hold queue: its own spool, its Postfix, or a peer's behind mutual TLS. The actor's reach narrows to one domain. */
export interface HoldQueue {
  readonly nodeId: string;
  /** How many acts it takes at the same time. */
  readonly actsAtOnce: number;
  list(filter: HoldFilter, page: Page, actor: Actor): Promise<HeldMailPage>;
  /** Cursors of some of the matches, see `readMerged`. */
  samples(filter: HoldFilter, steps: Steps, actor: Actor): Promise<Samples<HoldCursor>>;
  /** How many matches come before a cursor. */
  positionOf(filter: HoldFilter, cursor: HoldCursor, actor: Actor): Promise<number>;
  summary(filter: HoldFilter, actor: Actor): Promise<Summary>;
  get(queueId: string, actor: Actor): Promise<HeldMailDetail>;
  body(queueId: string, actor: Actor): Promise<MailBody>;
  /** Released means the backend has answered 250 for every recipient. */
  act(action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome>;
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
export type Spread = () => Promise<string[]>;
