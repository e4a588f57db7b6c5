// Reads and actions on single mails, each of which goes to the hold queue that has the mail.

import {groupBy} from '../../../shared/collections.ts';
import {Fault} from '../../../shared/fault.ts';
import {hasOwn} from '../../../shared/has-own.ts';
import type {
  ActedMail,
  ActionOutcome,
  BulkResult,
  HeldMailDetail,
  HoldAction,
  MailReference,
  TrainingClass,
  TrainingOutcome,
} from '../../../shared/held-mail.ts';
import type {Actor} from '../actor.ts';
import {type AnswerLimit, answerMs, startAnswerLimit} from '../peers/gather.ts';
import type {HoldQueue} from './stored-mail.ts';

export interface RoutedActions {
  get(actor: Actor, mail: MailReference): Promise<HeldMailDetail>;
  body(actor: Actor, mail: MailReference): ReturnType<HoldQueue['body']>;
  /**
   * Rejects with a Fault `outcome_unknown` if the action takes too long. The action continues then; repeating the request waits for
   * its outcome.
   */
  act(actor: Actor, action: HoldAction, mail: ActedMail): Promise<ActionOutcome>;
  /** Rejects like `act` when it takes too long. */
  train(actor: Actor, as: TrainingClass, mail: MailReference): Promise<TrainingOutcome>;
  /**
   * Resolves with one result per mail, in the given order; a mail that fails does not reject. After an owner fails to answer, it is not
   * asked again: its other mails get `node_unreachable`. Mails whose action could not start in time get `unavailable`.
   */
  actOnAll(actor: Actor, action: HoldAction, mails: ActedMail[]): Promise<BulkResult[]>;
}

interface Routes {
  /** The queue that acts on a mail and has its bytes. Throws a Fault `unknown_node`. */
  queueOf(mail: MailReference): Promise<HoldQueue>;
  /** The queue that has the details of a mail. */
  detailsOf(mail: MailReference): Promise<HoldQueue>;
}

interface Needs {
  /** Called once for every request, in which a queue is always the same object. */
  routes(): Routes;
  /** Whether the node that a queue belongs to has been away for long. */
  isAway(queue: HoldQueue): boolean;
  onUnexpected(error: unknown): void;
  /** How long a caller waits for an action. */
  withinMs?: number;
}

export const createRoutedActions = ({routes, isAway, onUnexpected, withinMs = answerMs}: Needs): RoutedActions => {
  const actWithin = async <T>(limit: AnswerLimit, work: Promise<T>, {action, mail}: Wanted): Promise<T> =>
    limit.answer(work, `the ${action} of ${mail.node_id}/${mail.queue_id}`);

  /** What one caller waits for. */
  const actAlone = async <T>(wanted: Wanted, work: (owner: HoldQueue) => Promise<T>): Promise<T> => {
    const limit = startAnswerLimit(withinMs);
    try {
      return await actWithin(limit, routes().queueOf(wanted.mail).then(work), wanted);
    } finally {
      limit.end();
    }
  };

  const faultOf = (error: unknown): Fault => {
    if (error instanceof Fault) return error;
    onUnexpected(error);
    return new Fault('internal', 'the node failed; its log says why', {cause: error});
  };

  const routed = async ({queueOf}: Routes, mail: ActedMail): Promise<Routed> =>
    queueOf(mail).then(
      owner => ({mail, owner}),
      error => ({mail, result: failedWith(mail, faultOf(error))}),
    );

  return {
    act: async (actor, action, mail) =>
      actAlone({action, mail}, async owner => owner.act(action, mail.queue_id, actor, mail.recipients)),
    train: async (actor, as, mail) => actAlone({action: 'training', mail}, async owner => owner.train(as, mail.queue_id, actor)),
    get: async (actor, mail) => (await routes().detailsOf(mail)).get(mail.queue_id, actor),
    body: async (actor, mail) => (await routes().queueOf(mail)).body(mail.queue_id, actor),

    async actOnAll(actor, action, mails) {
      const limit = startAnswerLimit(withinMs);
      const act = async (mail: ActedMail, owner: HoldQueue): Promise<BulkResult> =>
        actWithin(limit, owner.act(action, mail.queue_id, actor, mail.recipients), {action, mail}).catch(error =>
          failedWith(mail, faultOf(error)),
        );
      try {
        const current = routes();
        const all = await Promise.all(mails.map(async mail => routed(current, mail)));
        return await actOnEach(all, {act, mayStart: limit.mayStart, isAway});
      } finally {
        limit.end();
      }
    },
  };
};

interface Wanted {
  action: HoldAction | 'training';
  mail: MailReference;
}

/** A mail with its queue, or with the result that it gets without one. */
type Routed = {mail: ActedMail; owner: HoldQueue} | {mail: ActedMail; owner?: undefined; result: BulkResult};

interface BulkActionsNeeds {
  /** The result of the action on one mail; never rejects. */
  act(mail: ActedMail, owner: HoldQueue): Promise<BulkResult>;
  /** Whether there is time left to start more. */
  mayStart(): boolean;
  isAway(owner: HoldQueue): boolean;
}

/** Results in the order of `mails`. */
const actOnEach = async (mails: readonly Routed[], {act, mayStart, isAway}: BulkActionsNeeds): Promise<BulkResult[]> => {
  const results: BulkResult[] = [];
  const ofOneOwner = async (owner: HoldQueue, waiting: [number, Routed][]) => {
    let isSilent = isAway(owner);
    const resultUnlessSilent = async (mail: ActedMail): Promise<BulkResult> => {
      if (!mayStart()) return notStarted(mail);
      if (isSilent) return notAsked(mail);
      const result = await act(mail, owner);
      // Without this, a thousand mails of a node that hangs would take a thousand deadlines.
      if (hasOwn(result, 'error') && isSilence(result.error)) isSilent = true;
      return result;
    };
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await resultUnlessSilent(next[1].mail);
    };
    await Promise.all(Array.from({length: owner.actsAtOnce}, worker));
  };
  for (const [at, one] of mails.entries()) if (!one.owner) results[at] = one.result;
  // Owners are asked in parallel, so that a slow one does not delay the others.
  const byOwner = groupBy(mails.entries(), ([, {owner}]) => owner);
  await Promise.all([...byOwner].map(async ([owner, some]) => owner && ofOneOwner(owner, some)));
  return results;
};

const isSilence = ({code}: {code: string}): boolean => code === 'node_unreachable' || code === 'outcome_unknown';

type Failed = Extract<BulkResult, {error: object}>;

const failed = ({node_id, queue_id}: MailReference, error: Failed['error']): Failed => ({node_id, queue_id, error});

const failedWith = (mail: MailReference, {code, detail, details: {fields}}: Fault): Failed =>
  failed(mail, {code, detail, ...(fields && {fields})});

const notAsked = (mail: MailReference): Failed =>
  failed(mail, {
    code: 'node_unreachable',
    detail: `node ${mail.node_id} does not answer and was not asked for this mail; nothing was done, try again later`,
  });

const notStarted = (mail: MailReference): Failed =>
  failed(mail, {
    code: 'unavailable',
    detail: 'other mails of this request took too long; nothing was done, repeat the request for this one',
  });
