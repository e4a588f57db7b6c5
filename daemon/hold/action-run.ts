// One action on one held mail, from the claim to the end: claim, act, write down.

import {Fault} from '../../shared/fault.ts';
import type {ActedState, ActionOutcome} from '../../shared/held-mail.ts';
import {crashPoint} from '../services/crash-point.ts';
import type {Trainer} from '../services/intake/mail-ports.ts';
import type {StoredHeldMail} from '../services/quarantine/stored-mail.ts';
import type {Cleanup} from './cleanup.ts';
import {failureToAudit} from './delivery-failure.ts';
import {type HoldBackend, LeftQueue} from './hold-backend.ts';
import {type Act, claimedState, endState, goneMail, isTrainable, leftByHand, nobody, type RequestedAction} from './hold-state.ts';
import type {HoldWrites, RecordAudit} from './hold-writes.ts';

export interface ActionRun {
  /** The mail as it is afterwards; undefined when another action was first. */
  perform(mail: StoredHeldMail, requested: RequestedAction): Promise<StoredHeldMail | undefined>;
  /** Writes down how an action ended that could not be written down then. */
  catchUp(mail: StoredHeldMail): Promise<void>;
  /** Ids of mails whose action is done, and not written down yet. */
  unwritten(): string[];
  /** Nothing is left to write down. */
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
  /** What was done while the database does not say so yet: it must not be done again. */
  const done = new Map<string, RequestedAction>();
  const setbacks = createSetbacks({nodeId, writes, now});

  /** The end and its audit entry are one commit; what is freed is freed after it, and a crash between the two is tidied at start. */
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

  /** Undefined when another one was first. */
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

/** With what people decide, by the first of them, while the bytes are there. */
const train = async ({trainer, backendOf}: Needs, mail: StoredHeldMail, action: Act): Promise<void> => {
  if (action === 'expire' || !isTrainable(mail)) return;
  const {queue_id: queueId, sender, recipients} = mail;
  const read = async () => backendOf(mail).body(mail);
  await trainer.train(action === 'release' ? 'ham' : 'spam', {queueId, sender, recipients}, read);
};

/** What is written down when an action fails: the mail is held again, has left the queue, or stays claimed. */
const createSetbacks = ({nodeId, writes, now}: Pick<Needs, 'nodeId' | 'writes' | 'now'>) => {
  /** Recipients who have had a mail that others have not, while the database does not say so yet. */
  const served = new Map<string, string[]>();

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

  return {takeBack, fail, served: (queueId: string, recipients: string[]) => void served.set(queueId, recipients)};
};
