// Run of one action on one held mail: claim it, act, record the result.
import {Fault} from '../../shared/fault.ts';
import type {ActedState, ActionOutcome} from '../../shared/held-mail.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {RecipientResult, Trainer} from '../services/intake/mail.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {type HoldBackend, LeftQueue} from './hold-backend.ts';
import {
  type Act,
  claimedState,
  endState,
  goneMail,
  type HoldWrites,
  isTrainable,
  leftByHand,
  nodeActor,
  type RecordAudit,
  type RequestedAction,
} from './hold-writes.ts';
import {createSemaphore} from './mail-locks.ts';

export interface ActionRun {
  /** Resolves with the mail after the action; undefined when another action came first. */
  perform(mail: StoredHeldMail, requested: RequestedAction): Promise<StoredHeldMail | undefined>;
  /** Records the result of an action that could not be recorded at the time. */
  catchUp(mail: StoredHeldMail): Promise<void>;
  /** Ids of mails whose action is done but not recorded yet. */
  unwritten(): string[];
  /** Forgets the mail: nothing is left to record. */
  settled(queueId: string): void;
}

interface Needs {
  nodeId: string;
  writes: HoldWrites;
  backendOf(mail: StoredHeldMail): HoldBackend;
  trainer: Trainer;
  cleanup: Cleanup;
  onActed(outcome: ActionOutcome, domainId: number): void;
  now: () => number;
}

export const createActionRun = (needs: Needs): ActionRun => {
  const {nodeId, writes, backendOf, cleanup, onActed, now} = needs;
  /** Actions that are done but not yet in the database: they must not be done again. */
  const done = new Map<string, RequestedAction>();
  const setbacks = createSetbacks({nodeId, writes, now});

  /**
   * The final state and its audit entry are one commit. The bytes are freed after it; a crash between the two is cleaned up at
   * start.
   */
  const end = async (mail: StoredHeldMail, from: 'held' | 'releasing' | 'discarding', {action, actor}: RequestedAction) => {
    const state = endState[action];
    if (action !== 'expire') crashPoint(`${action}-row.before`);
    const endedAt = await writes.end(mail.queue_id, {from, state, actor, action});
    if (action !== 'expire') crashPoint(`${action}-row.after`);
    done.delete(mail.queue_id);
    if (endedAt === undefined) return undefined;
    const ended = {...mail, acted_at: endedAt, acted_by_key_id: actor.keyId};
    if (state !== 'expired') onActed(outcomeOf(nodeId, ended, {state, already: false}), mail.domain_id);
    const backend = backendOf(mail);
    if (backend.isReadableToTheEnd) await train(needs, mail, action);
    await cleanup.free(backend, mail.queue_id);
    return ended;
  };

  /** Undefined when another caller came first. */
  const perform = async (mail: StoredHeldMail, requested: RequestedAction) => {
    const {queue_id: queueId} = mail;
    const {action, actor} = requested;
    const backend = backendOf(mail);
    if (action !== 'release' && !backend.discard) return end(mail, 'held', requested);

    const state = claimedState(action);
    if (!(await writes.claim(queueId, {state, keyId: actor.keyId}))) return undefined;
    if (!backend.isReadableToTheEnd) await train(needs, mail, action);
    try {
      if (action === 'release') await backend.release(mail, recipients => setbacks.served(queueId, recipients));
      else await backend.discard?.(mail);
    } catch (error) {
      return setbacks.fail(mail, requested, error);
    }
    done.set(queueId, requested);
    return end(mail, state, requested);
  };

  return {
    perform,
    async catchUp(mail) {
      const requested = done.get(mail.queue_id);
      if (requested) await end(mail, claimedState(requested.action), requested);
      else await setbacks.takeBack(mail.queue_id);
    },
    unwritten: () => [...done.keys()],
    settled: queueId => void done.delete(queueId),
  };
};

export const outcomeOf = (
  nodeId: string,
  mail: StoredHeldMail,
  {state, already}: {state: ActedState; already: boolean},
): ActionOutcome => ({
  node_id: nodeId,
  queue_id: mail.queue_id,
  state,
  acted_at: mail.acted_at ?? '',
  acted_by_key_id: mail.acted_by_key_id,
  already,
});

/** Trains on the decision of a person, once for each mail, while the bytes are available. */
const train = async ({trainer, backendOf}: Needs, mail: StoredHeldMail, action: Act): Promise<void> => {
  if (action === 'expire' || !isTrainable(mail)) return;
  const {queue_id: queueId, sender, recipients} = mail;
  const read = async () => backendOf(mail).body(mail);
  await trainer.train(action === 'release' ? 'ham' : 'spam', {queueId, sender, recipients}, read);
};

/** Records the result of a failed action: the mail is held again, has left the queue, or stays claimed. */
const createSetbacks = ({nodeId, writes, now}: Pick<Needs, 'nodeId' | 'writes' | 'now'>) => {
  /** Recipients who received a mail that others did not receive, until the database records it. */
  const served = new Map<string, string[]>();

  /** Holds the mail again for the remaining recipients, in one commit with the audit entries of `describe`. */
  const takeBack = async (queueId: string, describe: (recordAudit: RecordAudit) => void = () => {}): Promise<void> => {
    const recipients = served.get(queueId) ?? [];
    await writes.write(async (tx, recordAudit) => {
      if (recipients.length > 0) await tx.hold.strikeRecipients(queueId, recipients);
      await tx.hold.unclaim([queueId]);
      describe(recordAudit);
    });
    served.delete(queueId);
  };

  /** The mail was taken out of the queue by hand: this node cannot know what happened to it. */
  const markGone = async (mail: StoredHeldMail, from: 'releasing' | 'discarding'): Promise<never> => {
    const at = new Date(now()).toISOString();
    await writes.write(async (tx, recordAudit) => {
      await tx.hold.end([mail.queue_id], from, {state: 'gone', at, keyId: null});
      recordAudit(nodeActor, {action: 'gone', queueId: mail.queue_id, detail: leftByHand});
    });
    throw goneMail(nodeId, {...mail, acted_at: at});
  };

  /** The next poll of the queue finds the result; until then the claim stays and records who made it. */
  const leaveOpen = async (mail: StoredHeldMail, {action, actor}: RequestedAction, error: Fault): Promise<never> => {
    await writes.write(async (_tx, recordAudit) =>
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

  return {takeBack, fail, served: (queueId: string, recipients: string[]) => void served.set(queueId, recipients)};
};

/** One line per recipient, with the reply of its server. */
export const deliveryFailed = (results: readonly RecipientResult[]): Fault => {
  const delivered = results.filter(({outcome}) => outcome === 'delivered').length;
  const detail =
    delivered > 0
      ? `delivered to ${delivered} of ${results.length} recipients; the mail is still held for the others`
      : 'no recipient could be delivered; the mail is still held';
  return new Fault('delivery_failed', detail, {
    fields: results.map(({recipient, reply}) => ({path: recipient, detail: `${reply.code} ${reply.text}`.trim()})),
  });
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

export interface Cleanup {
  /** Never rejects. Does not wait when many mails are freed at once: their results are recorded already. */
  free(backend: HoldBackend, queueId: string): Promise<void>;
  idle(): Promise<void>;
}

/** Low, as the database uses the same thread pool. */
const freeAtOnce = 2;
const awaitedAtMost = 16;

/** `onLeftover` is called for bytes that could not be removed. */
export const createCleanup = (onLeftover: (queueId: string, error: unknown) => void): Cleanup => {
  const beingFreed = new Set<Promise<void>>();
  const inTurn = createSemaphore(freeAtOnce);
  return {
    async free(backend, queueId) {
      const freed = inTurn(async () => backend.forget(queueId))
        .catch(error => onLeftover(queueId, error))
        .finally(() => beingFreed.delete(freed));
      beingFreed.add(freed);
      if (beingFreed.size <= awaitedAtMost) await freed;
    },
    async idle() {
      await Promise.all(beingFreed);
    },
  };
};
