// Results of actions after which a mail does not end: it is held again, perhaps for fewer recipients, has left the queue, or stays claimed.
import {Fault} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {StoreTransaction} from '../services/ports.ts';
import type {Delivered, StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {LeftQueue} from './hold-backend.ts';
import {
  type AuditActor,
  claimedState,
  endState,
  goneMail,
  type HoldWrites,
  leftByHand,
  nodeActor,
  type RecordAudit,
  type RequestedAction,
} from './hold-writes.ts';

interface Needs {
  nodeId: string;
  writes: HoldWrites;
  now: () => number;
}

/** What was done for some of the recipients. */
interface Part {
  action: HoldAction;
  actor: AuditActor;
  recipients: readonly string[];
  /** It is what the caller asked for, and goes into the audit log; else a failure of that tells of it. */
  isAsked: boolean;
  /** ISO 8601. */
  at: string;
  delivered?: Delivered | undefined;
}

export type Setbacks = ReturnType<typeof createSetbacks>;

export const createSetbacks = ({nodeId, writes, now}: Needs) => {
  const isoNow = (): string => new Date(now()).toISOString();
  /** By queue id, until the database records it. */
  const parts = new Map<string, Part>();
  /** Mails that the database could not be told to hold again. */
  const open = new Set<string>();

  /** In the transaction that gives the claim back; false when it was not recorded. */
  const record = async (
    {hold}: StoreTransaction,
    queueId: string,
    {part, isClaimed}: {part: Part; isClaimed: boolean},
  ): Promise<boolean> => {
    const {action, actor, recipients, delivered, at} = part;
    // The lease has ended: another node may have done something else, and nothing was done here.
    if (action === 'discard' && !isClaimed) return false;
    const ending = {state: endState[action], at, keyId: actor.keyId};
    const {addresses, isLast} = await hold.endFor(queueId, {...ending, addresses: recipients, delivered});
    if (!isLast) return addresses.length > 0;
    // Another node has served all others since.
    const ofMail = new Map(delivered ? [[queueId, delivered]] : []);
    return (await hold.end([queueId], 'held', {...ending, delivered: ofMail})).size > 0;
  };

  /**
   * Holds the mail again for the remaining recipients, in one commit with the audit entries of `describe`. False when a part is not recorded,
   * as another action came first.
   */
  const takeBack = async (queueId: string, describe: (recordAudit: RecordAudit) => void = () => {}): Promise<boolean> => {
    const part = parts.get(queueId);
    open.add(queueId);
    let isRecorded = true;
    await writes.write(queueId, async (tx, recordAudit) => {
      const isClaimed = (await tx.hold.unclaim([queueId])).has(queueId);
      if (part) isRecorded = await record(tx, queueId, {part, isClaimed});
      if (part?.isAsked && isRecorded)
        recordAudit(part.actor, {action: part.action, queueId, detail: `for ${shortList(part.recipients)}`});
      describe(recordAudit);
    });
    parts.delete(queueId);
    open.delete(queueId);
    return isRecorded;
  };

  /** The mail was taken out of the queue by hand: this node cannot know what happened to it. */
  const markGone = async (mail: StoredHeldMail, from: 'releasing' | 'discarding'): Promise<never> => {
    const at = isoNow();
    await writes.write(mail.queue_id, async (tx, recordAudit) => {
      await tx.hold.end([mail.queue_id], from, {state: 'gone', at, keyId: null});
      recordAudit(nodeActor, {action: 'gone', queueId: mail.queue_id, detail: leftByHand});
    });
    throw goneMail(nodeId, {...mail, acted_at: at});
  };

  /** The next poll of the queue finds the result; until then the claim stays and records who made it. */
  const leaveOpen = async (mail: StoredHeldMail, {action, actor}: RequestedAction, error: Fault): Promise<never> => {
    await writes.write(mail.queue_id, async (_tx, recordAudit) =>
      recordAudit(actor, {action, queueId: mail.queue_id, ...failureToAudit(error)}),
    );
    throw error;
  };

  const fail = async (mail: StoredHeldMail, {action, actor}: RequestedAction, error: unknown): Promise<never> => {
    if (error instanceof LeftQueue) return markGone(mail, claimedState(action));
    if (error instanceof Fault && error.code === 'outcome_unknown') return leaveOpen(mail, {action, actor}, error);
    await takeBack(mail.queue_id, recordAudit => {
      // Retention repeats its attempts, which would fill the audit log.
      if (action !== 'expire') recordAudit(actor, {action, queueId: mail.queue_id, ...failureToAudit(error)});
    });
    throw error;
  };

  return {
    takeBack,
    fail,
    /** These recipients have a mail that others could not get: to be recorded when it is taken back. */
    served(queueId: string, part: Pick<Part, 'actor' | 'recipients'>): void {
      if (part.recipients.length > 0) parts.set(queueId, {...part, action: 'release', isAsked: false, at: isoNow()});
    },
    /** Records what was asked for. Resolves with the time; undefined when another action came first. */
    async endFor(queueId: string, part: Omit<Part, 'isAsked' | 'at'>): Promise<string | undefined> {
      const at = isoNow();
      parts.set(queueId, {...part, isAsked: true, at});
      try {
        return (await takeBack(queueId)) ? at : undefined;
      } catch (error) {
        // Nothing has happened to the mail, and it is held as before.
        if (part.action === 'discard') parts.delete(queueId);
        throw error;
      }
    },
    /** The mail has ended: who got it before is recorded, and nothing else is left to do. */
    async settle(queueId: string): Promise<void> {
      if (parts.has(queueId)) await takeBack(queueId);
      open.delete(queueId);
    },
    open,
  };
};

/** The answer contains all replies; the audit entry of a mail to hundreds of recipients must stay short. */
const maxAuditedReplies = 3;
const maxAuditedRecipients = 10;

const shortList = (recipients: readonly string[]): string =>
  recipients.length <= maxAuditedRecipients
    ? recipients.join(', ')
    : `${recipients.slice(0, maxAuditedRecipients).join(', ')} and ${recipients.length - maxAuditedRecipients} others`;

const failureToAudit = (error: unknown): {result: string; detail: string} => {
  if (!(error instanceof Fault)) return {result: 'internal', detail: ''};
  const {code, detail, details} = error;
  const refusals = (details.fields ?? []).filter(({detail: reply}) => !reply.startsWith('2'));
  const replies = refusals.slice(0, maxAuditedReplies).map(({path, detail: reply}) => `${path}: ${reply}`);
  return {result: code, detail: [detail, ...replies].join('; ')};
};
