// What may happen to a held mail, and that it happens once:
//   held → releasing → released     held → (discarding →) discarded or expired     held → gone, by another hand
import {Fault} from '../../shared/fault.ts';
import type {ActedState, ActionOutcome, HoldAction} from '../../shared/held-mail.ts';
import {isWithinReach, type Reach} from '../../shared/scopes.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {Actor, Learner} from '../services/ports.ts';
import {appendAudit} from '../store/audit.ts';
import type {Database, Db} from '../store/database.ts';
import {
  claim,
  type Ending,
  endLife,
  findHeldMail,
  type StoredHeldMail,
  strikeRecipients,
  unclaim,
  unjudged,
} from '../store/held-mail.ts';
import {failureToAudit} from './delivery-failure.ts';
import {type Keeper, LeftQueue} from './keeper.ts';
import {createSharedWrites} from './shared-writes.ts';

export interface HoldActions {
  act(action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome>;
  /** Ends the life of a held mail without a person asking; false when it is not held any more. */
  expire(queueId: string): Promise<boolean>;
  /** The mail, whatever its state; a Fault `not_found` outside `reach`. */
  find(queueId: string, reach: Reach): Promise<StoredHeldMail>;
  audit(
    tx: Db,
    actor: Pick<Actor, 'keyId' | 'remoteAddress'>,
    entry: {action: string; queueId: string; result?: string; detail?: string},
  ): Promise<void>;
  /** Whether something is being done to a mail at this moment, or was done and could not be written down yet. */
  isUnderWay(queueId: string): boolean;
  /** Writes down what was done and could not be written down then. */
  catchUp(): Promise<void>;
  /** Resolves once no action is under way. */
  idle(): Promise<void>;
}

export interface HoldActionsNeeds {
  nodeId: string;
  database: Database;
  keeperOf(mail: StoredHeldMail): Keeper;
  learner: Learner;
  withRoom<T>(write: () => Promise<T>): Promise<T>;
  /** Told of every release and discard once it is on stable storage. */
  onActed(outcome: ActionOutcome, domainId: number): void;
  /** Told of what could not be freed after a mail's life had ended. */
  onLeftover(queueId: string, error: unknown): void;
  now: () => number;
}

type Doer = Pick<Actor, 'keyId' | 'remoteAddress'>;
type Act = HoldAction | 'expire';

/** The node itself, when retention is over. */
const nobody: Doer = {keyId: null, remoteAddress: null};

const endState = {release: 'released', discard: 'discarded', expire: 'expired'} as const satisfies Record<Act, Ending['state']>;

export const createHoldActions = ({
  nodeId,
  database,
  keeperOf,
  learner,
  withRoom,
  onActed,
  onLeftover,
  now,
}: HoldActionsNeeds): HoldActions => {
  const underWay = new Map<string, Promise<unknown>>();
  /** What was done while the database does not say so yet: it must not be done again. */
  const done = new Map<string, {action: Act; doer: Doer}>();
  /** Recipients who have had a mail that others have not, while the database does not say so yet. */
  const served = new Map<string, string[]>();
  const timestamp = () => new Date(now()).toISOString();
  const write = createSharedWrites(database, withRoom);

  const find: HoldActions['find'] = async (queueId, reach) => {
    const mail = await findHeldMail(database.read, queueId);
    if (!mail || !isWithinReach(reach, mail.domain_id)) throw unknownMail(nodeId, queueId);
    return mail;
  };

  const audit: HoldActions['audit'] = async (tx, {keyId, remoteAddress}, {action, queueId, result = 'ok', detail = ''}) =>
    appendAudit(tx, {
      at: timestamp(),
      key_id: keyId,
      action: `quarantine.${action}`,
      target: `${nodeId}/${queueId}`,
      remote_address: remoteAddress,
      result,
      detail,
    });

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
    if (action === 'expire' || !isLesson(mail)) return;
    const {queue_id: queueId, sender, recipients} = mail;
    const read = async () => keeperOf(mail).body(mail);
    await learner.learn(action === 'release' ? 'ham' : 'spam', {queueId, sender, recipients}, read);
  };

  /** The end and its audit entry are one commit; what is freed is freed after it, and a crash between the two is tidied at start. */
  const end = async (
    mail: StoredHeldMail,
    from: 'held' | 'releasing' | 'discarding',
    {action, doer}: {action: Act; doer: Doer},
  ) => {
    const ending = {state: endState[action], at: timestamp(), keyId: doer.keyId};
    if (action !== 'expire') crashPoint(`${action}-row.before`);
    const isEnded = await write(async tx => {
      const changed = await endLife(tx, mail.queue_id, from, ending);
      if (changed) await audit(tx, doer, {action, queueId: mail.queue_id});
      return changed;
    });
    if (action !== 'expire') crashPoint(`${action}-row.after`);
    done.delete(mail.queue_id);
    if (!isEnded) return undefined;
    const ended = {...mail, acted_at: ending.at, acted_by_key_id: ending.keyId};
    if (ending.state !== 'expired') onActed(outcome(ended, ending.state, false), mail.domain_id);
    const keeper = keeperOf(mail);
    if (keeper.isReadableToTheEnd) await teach(mail, action);
    await keeper.forget(mail.queue_id).catch(error => onLeftover(mail.queue_id, error));
    return ended;
  };

  /** Back into the queue, for those who have not had it, in one commit with what else there is to say. */
  const takeBack = async (queueId: string, say: (tx: Db) => Promise<void> = async () => {}): Promise<void> => {
    const recipients = served.get(queueId) ?? [];
    await write(async tx => {
      if (recipients.length > 0) await strikeRecipients(tx, queueId, recipients);
      await unclaim(tx, [queueId]);
      await say(tx);
    });
    served.delete(queueId);
  };

  /** Somebody took it out of the queue by hand: nobody here knows what became of it. */
  const markGone = async (mail: StoredHeldMail, from: 'releasing' | 'discarding'): Promise<never> => {
    const at = timestamp();
    await write(async tx => {
      await endLife(tx, mail.queue_id, from, {state: 'gone', at, keyId: null});
      await audit(tx, nobody, {action: 'gone', queueId: mail.queue_id, detail: leftByHand});
    });
    throw goneMail(nodeId, {...mail, acted_at: at});
  };

  /** Its keeper finds out at its next look; until then the claim stands, so that it is known whose it was. */
  const leaveOpen = async (mail: StoredHeldMail, {action, doer}: {action: Act; doer: Doer}, error: Fault): Promise<never> => {
    await write(async tx => audit(tx, doer, {action, queueId: mail.queue_id, ...failureToAudit(error)}));
    throw error;
  };

  const fail = async (mail: StoredHeldMail, {action, doer}: {action: Act; doer: Doer}, error: unknown): Promise<never> => {
    if (error instanceof LeftQueue) return markGone(mail, claimedState(action));
    if (error instanceof Fault && error.code === 'outcome_unknown') return leaveOpen(mail, {action, doer}, error);
    await takeBack(mail.queue_id, async tx => {
      // Retention comes again and again.
      if (action !== 'expire') await audit(tx, doer, {action, queueId: mail.queue_id, ...failureToAudit(error)});
    });
    throw error;
  };

  /** Undefined when another one was first. */
  const perform = async (mail: StoredHeldMail, deed: {action: Act; doer: Doer}) => {
    const {queue_id: queueId} = mail;
    const {action, doer} = deed;
    const keeper = keeperOf(mail);
    if (action !== 'release' && !keeper.discard) return end(mail, 'held', deed);

    const state = claimedState(action);
    if (!(await write(async tx => claim(tx, queueId, {state, keyId: doer.keyId})))) return undefined;
    if (!keeper.isReadableToTheEnd) await teach(mail, action);
    try {
      if (action === 'release') await keeper.release(mail, recipients => void served.set(queueId, recipients));
      else await keeper.discard?.(mail);
    } catch (error) {
      return fail(mail, deed, error);
    }
    done.set(queueId, deed);
    return end(mail, state, deed);
  };

  /** Whoever claimed a mail could not write down how that ended. */
  const catchUp = async (mail: StoredHeldMail): Promise<void> => {
    const deed = done.get(mail.queue_id);
    if (deed) await end(mail, claimedState(deed.action), deed);
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
        const ended = await perform(mail, {action, doer: actor});
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
    audit,
    act: async (action, queueId, actor) => inTurn(queueId, async () => attempt(action, queueId, actor)),

    async expire(queueId) {
      // What somebody is deciding about may be there at the next sweep.
      if (underWay.has(queueId)) return false;
      return inTurn(queueId, async () => {
        const mail = await findHeldMail(database.read, queueId);
        if (mail?.state !== 'held') return false;
        return (await perform(mail, {action: 'expire', doer: nobody})) !== undefined;
      });
    },

    async catchUp() {
      for (const queueId of done.keys())
        await inTurn(queueId, async () => {
          const mail = await findHeldMail(database.read, queueId);
          if (mail && isClaimed(mail)) await catchUp(mail);
          else done.delete(queueId);
        });
    },

    isUnderWay: queueId => underWay.has(queueId) || done.has(queueId),

    async idle() {
      await Promise.allSettled(underWay.values());
    },
  };
};

/**
 * Inbound mail that was held for what it is. Outbound mail is released and discarded for other reasons, and its words are those of
 * the answers to it; and what nobody judged was put on hold by hand.
 */
const isLesson = ({direction, symbol_scores}: StoredHeldMail): boolean =>
  direction === 'inbound' && symbol_scores.some(({name}) => name !== unjudged);

export const leftByHand = 'it had left Postfix’s hold queue by another hand';

const isClaimed = ({state}: StoredHeldMail): boolean => state === 'releasing' || state === 'discarding';

const claimedState = (action: Act) => (action === 'release' ? 'releasing' : 'discarding');

export const unknownMail = (nodeId: string, queueId: string): Fault =>
  new Fault('not_found', `there is no held mail ${nodeId}/${queueId}; GET /mail/quarantine lists them`);

/** Noticed then; when it was, and what became of it, Postfix's log knows. */
const goneMail = (nodeId: string, {queue_id, acted_at}: StoredHeldMail): Fault =>
  new Fault('not_found', `${nodeId}/${queue_id} has left Postfix’s hold queue by another hand, before ${acted_at}`);
