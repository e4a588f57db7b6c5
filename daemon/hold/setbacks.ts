// Results of failed actions on held mail: the mail is held again, has left the queue, or stays claimed.
import {Fault} from '../../shared/fault.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {LeftQueue} from './hold-backend.ts';
import {
  claimedState,
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

export const createSetbacks = ({nodeId, writes, now}: Needs) => {
  /** Recipients who received a mail that others did not receive, until the database records it. */
  const served = new Map<string, string[]>();
  /** Mails that the database could not be told to hold again. */
  const open = new Set<string>();

  /** Holds the mail again for the remaining recipients, in one commit with the audit entries of `describe`. */
  const takeBack = async (queueId: string, describe: (recordAudit: RecordAudit) => void = () => {}): Promise<void> => {
    const recipients = served.get(queueId) ?? [];
    open.add(queueId);
    await writes.write(queueId, async (tx, recordAudit) => {
      if (recipients.length > 0) await tx.hold.strikeRecipients(queueId, recipients);
      await tx.hold.unclaim([queueId]);
      describe(recordAudit);
    });
    served.delete(queueId);
    open.delete(queueId);
  };

  /** The mail was taken out of the queue by hand: this node cannot know what happened to it. */
  const markGone = async (mail: StoredHeldMail, from: 'releasing' | 'discarding'): Promise<never> => {
    const at = new Date(now()).toISOString();
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
    served: (queueId: string, recipients: string[]) => void served.set(queueId, recipients),
    open,
  };
};

/** The answer contains all replies; the audit entry of a mail to hundreds of recipients must stay short. */
const maxAuditedReplies = 3;

const failureToAudit = (error: unknown): {result: string; detail: string} => {
  if (!(error instanceof Fault)) return {result: 'internal', detail: ''};
  const {code, detail, details} = error;
  const refusals = (details.fields ?? []).filter(({detail: reply}) => !reply.startsWith('2'));
  const replies = refusals.slice(0, maxAuditedReplies).map(({path, detail: reply}) => `${path}: ${reply}`);
  return {result: code, detail: [detail, ...replies].join('; ')};
};
