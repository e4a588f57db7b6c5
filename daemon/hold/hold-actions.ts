// What may happen to a held mail, and that it happens once:
//   held → releasing → released     held → (discarding →) discarded or expired     held → gone, by another hand

import {Fault} from '../../shared/fault.ts';
import type {ActionOutcome, HoldAction} from '../../shared/held-mail.ts';
import {type AccessScope, isWithinAccess} from '../../shared/scopes.ts';

import type {Trainer} from '../services/intake/mail-ports.ts';
import type {Actor, Store, StoreTransaction} from '../services/ports.ts';
import {answerMs} from '../services/quarantine/answer-limit.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';

import {createActionRun, outcomeOf} from './action-run.ts';
import {createCleanup} from './cleanup.ts';
import {createHeldFinder} from './held-finder.ts';
import type {HoldBackend} from './hold-backend.ts';
import {type AuditActor, endState, goneMail, isClaimed, nobody, unknownMail} from './hold-state.ts';
import {type AuditedAct, createHoldWrites} from './hold-writes.ts';
import {createMailLocks} from './mail-locks.ts';

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

export const createHoldActions = (needs: HoldActionsNeeds): HoldActions => {
  const {nodeId, store, withReserve, now, withinMs = answerMs} = needs;
  const locks = createMailLocks();
  const cleanup = createCleanup(needs.onLeftover);
  const writes = createHoldWrites({nodeId, store, withReserve, now});
  const run = createActionRun({...needs, writes, cleanup});
  const lookUp = createHeldFinder(store);

  const find: HoldActions['find'] = async (queueId, reach) => {
    const mail = await lookUp(queueId);
    if (!mail || !isWithinAccess(reach, mail.domain_id)) throw unknownMail(nodeId, queueId);
    return mail;
  };

  /** In turn, so that nobody else acts on this mail; but an action that could not be written down may come first. */
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
    audit: async (tx, actor, act) => tx.audit.append(writes.entryOf(actor, act)),
    async act(action, queueId, actor) {
      const askedAt = performance.now();
      return locks.run(queueId, async () => {
        if (performance.now() - askedAt < withinMs) return attempt(action, queueId, actor);
        // The caller has been answered by now, and may have asked for something else since.
        throw new Fault('outcome_unknown', `another action on ${nodeId}/${queueId} took too long; nothing was done by this one`);
      });
    },

    async expire(queueId) {
      // What somebody is deciding about may be there at the next sweep.
      if (locks.isLocked(queueId)) return false;
      return locks.run(queueId, async () => {
        const mail = await lookUp(queueId);
        if (mail?.state !== 'held') return false;
        return (await run.perform(mail, {action: 'expire', actor: nobody})) !== undefined;
      });
    },

    async catchUp() {
      for (const queueId of run.unwritten())
        await locks.run(queueId, async () => {
          const mail = await lookUp(queueId);
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
