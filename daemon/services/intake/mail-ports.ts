// Ports for mail: scoring, training, delivery and holding.

import type {Domain} from '../../../shared/domain.ts';
import type {HostPort} from '../../../shared/host-port.ts';
import type {MailBody} from '../quarantine/hold-queue-port.ts';
import type {Envelope, Judgement, MailContent, Ownership, ReceivedMail, Score} from './mail.ts';

/** Scores mail. Rejects with a Fault `unavailable` when it cannot. */
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

/** `known`: the classifier does not need the mail, as it knows enough already. `refused`: it answered, but did not learn the mail. */
export type TrainingResult = {kind: 'learned' | 'known'} | {kind: 'refused' | 'unreachable'; detail: string};

/** Learns ham and spam from mail. Never rejects; resolves within 5 s. */
export interface Classifier {
  train(sampleClass: TrainingClass, mail: TrainingSample): Promise<TrainingResult>;
}

/** Receives the decisions of users about held mail. Never rejects; takes at most 5 s, plus the time to read the mail. */
export interface Trainer {
  /** Calls `read` only when there is a classifier to train. */
  train(sampleClass: TrainingClass, mail: Omit<TrainingSample, 'content'>, read: () => Promise<MailBody>): Promise<void>;
}

/** A reply of an SMTP server. `text` includes the enhanced status code; lines are joined by a space. */
export interface SmtpReply {
  code: number;
  text: string;
}

/** The result for one recipient: delivered, refused permanently (5xx), or deferred for another attempt (4xx, no server reached). */
export interface RecipientResult {
  recipient: string;
  outcome: 'delivered' | 'refused' | 'deferred';
  reply: SmtpReply;
}

/** The servers for a mail, tried in order until one connects. `signFor`: the domain for the DKIM signature of outbound mail. */
export interface Route {
  servers: HostPort[];
  /** Login, used over verified TLS only. `ca` (PEM) replaces the certificate authorities of the system. */
  auth?: {username: string; password: string; ca?: string};
  signFor?: Domain;
}

/** Delivers one mail over one route. Resolves with one result per recipient; never rejects because of a server's reply or silence. */
export interface Deliver {
  deliver(route: Route, envelope: Envelope, content: MailContent): Promise<RecipientResult[]>;
}

/** Holds a suspicious mail. File and row are on stable storage when it resolves. */
export interface MailHolder {
  hold(mail: ReceivedMail, ownership: Ownership, judgement: Judgement): Promise<void>;
}
