// Quarantine of a cluster whose nodes share one store: any node lists all mail and acts on it, except mail in the Postfix of another node.
import {Fault} from '../../../shared/fault.ts';
import type {MailReference} from '../../../shared/held-mail.ts';
import type {HoldFilter} from '../../../shared/hold-filter.ts';
import type {CommonHeldQuery} from '../common-store.ts';
import {type Quarantine, summaryOf} from './quarantine.ts';
import {createRoutedActions} from './routed-actions.ts';
import type {HoldQueue} from './stored-mail.ts';

export interface FoundQueue {
  /** This node's queue over the store for the mail of one node. */
  queue: HoldQueue;
  /** The mail is in the hold queue of another node's Postfix. */
  isElsewhere: boolean;
}

interface Needs {
  /** This node. */
  nodeId: string;
  heldQuery: Pick<CommonHeldQuery, 'list' | 'groups'>;
  /** Throws a Fault `unknown_node`. */
  find(mail: MailReference): Promise<FoundQueue>;
  /** The hold queues of the other nodes, asked over the network. */
  peerQueues(): HoldQueue[];
  /** The nodes that have held mail in their Postfix. */
  postfixNodes(): readonly string[];
  /** Whether a node has been away for long. */
  isAway(nodeId: string): boolean;
  /** Whether a node is away, or has not answered the last heartbeats of this one. */
  isSilent(nodeId: string): boolean;
  onUnexpected(error: unknown): void;
  /** How long a caller waits for an action. */
  withinMs?: number;
}

export const createCommonQuarantine = (needs: Needs): Quarantine => {
  const {nodeId: ownId, heldQuery, find, peerQueues, postfixNodes, isAway, isSilent, ...common} = needs;
  const peerOf = (nodeId: string): HoldQueue | undefined => peerQueues().find(queue => queue.nodeId === nodeId);

  const queueOf = async (mail: MailReference): Promise<HoldQueue> => {
    const {queue, isElsewhere} = await find(mail);
    if (!isElsewhere) return queue;
    const peer = peerOf(mail.node_id);
    if (peer && !isAway(mail.node_id)) return peer;
    throw new Fault(
      'node_unreachable',
      `this mail is in the hold queue of Postfix on ${mail.node_id}, which does not answer; nothing was done, try again later`,
      {retryAfterSeconds: 5},
    );
  };

  const detailsOf = async (mail: MailReference): Promise<HoldQueue> => (await find(mail)).queue;

  /** Nodes whose mail in Postfix is listed, but cannot be acted on. */
  const unreachableOf = ({node}: HoldFilter): string[] =>
    postfixNodes().filter(id => id !== ownId && (node === undefined || id === node) && (isSilent(id) || !peerOf(id)));

  return {
    ...createRoutedActions({...common, routes: () => ({queueOf, detailsOf}), isAway: () => false}),

    async list({reach}, filter, page) {
      return {result: await heldQuery.list(filter, reach, page), unreachable: unreachableOf(filter)};
    },

    async summary({reach}, filter) {
      return {result: summaryOf(await heldQuery.groups(filter, reach)), unreachable: unreachableOf(filter)};
    },
  };
};
