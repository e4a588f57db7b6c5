// What may happen to a held mail, and that it happens once:
//   held → releasing → released     held → (discarding →) discarded or expired     held → gone, by another hand

import {Fault} from '../../shared/fault.ts';
import type {ActedState, ActionOutcome, HoldAction} from '../../shared/held-mail.ts';
import {type AccessScope, isWithinAccess} from '../../shared/scopes.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {Trainer} from '../services/intake/mail-ports.ts';
import type {Actor, Store, StoreTransaction} from '../services/ports.ts';
import {answerMs} from '../services/quarantine/answer-limit.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {failureToAudit} from './delivery-failure.ts';
import {createHeldFinder} from './held-finder.ts';
import {type HoldBackend, LeftQueue} from './hold-backend.ts';
import {
  type Act,
  type AuditActor,
  claimedState,
  endState,
  goneMail,
  isClaimed,
  isTrainable,
  leftByHand,
  nobody,
  type RequestedAction,
  unknownMail,
} from './hold-state.ts';
import {type AuditedAct, createHoldWrites, type RecordAudit} from './hold-writes.ts';
import {createSemaphore} from './semaphore.ts';

export interface HoldActions {
  act(action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome>;
  /** Ends the life of a held mail without a person asking; false when it is not held any more. */
  expire(queueId: string): Promise<boolean>;
  /** The mail, whatever its state; a Fault `not_found` outside `reach`. */
  find(queueId: string, reach: AccessScope): Promise<StoredHeldMail>;
  audit(tx: Pick<StoreTransaction, 'audit'>, actor: AuditActor, act: AuditedAct): Promise<void>;
  /** Whether something is being done to a mail at this moment, or was done and could not be written down yet. */
  isUnderWay(queueId: string): boolean;
  /** Writes down what was done and could not be written down then. */
  catchUp(): Promise<void>;
  /** Resolves once no action is under way, and what they have freed is gone. */
  idle(): Promise<void>;
}

export interface HoldActionsNeeds {
  nodeId: string;
  store: Store;
  backendOf(mail: StoredHeldMail): HoldBackend;
  trainer: Trainer;
  withReserve<T>(write: () => Promise<T>): Promise<T>;
  /** Told of every release and discard once it is on stable storage. */
  onActed(outcome: ActionOutcome, domainId: number): void;
  /** Told of what could not be freed after a mail's life had ended. */
  onLeftover(queueId: string, error: unknown): void;
  now: () => number;
  /** How long the caller of an action waits. */
  withinMs?: number;
}

/** The database works on the same few threads. */
const freeAtOnce = 2;
const awaitedAtMost = 16;

export const createHoldActions = ({
  nodeId,
  store,
  backendOf,
  trainer,
  withReserve,
  onActed,
  onLeftover,
  now,
  withinMs = answerMs,
}: HoldActionsNeeds): HoldActions => {
  const underWay = new Map<string, Promise<unknown>>();
  /** What was done while the database does not say so yet: it must not be done again. */
  const done = new Map<string, RequestedAction>();
  /** Recipients who have had a mail that others have not, while the database does not say so yet. */
  const served = new Map<string, string[]>();
  const beingFreed = new Set<Promise<void>>();
  const freeing = createSemaphore(freeAtOnce);
  const writes = createHoldWrites({nodeId, store, withReserve, now});
  const lookUp = createHeldFinder(store);

  const find: HoldActions['find'] = async (queueId, reach) => {
    const mail = await lookUp(queueId);
    if (!mail || !isWithinAccess(reach, mail.domain_id)) throw unknownMail(nodeId, queueId);
    return mail;
  };

  const outcome = (mail: StoredHeldMail, state: ActedState, already: boolean): ActionOutcome => ({
    node_id: nodeId,
    queue_id: mail.queue_id,
    state,
    acted_at: mail.acted_at ?? '',
    acted_by_key_id: mail.acted_by_key_id,
    already,
  });

  /** Of what people decide, by whoever was first, while the bytes are there. */
  const teach = async (mail: StoredHeldMail, action: Act): Promise<void> => {
    if (action === 'expire' || !isTrainable(mail)) return;
    const {queue_id: queueId, sender, recipients} = mail;
    const read = async () => backendOf(mail).body(mail);
    await trainer.train(action === 'release' ? 'ham' : 'spam', {queueId, sender, recipients}, read);
  };

  /** The end and its audit entry are one commit; what is freed is freed after it, and a crash between the two is tidied at start. */
  const end = async (mail: StoredHeldMail, from: 'held' | 'releasing' | 'discarding', {action, actor}: RequestedAction) => {
    const state = endState[action];
    if (action !== 'expire') crashPoint(`${action}-row.before`);
    const endedAt = await writes.end(mail.queue_id, {from, state, actor, action});
    if (action !== 'expire') crashPoint(`${action}-row.after`);
    done.delete(mail.queue_id);
    if (endedAt === undefined) return undefined;
    const ended = {...mail, acted_at: endedAt, acted_by_key_id: actor.keyId};
    if (state !== 'expired') onActed(outcome(ended, state, false), mail.domain_id);
    const keeper = backendOf(mail);
    if (keeper.isReadableToTheEnd) await teach(mail, action);
    await free(keeper, mail.queue_id);
    return ended;
  };

  /** Of many at once nobody waits for it: it makes no difference to what became of the mails. */
  const free = async (keeper: HoldBackend, queueId: string): Promise<void> => {
    const freed = freeing(async () => keeper.forget(queueId))
      .catch(error => onLeftover(queueId, error))
      .finally(() => beingFreed.delete(freed));
    beingFreed.add(freed);
    if (beingFreed.size <= awaitedAtMost) await freed;
  };

  /** Back into the queue, for those who have not had it, in one commit with what else there is to say. */
  const takeBack = async (queueId: string, describe: (recordAudit: RecordAudit) => void = () => {}): Promise<void> => {
    const recipients = served.get(queueId) ?? [];
    await writes.write(async (tx, recordAudit) => {
      if (recipients.length > 0) await tx.hold.strikeRecipients(queueId, recipients);
      await tx.hold.unclaim([queueId]);
      describe(recordAudit);
    });
    served.delete(queueId);
  };

  /** Somebody took it out of the queue by hand: nobody here knows what became of it. */
  const markGone = async (mail: StoredHeldMail, from: 'releasing' | 'discarding'): Promise<never> => {
    const at = new Date(now()).toISOString();
    await writes.write(async (tx, recordAudit) => {
      await tx.hold.end([mail.queue_id], from, {state: 'gone', at, keyId: null});
      recordAudit(nobody, {action: 'gone', queueId: mail.queue_id, detail: leftByHand});
    });
    throw goneMail(nodeId, {...mail, acted_at: at});
  };

  /** Its keeper finds out at its next look; until then the claim stands, so that it is known whose it was. */
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
      // Retention comes again and again.
      if (action !== 'expire') recordAudit(actor, {action, queueId: mail.queue_id, ...failureToAudit(error)});
    });
    throw error;
  };

  /** Undefined when another one was first. */
  const perform = async (mail: StoredHeldMail, requested: RequestedAction) => {
    const {queue_id: queueId} = mail;
    const {action, actor} = requested;
    const keeper = backendOf(mail);
    if (action !== 'release' && !keeper.discard) return end(mail, 'held', requested);

    const state = claimedState(action);
    if (!(await writes.claim(queueId, {state, keyId: actor.keyId}))) return undefined;
    if (!keeper.isReadableToTheEnd) await teach(mail, action);
    try {
      if (action === 'release') await keeper.release(mail, recipients => void served.set(queueId, recipients));
      else await keeper.discard?.(mail);
    } catch (error) {
      return fail(mail, requested, error);
    }
    done.set(queueId, requested);
    return end(mail, state, requested);
  };

  /** Whoever claimed a mail could not write down how that ended. */
  const catchUp = async (mail: StoredHeldMail): Promise<void> => {
    const requested = done.get(mail.queue_id);
    if (requested) await end(mail, claimedState(requested.action), requested);
    else await takeBack(mail.queue_id);
  };

  /** In turn, so that nobody else acts on this mail; but an action that could not be written down may come first. */
  const attempt = async (action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome> => {
    const mail = await find(queueId, actor.reach);
    switch (mail.state) {
      case 'released':
      case 'discarded':
        if (mail.state === endState[action]) return outcome(mail, mail.state, true);
        throw new Fault('conflict', `${nodeId}/${queueId} was ${mail.state} at ${mail.acted_at}; that cannot be undone`);
      case 'expired':
      case 'lost':
        throw unknownMail(nodeId, queueId);
      case 'gone':
        throw goneMail(nodeId, mail);
      case 'releasing':
      case 'discarding':
        return catchUp(mail).then(async () => attempt(action, queueId, actor));
      case 'held': {
        const ended = await perform(mail, {action, actor});
        return ended ? outcome(ended, endState[action], false) : attempt(action, queueId, actor);
      }
      default:
        return mail.state satisfies never;
    }
  };

  /** Whoever wants the same mail waits for the outcome of the one before. */
  const inTurn = async <T>(queueId: string, work: () => Promise<T>): Promise<T> => {
    const before = underWay.get(queueId)?.catch(() => {});
    const own = Promise.resolve(before).then(work);
    underWay.set(queueId, own);
    return own.finally(() => {
      if (underWay.get(queueId) === own) underWay.delete(queueId);
    });
  };

  return {
    find,
    audit: async (tx, actor, act) => tx.audit.append(writes.entryOf(actor, act)),
    async act(action, queueId, actor) {
      const askedAt = performance.now();
      return inTurn(queueId, async () => {
        if (performance.now() - askedAt < withinMs) return attempt(action, queueId, actor);
        // The caller has been answered by now, and may have asked for something else since.
        throw new Fault('outcome_unknown', `another action on ${nodeId}/${queueId} took too long; nothing was done by this one`);
      });
    },

    async expire(queueId) {
      // What somebody is deciding about may be there at the next sweep.
      if (underWay.has(queueId)) return false;
      return inTurn(queueId, async () => {
        const mail = await lookUp(queueId);
        if (mail?.state !== 'held') return false;
        return (await perform(mail, {action: 'expire', actor: nobody})) !== undefined;
      });
    },

    async catchUp() {
      for (const queueId of done.keys())
        await inTurn(queueId, async () => {
          const mail = await lookUp(queueId);
          if (mail && isClaimed(mail)) await catchUp(mail);
          else done.delete(queueId);
        });
    },

    isUnderWay: queueId => underWay.has(queueId) || done.has(queueId),

    async idle() {
      await Promise.allSettled(underWay.values());
      await Promise.all(beingFreed);
    },
  };
};
