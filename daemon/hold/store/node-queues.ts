// Hold queues over the store that all nodes share: one for the mail of each node, also of nodes that are gone.
import {Fault} from '../../../shared/fault.ts';
import type {MailReference} from '../../../shared/held-mail.ts';
import {createLookup} from '../../services/batch.ts';
import type {CommonStore} from '../../services/common-store.ts';
import type {HeldQuery} from '../../services/ports.ts';
import type {FoundQueue} from '../../services/quarantine/common-quarantine.ts';
import type {HoldBackendName} from '../../services/quarantine/stored-mail.ts';
import type {HeadersRead} from '../held-headers.ts';
import type {HoldBackend} from '../hold-backend.ts';
import {createHoldQueue, type HoldQueueNeeds, type OwnHoldQueue} from '../hold-queue.ts';
import type {DeliverReleased} from '../release-delivery.ts';
import {createStoreBackend} from './store-backend.ts';

interface Needs extends Pick<HoldQueueNeeds, 'trainer' | 'onActed' | 'onLeftover' | 'now' | 'withinMs'> {
  /** This node. */
  nodeId: string;
  store: CommonStore;
  deliver: DeliverReleased;
  /** This node's Postfix. */
  postfix: HoldBackend;
  /** Whether the node is a member of the cluster. */
  isNode(nodeId: string): boolean;
}

export interface NodeQueues {
  own: OwnHoldQueue;
  /** The queue of a node that exists or existed. */
  of(nodeId: string): OwnHoldQueue;
  /** Throws a Fault `unknown_node` for a mail that does not exist, of a node that does not exist either. */
  find(mail: MailReference): Promise<FoundQueue>;
  /** Records the results of actions that could not be recorded at the time. */
  catchUp(): Promise<void>;
  /** Reads the header From of mail of all nodes that earlier versions held. */
  readFrom(): Promise<HeadersRead>;
  idle(): Promise<void>;
}

export const createNodeQueues = ({nodeId: ownId, store, deliver, postfix, isNode, ...common}: Needs): NodeQueues => {
  const queues = new Map<string, OwnHoldQueue>();

  const postfixOf = (nodeId: string): HoldBackend => (nodeId === ownId ? postfix : elsewhere(nodeId));
  const open = (nodeId: string): OwnHoldQueue => {
    const scoped = store.of(nodeId);
    const backend = createStoreBackend({store: scoped, deliver});
    return createHoldQueue({
      ...common,
      nodeId,
      store: scoped,
      query: queryOf(nodeId, store),
      leases: scoped.leases,
      backendOf: ({keeper}) => (keeper === 'spool' ? backend : postfixOf(nodeId)),
      withReserve: async write => write(),
    });
  };

  /** One queue for each node: it has the locks of its mails. */
  const of = (nodeId: string): OwnHoldQueue => {
    const queue = queues.get(nodeId) ?? open(nodeId);
    queues.set(nodeId, queue);
    return queue;
  };

  const keeperOf = createLookup<MailReference, HoldBackendName>(async mails => {
    const found = await store.heldQuery.keepersOf(mails);
    const keepers = new Map(found.map(mail => [nameOf(mail), mail.keeper]));
    return mail => keepers.get(nameOf(mail));
  });

  return {
    own: of(ownId),
    of,

    async find(mail) {
      const {node_id: nodeId} = mail;
      if (nodeId === ownId) return {queue: of(ownId), isElsewhere: false};
      const keeper = await keeperOf(mail);
      // Node ids come from callers, a thousand in one request: only those that exist get a queue.
      if (keeper === undefined && !queues.has(nodeId) && !isNode(nodeId))
        throw new Fault('unknown_node', `there is no node ${nodeId}; GET /cluster/status lists the nodes`);
      return {queue: of(nodeId), isElsewhere: keeper === 'postfix'};
    },

    async catchUp() {
      for (const queue of queues.values()) await queue.catchUp();
    },
    async readFrom() {
      const sum = await of(ownId).readFrom();
      // Nodes of earlier versions do not read theirs. Mail in the Postfix of another node is read there.
      for (const {node_id: nodeId} of await store.presence()) {
        if (nodeId === ownId) continue;
        const {read, left} = await of(nodeId).readFrom('spool');
        sum.read += read;
        sum.left += left;
      }
      return sum;
    },
    async idle() {
      await Promise.all([...queues.values()].map(async queue => queue.idle()));
    },
  };
};

const nameOf = ({node_id, queue_id}: MailReference): string => `${node_id}/${queue_id}`;

const queryOf = (node: string, {heldQuery}: CommonStore): HeldQuery => ({
  list: async (filter, scope, page) => heldQuery.list({...filter, node}, scope, page),
  groups: async (filter, scope) => heldQuery.groups({...filter, node}, scope),
});

const elsewhere = (nodeId: string): HoldBackend => {
  const refuse = async (): Promise<never> => {
    throw new Fault('node_unreachable', `this mail is in the hold queue of Postfix on ${nodeId}, which alone can act on it`);
  };
  return {isReadableToTheEnd: false, release: refuse, discard: refuse, forget: async () => {}, body: refuse};
};

/**
 * Holds spooled mail again that this node had claimed when it stopped. Claims are by node id, and only one process runs per node: call
 * this before anything acts on mail.
 */
export const takeBackOwnClaims = async (store: CommonStore): Promise<void> => {
  for (const {node_id: nodeId} of await store.presence()) {
    const scoped = store.of(nodeId);
    const claimed = await scoped.hold.listClaimed('spool');
    if (claimed.length > 0) await scoped.transaction(async tx => tx.hold.unclaim(claimed));
  }
};
