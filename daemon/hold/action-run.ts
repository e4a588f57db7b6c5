// Run of one action on one held mail: claim it, act, record the result.
import {Fault} from '../../shared/fault.ts';
import type {ActedState, ActionOutcome} from '../../shared/held-mail.ts';
import {recipientKeyId} from '../../shared/recipient-key.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {Trainer} from '../services/intake/mail.ts';
import type {Store} from '../services/ports.ts';
import type {Claim, ClaimedState, Delivered, RecipientAct, StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {createSemaphore} from '../services/semaphore.ts';
import type {HoldBackend} from './hold-backend.ts';
import {claimedState, endState, type HoldWrites, isTrainable, type RequestedAction, type RequestedPart} from './hold-writes.ts';
import {createSetbacks, type Setbacks} from './setbacks.ts';

export interface ActionRun {
  /** Resolves with the mail after the action; undefined when another action came first. */
  perform(mail: StoredHeldMail, requested: RequestedAction): Promise<StoredHeldMail | undefined>;
  /** The same for a part of the recipients of a mail whose bytes are stored here. The mail is held for the others. */
  performFor(mail: StoredHeldMail, requested: RequestedPart): Promise<StoredHeldMail | undefined>;
  /** Records the result of an action that could not be recorded at the time; takes a claim back whose action has no result. */
  catchUp(mail: StoredHeldMail): Promise<void>;
  /** Ids of mails whose action has ended, but whose result is not recorded yet. */
  unwritten(): string[];
  isUnwritten(queueId: string): boolean;
  /** For a mail that has ended: its result needs no record any more. */
  settle(queueId: string): Promise<void>;
}

interface Needs {
  nodeId: string;
  store: Pick<Store, 'hold'>;
  writes: HoldWrites;
  backendOf(mail: StoredHeldMail): HoldBackend;
  trainer: Trainer;
  cleanup: Cleanup;
  onActed(outcome: ActionOutcome, domainId: number): void;
  now: () => number;
}

/** `delivered`: what a server said of a released mail. */
interface DoneAction extends RequestedAction {
  delivered?: Delivered | undefined;
}

export const createActionRun = (needs: Needs): ActionRun => {
  const {nodeId, writes, backendOf, cleanup, onActed, now} = needs;
  /** Actions that are done but not yet in the database: they must not be done again. */
  const done = new Map<string, DoneAction>();
  const setbacks = createSetbacks({nodeId, writes, now});

  /**
   * The final state and its audit entry are one commit. The bytes are freed after it; a crash between the two is cleaned up at
   * start.
   */
  const end = async (mail: StoredHeldMail, from: 'held' | ClaimedState, {action, actor, delivered}: DoneAction) => {
    const state = endState[action];
    if (action !== 'expire') crashPoint(`${action}-row.before`);
    const detail = actor.keyId === recipientKeyId ? `for ${mail.recipients.join(', ')}` : '';
    let endedAt = await writes.end(mail.queue_id, {from, state, actor, action, detail, delivered});
    // The lease of the claim ended during the action: the mail is held again, and must not be delivered again.
    if (from !== 'held') endedAt ??= await writes.end(mail.queue_id, {from: 'held', state, actor, action, detail, delivered});
    if (action !== 'expire') crashPoint(`${action}-row.after`);
    done.delete(mail.queue_id);
    if (endedAt === undefined) return undefined;
    const ended = {...mail, acted_at: endedAt, acted_by_key_id: actor.keyId};
    if (state !== 'expired') onActed(outcomeOf(nodeId, ended, {state, already: false}), mail.domain_id);
    const backend = backendOf(mail);
    if (backend.isReadableToTheEnd) await train(needs, mail, {action, actor});
    await cleanup.free(backend, mail.queue_id);
    return ended;
  };

  const catchUp = async (mail: StoredHeldMail): Promise<void> => {
    const requested = done.get(mail.queue_id);
    if (requested) await end(mail, claimedState(requested.action), requested);
    else await setbacks.takeBack(mail.queue_id);
  };
  const isUnwritten = (queueId: string): boolean => done.has(queueId) || setbacks.open.has(queueId);

  /** True when the result of an earlier action had to be recorded first: what is to be done depends on it. */
  const hasCaughtUp = async (mail: StoredHeldMail): Promise<boolean> => {
    if (!isUnwritten(mail.queue_id)) return false;
    await catchUp(mail);
    return true;
  };

  const claim = createClaim(writes, setbacks);

  /** Undefined when another caller came first. */
  const perform = async (mail: StoredHeldMail, requested: RequestedAction) => {
    const {queue_id: queueId} = mail;
    const {action, actor} = requested;
    if (await hasCaughtUp(mail)) return undefined;
    const backend = backendOf(mail);
    if (action !== 'release' && !backend.discard) return end(mail, 'held', requested);

    const state = claimedState(action);
    if (!(await claim(mail, {state, keyId: actor.keyId}))) return undefined;
    if (!backend.isReadableToTheEnd) await train(needs, mail, requested);
    let delivered: Delivered | undefined;
    try {
      if (action === 'release')
        delivered = await backend.release(mail, recipients => setbacks.served(queueId, {actor, recipients}));
      else await backend.discard?.(mail);
    } catch (error) {
      return setbacks.fail(mail, requested, error);
    }
    const ended = {...requested, delivered};
    done.set(queueId, ended);
    return end(mail, state, ended).catch(error => {
      throw unrecorded(error);
    });
  };

  const performFor: ActionRun['performFor'] = async (mail, requested) =>
    (await hasCaughtUp(mail)) ? undefined : runFor(mail, requested, {claim, backend: backendOf(mail), setbacks});

  return {
    perform,
    performFor,
    catchUp,
    unwritten: () => [...done.keys(), ...setbacks.open],
    isUnwritten,
    async settle(queueId) {
      done.delete(queueId);
      await setbacks.settle(queueId);
    },
  };
};

/** False when another caller came first: since the mail was read, it was claimed, or ended for some of its recipients. */
type ClaimAsRead = (mail: StoredHeldMail, claimed: Claim) => Promise<boolean>;

const createClaim =
  (writes: HoldWrites, setbacks: Setbacks): ClaimAsRead =>
  async ({queue_id: queueId, recipients: known}, claimed) => {
    const recipients = await writes.claim(queueId, claimed).catch(error => {
      if (error instanceof Fault && error.code === 'outcome_unknown') setbacks.open.add(queueId);
      throw error;
    });
    if (recipients && recipients.length < known.length) await setbacks.takeBack(queueId);
    return recipients?.length === known.length;
  };

interface PartNeeds {
  claim: ClaimAsRead;
  backend: HoldBackend;
  setbacks: Setbacks;
}

/** Claims the mail, acts for some of its recipients, and gives it back for the others. Undefined when another caller came first. */
const runFor = async (
  mail: StoredHeldMail,
  requested: RequestedPart,
  {claim, backend, setbacks}: PartNeeds,
): Promise<StoredHeldMail | undefined> => {
  const {queue_id: queueId} = mail;
  const {action, actor, only} = requested;
  if (!(await claim(mail, {state: claimedState(action), keyId: actor.keyId}))) return undefined;
  const onServed = (recipients: string[]) => setbacks.served(queueId, {actor, recipients});
  let delivered: Delivered | undefined;
  try {
    if (action === 'release') delivered = await backend.release({...mail, recipients: [...only]}, onServed);
  } catch (error) {
    return setbacks.fail(mail, requested, error);
  }
  const actedAt = await setbacks.endFor(queueId, {action, actor, recipients: only, delivered}).catch(error => {
    throw action === 'release' ? unrecorded(error) : error;
  });
  return actedAt === undefined ? undefined : {...mail, acted_at: actedAt, acted_by_key_id: actor.keyId};
};

/** The action is done, whatever the store says of its record, which follows. */
const unrecorded = (error: unknown): unknown =>
  error instanceof Fault && error.code === 'unavailable'
    ? new Fault('outcome_unknown', 'the action is done and will be recorded later; repeating the request is safe', {cause: error})
    : error;

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

/** Of recipients for whom it was done before. */
export const outcomeForSome = (nodeId: string, mail: StoredHeldMail, {state, ...act}: RecipientAct): ActionOutcome =>
  outcomeOf(nodeId, {...mail, ...act}, {state, already: true});

/**
 * Trains on the decision of an administrator, once for each mail, while the bytes are available; not where its recipients decided otherwise.
 * What recipients decide teaches nothing: any one of them could have the spam that he sends himself learned, for all domains.
 */
const train = async (
  {trainer, store, backendOf}: Needs,
  mail: StoredHeldMail,
  {action, actor}: RequestedAction,
): Promise<void> => {
  if (action === 'expire' || actor.keyId === recipientKeyId || !isTrainable(mail)) return;
  const {queue_id: queueId, sender, recipients} = mail;
  const read = async () => {
    const acts = (await store.hold.recipientActs([queueId])).get(queueId) ?? [];
    return acts.every(({state}) => state === endState[action]) ? backendOf(mail).body(mail) : undefined;
  };
  await trainer.train(action === 'release' ? 'ham' : 'spam', {queueId, sender, recipients}, read);
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
      const freed = inTurn
        .run(async () => backend.forget(queueId))
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
