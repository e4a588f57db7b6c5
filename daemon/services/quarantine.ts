// The quarantine of the whole cluster: asks every hold queue and merges, or routes to the one that owns a mail.
import {Fault} from '../../shared/fault.ts';
import type {
  ActionOutcome,
  BulkResult,
  HeldMail,
  HeldMailDetail,
  HoldAction,
  MailReference,
  Summary,
} from '../../shared/held-mail.ts';
import type {HoldFilter, Page} from '../../shared/hold-filter.ts';
import type {Actor, HoldList, HoldQueue} from './ports.ts';

export interface Gathered<T> {
  result: T;
  /** Nodes that did not answer. */
  unreachable: string[];
}

export interface Quarantine {
  list(actor: Actor, filter: HoldFilter, page: Page): Promise<Gathered<HoldList>>;
  summary(actor: Actor, filter: HoldFilter): Promise<Gathered<Summary>>;
  get(actor: Actor, mail: MailReference): Promise<HeldMailDetail>;
  body(actor: Actor, mail: MailReference): ReturnType<HoldQueue['body']>;
  act(actor: Actor, action: HoldAction, mail: MailReference): Promise<ActionOutcome>;
  /** Never rejects for what one mail says: each gets its own entry, in the order asked. */
  actOnAll(actor: Actor, action: HoldAction, mails: MailReference[]): Promise<BulkResult[]>;
}

const bulkConcurrency = 16;

interface Needs {
  /** All hold queues of the cluster, asked anew for every request. */
  queues(): HoldQueue[];
  onUnexpected(error: unknown): void;
}

export const createQuarantine = ({queues, onUnexpected}: Needs): Quarantine => {
  const ownerOf = (nodeId: string): HoldQueue => {
    const owner = queues().find(queue => queue.nodeId === nodeId);
    if (!owner) throw new Fault('unknown_node', `there is no node ${nodeId}; GET /cluster/status lists the nodes`);
    return owner;
  };
  const ask = async <T>(question: (queue: HoldQueue) => Promise<T>): Promise<{answers: T[]; unreachable: string[]}> => {
    const asked = queues();
    const settled = await Promise.allSettled(asked.map(question));
    const answers: T[] = [];
    const unreachable: string[] = [];
    for (const [at, outcome] of settled.entries()) {
      if (outcome.status === 'fulfilled') answers.push(outcome.value);
      else if (outcome.reason instanceof Fault && outcome.reason.code === 'node_unreachable')
        unreachable.push(asked[at]?.nodeId ?? '');
      else throw outcome.reason;
    }
    return {answers, unreachable};
  };

  const act: Quarantine['act'] = async (actor, action, {node_id, queue_id}) => ownerOf(node_id).act(action, queue_id, actor);

  const resultOf = async (actor: Actor, action: HoldAction, mail: MailReference): Promise<BulkResult> => {
    try {
      return await act(actor, action, mail);
    } catch (error) {
      if (!(error instanceof Fault)) onUnexpected(error);
      const fault = error instanceof Fault ? error : new Fault('internal', 'the node failed; its log says why', {cause: error});
      const {
        code,
        detail,
        details: {fields},
      } = fault;
      return {node_id: mail.node_id, queue_id: mail.queue_id, error: {code, detail, ...(fields && {fields})}};
    }
  };

  return {
    act,
    get: async (actor, {node_id, queue_id}) => ownerOf(node_id).get(queue_id, actor.reach),
    body: async (actor, {node_id, queue_id}) => ownerOf(node_id).body(queue_id, actor),

    async list(actor, filter, {limit, offset}) {
      // Any of the newest `offset + limit` may come from one node, so each is asked for all of them.
      const isAlone = queues().length === 1;
      const page = isAlone ? {limit, offset} : {limit: offset + limit, offset: 0};
      const {answers, unreachable} = await ask(async queue => queue.list(filter, page, actor.reach));
      const total = answers.reduce((sum, answer) => sum + answer.total, 0);
      const mails = answers.flatMap(answer => answer.mails);
      return {result: {total, mails: isAlone ? mails : mails.toSorted(newestFirst).slice(offset, offset + limit)}, unreachable};
    },

    async summary(actor, filter) {
      const {answers, unreachable} = await ask(async queue => queue.summary(filter, actor.reach));
      const oldest = answers.flatMap(({oldest_arrived_at}) => oldest_arrived_at ?? []).sort();
      return {
        result: {
          count: answers.reduce((sum, {count}) => sum + count, 0),
          size_bytes: answers.reduce((sum, {size_bytes}) => sum + size_bytes, 0),
          oldest_arrived_at: oldest[0] ?? null,
          groups: answers.flatMap(({groups}) => groups),
        },
        unreachable,
      };
    },

    async actOnAll(actor, action, mails) {
      const results: BulkResult[] = [];
      const waiting = [...mails.entries()];
      const worker = async () => {
        for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await resultOf(actor, action, next[1]);
      };
      await Promise.all(Array.from({length: bulkConcurrency}, worker));
      return results;
    },
  };
};

const newestFirst = (a: HeldMail, b: HeldMail): number =>
  compare(b.arrived_at, a.arrived_at) || compare(a.node_id, b.node_id) || compare(a.queue_id, b.queue_id);

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
