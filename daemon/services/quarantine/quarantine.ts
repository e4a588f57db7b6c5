// Quarantine of the whole cluster: merges the lists of all hold queues, and routes actions to the node that owns the mail.
import {ascending, groupBy} from '../../../shared/collections.ts';
import {Fault} from '../../../shared/fault.ts';
import type {
  ActionOutcome,
  BulkResult,
  HeldMailDetail,
  HoldAction,
  MailReference,
  Summary,
  SummaryGroup,
} from '../../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../../shared/hold-filter.ts';
import type {Actor} from '../access/actor.ts';
import {type AnswerLimit, type AskAll, answerMs, type Gathered, startAnswerLimit} from './gather.ts';
import {readMerged, type Steps} from './merged-list.ts';
import type {HeldMailPage, HoldCursor, HoldQueue} from './stored-mail.ts';

export interface Quarantine {
  list(actor: Actor, filter: HoldFilter, page: Page): Promise<Gathered<HeldMailPage>>;
  summary(actor: Actor, filter: HoldFilter): Promise<Gathered<Summary>>;
  get(actor: Actor, mail: MailReference): Promise<HeldMailDetail>;
  body(actor: Actor, mail: MailReference): ReturnType<HoldQueue['body']>;
  /**
   * Rejects with a Fault `outcome_unknown` if the action takes too long. The action continues then; repeating the request waits for
   * its outcome.
   */
  act(actor: Actor, action: HoldAction, mail: MailReference): Promise<ActionOutcome>;
  /**
   * Resolves with one result per mail, in the given order; a mail that fails does not reject. After an owner fails to answer, it is not
   * asked again: its other mails get `node_unreachable`. Mails whose action could not start in time get `unavailable`.
   */
  actOnAll(actor: Actor, action: HoldAction, mails: MailReference[]): Promise<BulkResult[]>;
}

interface Needs {
  /** All current hold queues of the cluster; called for every request. */
  queues(): HoldQueue[];
  ask: AskAll;
  /** Whether a node has been away for long. */
  isAway?(nodeId: string): boolean;
  onUnexpected(error: unknown): void;
  /** How long a caller waits for an action. */
  withinMs?: number;
}

interface Wanted {
  action: HoldAction;
  mail: MailReference;
}

export const createQuarantine = ({queues, ask, isAway = () => false, onUnexpected, withinMs = answerMs}: Needs): Quarantine => {
  const ownerOf = (nodeId: string): HoldQueue => {
    const owner = queues().find(queue => queue.nodeId === nodeId);
    if (!owner) throw new Fault('unknown_node', `there is no node ${nodeId}; GET /cluster/status lists the nodes`);
    return owner;
  };
  const queuesFor = ({node}: HoldFilter): HoldQueue[] => queues().filter(({nodeId}) => node === undefined || nodeId === node);

  const actWithin = async (limit: AnswerLimit, actor: Actor, {action, mail: {node_id, queue_id}}: Wanted) =>
    limit.answer(ownerOf(node_id).act(action, queue_id, actor), `the ${action} of ${node_id}/${queue_id}`);

  const resultOf = async (limit: AnswerLimit, actor: Actor, wanted: Wanted): Promise<BulkResult> => {
    try {
      return await actWithin(limit, actor, wanted);
    } catch (error) {
      if (!(error instanceof Fault)) onUnexpected(error);
      const fault = error instanceof Fault ? error : new Fault('internal', 'the node failed; its log says why', {cause: error});
      const {code, detail, details} = fault;
      return failed(wanted.mail, {code, detail, ...(details.fields && {fields: details.fields})});
    }
  };

  return {
    async act(actor, action, mail) {
      const limit = startAnswerLimit(withinMs);
      try {
        return await actWithin(limit, actor, {action, mail});
      } finally {
        limit.end();
      }
    },
    get: async (actor, {node_id, queue_id}) => ownerOf(node_id).get(queue_id, actor),
    body: async (actor, {node_id, queue_id}) => ownerOf(node_id).body(queue_id, actor),

    async list(actor, filter, page) {
      const parts = queuesFor(filter).map(queue => ({
        nodeId: queue.nodeId,
        async list(part: Page) {
          const {mails, total} = await queue.list(filter, part, actor);
          return {entries: mails, total};
        },
        samples: async (steps: Steps) => queue.samples(filter, steps, actor),
        positionOf: async (cursor: HoldCursor) => queue.positionOf(filter, cursor, actor),
      }));
      const {result, unreachable} = await readMerged({parts, compare: newestFirst, ask}, page);
      return {result: {mails: result.entries, total: result.total}, unreachable};
    },

    async summary(actor, filter) {
      const {answers, unreachable} = await ask(queuesFor(filter), async queue => queue.summary(filter, actor));
      const parts = answers.map(({answer}) => answer);
      return {
        result: {
          count: parts.reduce((sum, {count}) => sum + count, 0),
          size_bytes: parts.reduce((sum, {size_bytes}) => sum + size_bytes, 0),
          oldest_arrived_at: parts.flatMap(({oldest_arrived_at}) => oldest_arrived_at ?? []).sort()[0] ?? null,
          groups: parts.flatMap(({groups}) => groups).toSorted(byDomain),
        },
        unreachable,
      };
    },

    actOnAll: async (actor, action, mails) => {
      const limit = startAnswerLimit(withinMs);
      const act = async (mail: MailReference) => resultOf(limit, actor, {action, mail});
      const actsAtOnce = new Map(queues().map(queue => [queue.nodeId, queue.actsAtOnce]));
      const results = await actOnEach(mails, {act, mayStart: limit.mayStart, isAway, actsAtOnce});
      limit.end();
      return results;
    },
  };
};

const byDomain = (a: SummaryGroup, b: SummaryGroup): number =>
  ascending(a.domain, b.domain) || ascending(a.reason, b.reason) || ascending(a.node_id, b.node_id);

const newestFirst = (a: HoldCursor, b: HoldCursor): number =>
  ascending(b.arrived_at, a.arrived_at) || ascending(a.node_id, b.node_id) || ascending(a.queue_id, b.queue_id);

interface BulkActionsNeeds {
  /** The result of the action on one mail; never rejects. */
  act(mail: MailReference): Promise<BulkResult>;
  /** Whether there is time left to start more. */
  mayStart(): boolean;
  isAway(nodeId: string): boolean;
  /** By node id. */
  actsAtOnce: ReadonlyMap<string, number>;
}

/** Results in the order of `mails`. */
const actOnEach = async (
  mails: readonly MailReference[],
  {act, mayStart, isAway, actsAtOnce}: BulkActionsNeeds,
): Promise<BulkResult[]> => {
  const results: BulkResult[] = [];
  const silent = new Set(mails.map(({node_id}) => node_id).filter(isAway));
  const resultUnlessSilent = async (mail: MailReference): Promise<BulkResult> => {
    if (!mayStart()) return notStarted(mail);
    if (silent.has(mail.node_id)) return notAsked(mail);
    const result = await act(mail);
    // Without this, a thousand mails of a node that hangs would take a thousand deadlines.
    if ('error' in result && isSilence(result.error)) silent.add(mail.node_id);
    return result;
  };
  const ofOneOwner = async (nodeId: string, waiting: [number, MailReference][]) => {
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await resultUnlessSilent(next[1]);
    };
    await Promise.all(Array.from({length: actsAtOnce.get(nodeId) ?? 1}, worker));
  };
  // Owners are asked in parallel, so that a slow one does not delay the others.
  const byOwner = groupBy(mails.entries(), ([, {node_id}]) => node_id);
  await Promise.all([...byOwner].map(async ([nodeId, some]) => ofOneOwner(nodeId, some)));
  return results;
};

const isSilence = ({code}: {code: string}): boolean => code === 'node_unreachable' || code === 'outcome_unknown';

type Failed = Extract<BulkResult, {error: object}>;

const failed = ({node_id, queue_id}: MailReference, error: Failed['error']): Failed => ({node_id, queue_id, error});

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
