// The hold queues of one node over a real common store. The delivery is an object that a test can change.
import {buffer} from 'node:stream/consumers';
import {createReleaseDelivery} from '../../daemon/hold/release-delivery.ts';
import {createNodeQueues, type NodeQueues} from '../../daemon/hold/store/node-queues.ts';
import {createStoreHolder} from '../../daemon/hold/store/store-holder.ts';
import type {CommonStore, CommonTransaction} from '../../daemon/services/common-store.ts';
import type {Deliver, Judgement, MailHolder, Ownership, RecipientResult} from '../../daemon/services/intake/mail.ts';
import type {NewHeldMail} from '../../daemon/services/quarantine/stored-mail.ts';
import type {PostgresSettings} from '../../daemon/store/postgres/connection.ts';
import type {Domain} from '../../shared/domain.ts';
import type {ActionOutcome} from '../../shared/held-mail.ts';
import {storeOf} from './common-store.ts';
import {recordDeliveries, trace} from './hold-queue.ts';
import {type MailParts, receivedMail} from './received-mail.ts';
import type {Teardown} from './store.ts';
import {storedMail} from './stored-mail.ts';

export interface HoldNode {
  store: CommonStore;
  queues: NodeQueues;
  holder: MailHolder;
  deliveries: {recipients: string[]; content: string}[];
  acted: ActionOutcome[];
  /** Ids of the mails of the published `held` events. */
  told: string[];
  /** Bytes of the training samples, by class. */
  trained: string[];
  answer: (recipient: string) => Promise<RecipientResult['outcome']>;
  /** Called before each transaction. */
  beforeWrite: () => Promise<void>;
  /** Called after each transaction, whose caller waits. */
  afterWrite: () => Promise<void>;
  /** The number of transactions so far. */
  writes: number;
  members: string[];
  hold(queueId: string, parts?: MailParts): Promise<void>;
  /** Mail in the Postfix of this node. */
  holdInPostfix(queueId: string, fields?: Partial<NewHeldMail>): Promise<void>;
}

interface Options {
  nodeId?: string;
  nodeNo?: number;
  withinMs?: number;
  /** Replaces the recording delivery. */
  deliver?: Deliver;
}

export const startHoldNode = async (t: Teardown, settings: PostgresSettings, options: Options = {}): Promise<HoldNode> => {
  const {nodeId = 'alpha', nodeNo = 1, withinMs} = options;
  const watched = (store: CommonStore): CommonStore => ({
    ...store,
    of: id => watched(store.of(id)),
    async transaction<T>(work: (tx: CommonTransaction) => Promise<T>) {
      await node.beforeWrite();
      node.writes += 1;
      const result = await store.transaction(work);
      await node.afterWrite();
      return result;
    },
  });
  const store = watched(await storeOf(t, settings, {nodeId, nodeNo}));
  const refuse = async (): Promise<never> => {
    throw new Error('no Postfix');
  };
  const queues = createNodeQueues({
    nodeId,
    store,
    deliver: createReleaseDelivery({
      deliver: options.deliver ?? {deliver: async (...mail) => recordDeliveries(node).deliver(...mail)},
      routeOf: () => ({servers: [{host: '127.0.0.1', port: 25}]}),
    }),
    postfix: {isReadableToTheEnd: false, release: refuse, discard: async () => {}, forget: async () => {}, body: refuse},
    isNode: id => node.members.includes(id),
    trainer: {
      async train(sampleClass, _mail, read) {
        const body = await read().catch(() => undefined);
        if (body) node.trained.push(`${sampleClass} ${(await buffer(body.stream)).length}`);
      },
      async trainAsAsked(sampleClass, _mail, read) {
        node.trained.push(`${sampleClass} ${(await buffer((await read()).stream)).length} as asked`);
        return 'learned';
      },
    },
    onActed: outcome => node.acted.push(outcome),
    onLeftover: () => {},
    now: Date.now,
    ...(withinMs !== undefined && {withinMs}),
  });
  const onHeld = ({queue_id}: {queue_id: string}) => void node.told.push(queue_id);
  const node: HoldNode = {
    store,
    queues: undefined as never,
    holder: createStoreHolder({nodeId, store, arrivalFields: () => trace, onHeld}),
    deliveries: [],
    acted: [],
    told: [],
    trained: [],
    answer: async () => 'delivered',
    beforeWrite: async () => {},
    afterWrite: async () => {},
    writes: 0,
    members: [nodeId],
    async hold(queueId, parts = {}) {
      const mail = {...receivedMail(parts), queueId, receivedAt: new Date()};
      const ownership: Ownership = {direction: 'inbound', domain: {id: 1, name: 'example.com'} as Domain};
      const judgement: Judgement = {action: 'hold', score: 8, reason: 'spam', symbols: [{name: 'A_SYMBOL', score: 8}]};
      await node.holder.hold(mail, ownership, judgement);
    },
    async holdInPostfix(queueId, fields = {}) {
      const mail = storedMail({
        queue_id: queueId,
        arrived_at: new Date().toISOString(),
        subject: 'in Postfix',
        score: 8,
        keeper: 'postfix',
        symbol_scores: [{name: 'A_SYMBOL', score: 8}],
        ...fields,
      });
      await store.transaction(async tx => tx.hold.insert([mail]));
    },
  };
  return Object.assign(node, {queues});
};
