// Actions on held mail. Each one happens once:
//   held → releasing → released     held → (discarding →) discarded or expired     held → gone (outside of mfd)
import {Fault} from '../../shared/fault.ts';
import type {ActionOutcome, HoldAction} from '../../shared/held-mail.ts';
import {type AccessScope, isWithinAccess} from '../../shared/scopes.ts';
import type {Actor} from '../services/access/actor.ts';
import {createBatch} from '../services/batch.ts';
import type {Trainer} from '../services/intake/mail.ts';
import type {Store} from '../services/ports.ts';
import {answerMs} from '../services/quarantine/gather.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import {createActionRun, createCleanup, outcomeOf} from './action-run.ts';
import type {HoldBackend} from './hold-backend.ts';
import {endState, goneMail, type HoldWrites, isClaimed, nodeActor, unknownMail} from './hold-writes.ts';
import {createMailLocks} from './mail-locks.ts';

export interface HoldActions {
  act(action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome>;
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
}

export const createHoldActions = (needs: HoldActionsNeeds): HoldActions => {
  const {nodeId, store, withinMs = answerMs} = needs;
  const locks = createMailLocks();
  const cleanup = createCleanup(needs.onLeftover);
  const run = createActionRun({...needs, cleanup});
  const findMail = createHeldFinder(store);

  const find: HoldActions['find'] = async (queueId, scope) => {
    const mail = await findMail(queueId);
    if (!mail || !isWithinAccess(scope, mail.domain_id)) throw unknownMail(nodeId, queueId);
    return mail;
  };

  /** Runs under the lock of the mail. An earlier action whose result could not be recorded is finished first. */
  const attempt = async (action: HoldAction, queueId: string, actor: Actor): Promise<ActionOutcome> => {
    const mail = await find(queueId, actor.reach);
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
        return run.catchUp(mail).then(async () => attempt(action, queueId, actor));
      case 'held': {
        const ended = await run.perform(mail, {action, actor});
        return ended ? outcomeOf(nodeId, ended, {state: endState[action], already: false}) : attempt(action, queueId, actor);
      }
      default:
        return mail.state satisfies never;
    }
  };

  return {
    find,
    async act(action, queueId, actor) {
      const askedAt = performance.now();
      return locks.run(queueId, async () => {
        if (performance.now() - askedAt < withinMs) return attempt(action, queueId, actor);
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
          if (mail && isClaimed(mail)) await run.catchUp(mail);
          else run.settled(queueId);
        });
    },

    isUnderWay: queueId => locks.isLocked(queueId) || run.unwritten().includes(queueId),

    async idle() {
      await locks.idle();
      await cleanup.idle();
    },
  };
};

type HeldFinder = (queueId: string) => Promise<StoredHeldMail | undefined>;

const createHeldFinder = (store: Pick<Store, 'hold'>): HeldFinder => {
  const submit = createBatch<{queueId: string; mail: StoredHeldMail | undefined}>(async wanted => {
    const ids = [...new Set(wanted.map(({queueId}) => queueId))];
    const found = new Map((await store.hold.findAll(ids)).map(mail => [mail.queue_id, mail]));
    for (const one of wanted) one.mail = found.get(one.queueId);
  });

  return async queueId => {
    const wanted = {queueId, mail: undefined};
    await submit(wanted);
    return wanted.mail;
  };
};
