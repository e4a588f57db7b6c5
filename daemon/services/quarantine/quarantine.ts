// Quarantine of the whole cluster: merges the lists of all hold queues, and routes actions to the node that owns the mail.
import {ascending} from '../../../shared/collections.ts';
import {Fault} from '../../../shared/fault.ts';
import type {MailReference, Summary, SummaryGroup} from '../../../shared/held-mail.ts';
import {type HoldFilter, isSearch, type Page} from '../../../shared/hold-filter.ts';
import type {Actor} from '../actor.ts';
import {type AskAll, answerMs, type Gathered} from '../peers/gather.ts';
import {readMerged, type Steps} from '../peers/merged-list.ts';
import {SearchOverdue, searchMs} from '../search-limits.ts';
import {createRoutedActions, type RoutedActions} from './routed-actions.ts';
import type {HeldMailPage, HoldCursor, HoldQueue, ListedQueue} from './stored-mail.ts';

export interface Quarantine extends RoutedActions {
  list(actor: Actor, filter: HoldFilter, page: Page): Promise<Gathered<HeldMailPage>>;
  summary(actor: Actor, filter: HoldFilter): Promise<Gathered<Summary>>;
}

interface Needs {
  /** All current hold queues of the cluster; called for every request. */
  queues(): ListedQueue[];
  ask: AskAll;
  /** Whether a node has been away for long. */
  isAway?(nodeId: string): boolean;
  onUnexpected(error: unknown): void;
  /** How long a caller waits for an action. */
  withinMs?: number;
  /** How long a search may take to start its last round. */
  searchWithinMs?: number;
}

export const createQuarantine = ({
  queues,
  ask,
  isAway = () => false,
  onUnexpected,
  withinMs = answerMs,
  searchWithinMs = searchMs,
}: Needs): Quarantine => {
  const routes = () => {
    const all = queues();
    const ownerOf = async ({node_id}: MailReference): Promise<HoldQueue> => {
      const owner = all.find(queue => queue.nodeId === node_id);
      if (!owner) throw new Fault('unknown_node', `there is no node ${node_id}; GET /cluster/status lists the nodes`);
      return owner;
    };
    return {queueOf: ownerOf, detailsOf: ownerOf};
  };
  const queuesFor = ({node}: HoldFilter): ListedQueue[] => queues().filter(({nodeId}) => node === undefined || nodeId === node);

  return {
    ...createRoutedActions({routes, isAway: ({nodeId}) => isAway(nodeId), onUnexpected, withinMs}),

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
      const {result, unreachable} = await readMerged(
        {parts, compare: newestFirst, ask: isSearch(filter) ? askInTime(ask, searchWithinMs) : ask},
        page,
      );
      return {result: {mails: result.entries, total: result.total}, unreachable};
    },

    async summary(actor, filter) {
      const {answers, unreachable} = await ask(queuesFor(filter), async queue => queue.summary(filter, actor));
      return {result: summaryOf(answers.flatMap(({answer}) => answer.groups)), unreachable};
    },
  };
};

/** A deep page takes several rounds, each with a limit of its own. */
const askInTime = (ask: AskAll, withinMs: number): AskAll => {
  const endsAtMs = performance.now() + withinMs;
  return async (asked, question) => {
    if (performance.now() > endsAtMs) throw new SearchOverdue('the rounds', 'for nobody');
    return ask(asked, question);
  };
};

/** The groups are those of all nodes, in any order. */
export const summaryOf = (groups: SummaryGroup[]): Summary => ({
  count: groups.reduce((sum, {count}) => sum + count, 0),
  size_bytes: groups.reduce((sum, {size_bytes}) => sum + size_bytes, 0),
  oldest_arrived_at: groups.map(({oldest_arrived_at}) => oldest_arrived_at).sort()[0] ?? null,
  groups: groups.toSorted(byDomain),
});

const byDomain = (a: SummaryGroup, b: SummaryGroup): number =>
  ascending(a.domain, b.domain) || ascending(a.reason, b.reason) || ascending(a.node_id, b.node_id);

const newestFirst = (a: HoldCursor, b: HoldCursor): number =>
  ascending(b.arrived_at, a.arrived_at) || ascending(a.node_id, b.node_id) || ascending(a.queue_id, b.queue_id);
