// Actions on held mail. Each one happens once:
//   held → releasing → released     held → (discarding →) discarded or expired     held → gone (outside of mfd)
import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../shared/fault.ts';
import type {ActionOutcome, HoldAction} from '../../shared/held-mail.ts';
import {type AccessScope, isWithinAccess} from '../../shared/scopes.ts';
import type {Actor} from '../services/actor.ts';
import {createLookup} from '../services/batch.ts';
import type {Leases} from '../services/common-store.ts';
import type {Trainer} from '../services/intake/mail.ts';
import {answerMs} from '../services/peers/gather.ts';
import type {Store} from '../services/ports.ts';
import {isHeld, type StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {type ActionRun, createActionRun, createCleanup, outcomeForSome, outcomeOf} from './action-run.ts';
import type {HoldBackend} from './hold-backend.ts';
import {endState, goneMail, type HoldWrites, isClaimed, nodeActor, unknownMail} from './hold-writes.ts';
import {createMailLocks} from './mail-locks.ts';
import {namedRecipients} from './named-recipients.ts';

export interface HoldActions {
  act(action: HoldAction, queueId: string, actor: Actor, recipients?: readonly string[]): Promise<ActionOutcome>;
  /** Expires a held mail by retention; false when it is not held any more. */
  expire(queueId: string): Promise<boolean>;
  /** The mail in any state; throws a Fault `not_found` outside the access scope. */
  find(queueId: string, scope: AccessScope): Promise<StoredHeldMail>;
  /** Whether an action on the mail is running, or is done but not recorded yet. */
  isUnderWay(queueId: string): boolean;
  /** Records the results of actions that could not be recorded at the time. */
  catchUp(): Promise<void>;
  /** Resolves once no action is running and the bytes of ended mails are removed. */
  idle(): Promise<void>;
}

export interface HoldActionsNeeds {
  nodeId: string;
  store: Store;
  backendOf(mail: StoredHeldMail): HoldBackend;
  trainer: Trainer;
  writes: HoldWrites;
  /** Called for every release and discard once it is on stable storage. */
  onActed(outcome: ActionOutcome, domainId: number): void;
  /** Called when the bytes of an ended mail could not be removed. */
  onLeftover(queueId: string, error: unknown): void;
  now: () => number;
  /** How long the caller of an action waits. */
  withinMs?: number;
  /** For mail that any node may act on: a claim of spooled mail may be another node's. */
  leases?: Pick<Leases, 'isOwn'>;
}

interface Attempt {
  action: HoldAction;
  queueId: string;
  actor: Actor;
  /** Only for these. */
  recipients: readonly string[] | undefined;
  /** When the caller gives up, by `performance.now()`. */
  untilMs: number;
}

/** Between two polls of a mail that another node is acting on. */
const pollMs = 100;

export const createHoldActions = (needs: HoldActionsNeeds): HoldActions => {
  const {nodeId, store, leases, withinMs = answerMs} = needs;
  const locks = createMailLocks();
  const cleanup = createCleanup(needs.onLeftover);
  const run = createActionRun({...needs, cleanup});
  const findMail = createHeldFinder(store);

  const find: HoldActions['find'] = async (queueId, scope) => {
    const mail = await findMail(queueId);
    if (!mail || !isWithinAccess(scope, mail.domain_id)) throw unknownMail(nodeId, queueId);
    return mail;
  };

  /** No other action of this node on the mail is running. Mail in Postfix is its node's alone. */
  const isClaimedElsewhere = async ({keeper, queue_id: queueId}: StoredHeldMail): Promise<boolean> =>
    leases !== undefined && keeper === 'spool' && !run.isUnwritten(queueId) && !(await leases.isOwn(queueId));

  /** Runs under the lock of the mail. An earlier action whose result could not be recorded is finished first. */
  const attempt = async (wanted: Attempt): Promise<ActionOutcome> => {
    const {action, queueId, actor} = wanted;
    const mail = await find(queueId, actor.reach);
    const named = isClaimed(mail) ? undefined : await findNamed(needs, mail, wanted);
    if (named?.done) return named.done;
    switch (mail.state) {
      case 'released':
      case 'discarded':
        if (mail.state === endState[action]) return outcomeOf(nodeId, mail, {state: mail.state, already: true});
        throw new Fault('conflict', `${nodeId}/${queueId} was ${mail.state} at ${mail.acted_at}; that cannot be undone`);
      case 'expired':
      case 'lost':
        throw unknownMail(nodeId, queueId);
      case 'gone':
        throw goneMail(nodeId, mail);
      case 'releasing':
      case 'discarding':
        if (await isClaimedElsewhere(mail)) await awaitOtherNode(findMail, wanted, nodeId);
        else await run.catchUp(mail);
        return attempt(wanted);
      case 'held':
        return (await actOnHeld(run, {nodeId, mail, wanted, left: named?.left})) ?? attempt(wanted);
      default:
        return mail.state satisfies never;
    }
  };

  return {
    find,
    async act(action, queueId, actor, recipients) {
      const untilMs = performance.now() + withinMs;
      return locks.run(queueId, async () => {
        if (performance.now() < untilMs) return attempt({action, queueId, actor, recipients, untilMs});
        // The caller has already been answered, and may have asked for something else since.
        throw new Fault('outcome_unknown', `another action on ${nodeId}/${queueId} took too long; nothing was done by this one`);
      });
    },

    async expire(queueId) {
      // Someone is acting on it; if it stays held, the next sweep expires it.
      if (locks.isLocked(queueId)) return false;
      return locks.run(queueId, async () => {
        const mail = await findMail(queueId);
        if (mail?.state !== 'held') return false;
        return (await run.perform(mail, {action: 'expire', actor: nodeActor})) !== undefined;
      });
    },

    async catchUp() {
      for (const queueId of run.unwritten())
        await locks.run(queueId, async () => {
          const mail = await findMail(queueId);
          if (mail && isHeld(mail)) await run.catchUp(mail);
          else await run.settle(queueId);
        });
    },

    isUnderWay: queueId => locks.isLocked(queueId) || run.isUnwritten(queueId),

    async idle() {
      await locks.idle();
      await cleanup.idle();
    },
  };
};

interface Wanted {
  nodeId: string;
  mail: StoredHeldMail;
  wanted: Attempt;
  /** Of the recipients that the caller names; undefined when he names nobody. */
  left: readonly string[] | undefined;
}

/** Undefined when another caller came first. */
const actOnHeld = async (
  run: ActionRun,
  {nodeId, mail, wanted: {action, actor}, left}: Wanted,
): Promise<ActionOutcome | undefined> => {
  const only = left && left.length < new Set(mail.recipients).size ? left : undefined;
  if (only && mail.keeper === 'postfix') throw wholeOnly(nodeId, mail);
  const ended = await (only ? run.performFor(mail, {action, actor, only}) : run.perform(mail, {action, actor}));
  return ended && outcomeOf(nodeId, ended, {state: endState[action], already: false});
};

interface Named {
  left: string[];
  /** When nothing is left to do. */
  done: ActionOutcome | undefined;
}

/** Undefined when the caller names nobody. */
const findNamed = async (
  {store, nodeId}: Pick<HoldActionsNeeds, 'store' | 'nodeId'>,
  mail: StoredHeldMail,
  {action, recipients: names}: Attempt,
): Promise<Named | undefined> => {
  if (!names) return undefined;
  const acts = (await store.hold.recipientActs([mail.queue_id])).get(mail.queue_id) ?? [];
  const {left, last} = namedRecipients(mail, acts, {names, state: endState[action], nodeId});
  return {left, done: left.length === 0 && last ? outcomeForSome(nodeId, mail, last) : undefined};
};

/** Its recipients are those after Postfix’s aliases, and it has no command for some of them. */
const wholeOnly = (nodeId: string, {queue_id: queueId}: StoredHeldMail): Fault =>
  new Fault(
    'conflict',
    `${nodeId}/${queueId} is in the hold queue of Postfix, which releases and discards a mail for all of its recipients`,
  );

/** When the other node is gone, its claim ends with its lease. */
const awaitOtherNode = async (findMail: HeldFinder, {queueId, untilMs}: Attempt, nodeId: string): Promise<void> => {
  while (performance.now() < untilMs) {
    await delay(pollMs);
    const mail = await findMail(queueId);
    if (!mail || !isClaimed(mail)) return;
  }
  throw new Fault('outcome_unknown', `another node is acting on ${nodeId}/${queueId}; repeating the request is safe`);
};

type HeldFinder = (queueId: string) => Promise<StoredHeldMail | undefined>;

const createHeldFinder = (store: Pick<Store, 'hold'>): HeldFinder =>
  createLookup(async queueIds => {
    const found = new Map((await store.hold.findAll([...new Set(queueIds)])).map(mail => [mail.queue_id, mail]));
    return queueId => found.get(queueId);
  });
