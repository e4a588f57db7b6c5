// Ports that mail passes through: who scores it, learns from it, delivers it and takes it into keeping.
import type {Domain} from '../../../shared/domain.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import type {MailBody} from '../ports.ts';
import type {Envelope, Judgement, MailContent, Ownership, ReceivedMail, Score} from './mail.ts';

/** Gives a mail a score. Rejects with a Fault `unavailable` when it cannot. */
export interface Scorer {
  score(mail: ReceivedMail): Promise<Score>;
}

export type TrainingClass = 'ham' | 'spam';

interface TrainingSample {
  queueId: string;
  sender: string;
  recipients: readonly string[];
  content: MailContent;
}

/** `known`: it wants no more of this. `refused`: it answered, and did not learn. */
export type TrainingResult = {kind: 'learned' | 'known'} | {kind: 'refused' | 'unreachable'; detail: string};

/** Learns from mail what ham and spam look like. Never rejects; ends within 5 s. */
export interface Classifier {
  train(lesson: TrainingClass, mail: TrainingSample): Promise<TrainingResult>;
}

/** Told of what people decide about held mail. Never rejects, and takes 5 s at most beside the reading. */
export interface Trainer {
  /** Calls `read` only when there is somebody to teach. */
  train(lesson: TrainingClass, mail: Omit<TrainingSample, 'content'>, read: () => Promise<MailBody>): Promise<void>;
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
export interface MailHolder {
  hold(mail: ReceivedMail, ownership: Ownership, judgement: Judgement): Promise<void>;
}
