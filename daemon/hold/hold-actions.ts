// What may happen to a held mail, and that it happens once:
//   held → releasing → released     held → discarded     held → expired
import {Fault} from '../../shared/fault.ts';
import type {ActedState, ActionOutcome, HoldAction} from '../../shared/held-mail.ts';
import {isWithinReach, type Reach} from '../../shared/scopes.ts';
import type {Actor, Deliver, Route} from '../services/ports.ts';
import {appendAudit} from '../store/audit.ts';
import type {Database, Db} from '../store/database.ts';
import {claim, endLife, findHeldMail, type StoredHeldMail, strikeRecipients, unclaim} from '../store/held-mail.ts';
import {deliveryFailed, failureToAudit} from './delivery-failure.ts';
import {openForDelivery} from './held-file.ts';
import type {Spool} from './spool.ts';

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
  /** Resolves once no action is under way. */
  idle(): Promise<void>;
}

export interface HoldActionsNeeds {
  nodeId: string;
  database: Database;
  spool: Spool;
  deliver: Deliver;
  /** Where a released mail goes now; a Fault `delivery_failed` when it has nowhere to go. */
  routeOf(mail: StoredHeldMail): Route;
  withRoom<T>(write: () => Promise<T>): Promise<T>;
  /** Told of every release and discard once it is on stable storage. */
  onActed(outcome: ActionOutcome, domainId: number): void;
  /** Told of a file that could not be removed after its mail's life had ended. */
  onLeftover(queueId: string, error: unknown): void;
  now: () => number;
}

/** The node itself, when retention is over. */
const nobody = {keyId: null, remoteAddress: null};

const endState = {release: 'released', discard: 'discarded'} as const satisfies Record<HoldAction, ActedState>;

export const createHoldActions = ({
  nodeId,
  database,
  spool,
  deliver,
  routeOf,
  withRoom,
  onActed,
  onLeftover,
  now,
}: HoldActionsNeeds): HoldActions => {
  const underWay = new Map<string, Promise<ActionOutcome>>();
  /** Mails that were delivered, and for whom, while the database does not say so yet: nobody may get them again. */
  const delivered = new Map<string, Actor>();
  /** The same for mails that only some recipients have had. */
  const served = new Map<string, string[]>();
  const timestamp = () => new Date(now()).toISOString();
  const write = async <T>(work: (tx: Db) => Promise<T>): Promise<T> => withRoom(async () => database.write.transaction(work));

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

  /** What cannot be removed now is removed at the next start; the mail's life is over all the same. */
  const removeFile = async (queueId: string): Promise<void> => spool.remove(queueId).catch(error => onLeftover(queueId, error));

  /** The end and its audit entry are one commit; the bytes go after it, and a crash between the two is tidied at start. */
  const end = async (mail: StoredHeldMail, from: 'held' | 'releasing', actor: Actor, action: HoldAction) => {
    const ending = {state: endState[action], at: timestamp(), keyId: actor.keyId};
    const isEnded = await write(async tx => {
      const changed = await endLife(tx, mail.queue_id, from, ending);
      if (changed) await audit(tx, actor, {action, queueId: mail.queue_id});
      return changed;
    });
    if (!isEnded) return undefined;
    const done = outcome({...mail, acted_at: ending.at, acted_by_key_id: ending.keyId}, ending.state, false);
    onActed(done, mail.domain_id);
    await removeFile(mail.queue_id);
    return done;
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

  const deliverAll = async (mail: StoredHeldMail): Promise<void> => {
    const content = await openForDelivery(spool, mail);
    const envelope = {sender: mail.sender, recipients: mail.recipients, isUtf8: mail.is_utf8, isEightBit: mail.is_eight_bit};
    const results = await deliver.deliver(routeOf(mail), envelope, content);
    if (results.every(({outcome}) => outcome === 'delivered')) return;

    const reached = results.filter(({outcome}) => outcome === 'delivered').map(({recipient}) => recipient);
    served.set(mail.queue_id, reached);
    throw deliveryFailed(results);
  };

  const release = async (mail: StoredHeldMail, actor: Actor): Promise<ActionOutcome> => {
    try {
      await deliverAll(mail);
    } catch (error) {
      await takeBack(mail.queue_id, async tx =>
        audit(tx, actor, {action: 'release', queueId: mail.queue_id, ...failureToAudit(error)}),
      );
      throw error;
    }
    delivered.set(mail.queue_id, actor);
    return finishRelease(mail, actor);
  };

  const finishRelease = async (mail: StoredHeldMail, actor: Actor): Promise<ActionOutcome> => {
    const done = await end(mail, 'releasing', actor, 'release');
    if (!done) throw new Error(`${mail.queue_id} left the state releasing while it was delivered`);
    delivered.delete(mail.queue_id);
    return done;
  };

  /** Nobody else acts on this mail, but for retention: it may expire between any two steps. */
  const attempt = async (action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome> => {
    const mail = await find(queueId, actor.reach);
    if (mail.state === endState[action]) return outcome(mail, mail.state, true);
    if (mail.state === 'released' || mail.state === 'discarded')
      throw new Fault('conflict', `${nodeId}/${queueId} was ${mail.state} at ${mail.acted_at}; that cannot be undone`);
    if (mail.state === 'expired' || mail.state === 'lost') throw unknownMail(nodeId, queueId);
    // Whoever claimed it could not write down how that ended.
    const releasedBy = delivered.get(queueId);
    if (releasedBy) return finishRelease(mail, releasedBy).then(async () => attempt(action, queueId, actor));
    if (mail.state === 'releasing') return takeBack(queueId).then(async () => attempt(action, queueId, actor));

    if (action === 'discard') return (await end(mail, 'held', actor, action)) ?? attempt(action, queueId, actor);
    return (await write(async tx => claim(tx, queueId))) ? release(mail, actor) : attempt(action, queueId, actor);
  };

  return {
    find,
    audit,

    async act(action, queueId, actor) {
      // Whoever wants the same mail waits for the outcome of the one before.
      const before = underWay.get(queueId)?.catch(() => {});
      const own = Promise.resolve(before).then(async () => attempt(action, queueId, actor));
      underWay.set(queueId, own);
      return own.finally(() => {
        if (underWay.get(queueId) === own) underWay.delete(queueId);
      });
    },

    async expire(queueId) {
      const isEnded = await write(async tx => {
        const changed = await endLife(tx, queueId, 'held', {state: 'expired', at: timestamp(), keyId: null});
        if (changed) await audit(tx, nobody, {action: 'expire', queueId});
        return changed;
      });
      if (isEnded) await removeFile(queueId);
      return isEnded;
    },

    async idle() {
      await Promise.allSettled(underWay.values());
    },
  };
};

export const unknownMail = (nodeId: string, queueId: string): Fault =>
  new Fault('not_found', `there is no held mail ${nodeId}/${queueId}; GET /mail/quarantine lists them`);
