// A hold queue on a real spool and a real database. The delivery is an object that a test can change.

import {join} from 'node:path';
import {buffer} from 'node:stream/consumers';
import {createListedQueue, type OwnHoldQueue} from '../../daemon/hold/hold-queue.ts';
import {createSpool} from '../../daemon/hold/spool/spool.ts';
import {createSpoolBackend, createSpoolHolder} from '../../daemon/hold/spool/spool-backend.ts';
import type {Actor} from '../../daemon/services/actor.ts';
import type {Deliver, Judgement, MailHolder, Ownership, RecipientResult, Trainer} from '../../daemon/services/intake/mail.ts';
import type {ListedQueue} from '../../daemon/services/quarantine/stored-mail.ts';
import type {Domain} from '../../shared/domain.ts';
import type {Reason} from '../../shared/reason.ts';
import {type MailParts, receivedMail} from './received-mail.ts';
import {type Teardown, type TestStore, testStore} from './store.ts';

export const operator: Actor = {keyId: 7, scope: 'full-admin', reach: {kind: 'all'}, remoteAddress: '192.0.2.9'};

export const trace = Buffer.from('Received: by alpha.test\r\n');

interface Delivery {
  recipients: string[];
  content: string;
}

export interface TestQueue {
  queue: OwnHoldQueue & ListedQueue & MailHolder;
  store: TestStore;
  filename: string;
  spool: Awaited<ReturnType<typeof createSpool>>;
  spoolFolder: string;
  deliveries: Delivery[];
  /** Queue ids of files that could not be removed. */
  leftovers: string[];
  /** Published events of the queue, such as `held Q1w2E3r4T5`. */
  told: string[];
  /** The backend's reply to a recipient; `delivered` by default. */
  answer: (recipient: string) => Promise<RecipientResult['outcome']>;
  /** Replaces the retry with the reserve file, for writes that free space or administer. */
  withReserve: <T>(write: () => Promise<T>) => Promise<T>;
  /** Called with every training sample; does nothing unless a test replaces it. */
  train: Trainer['train'];
  /** Called with every training sample that a caller asks for. */
  trainAsAsked: Trainer['trainAsAsked'];
  now: number;
  hold(queueId: string, parts?: HeldParts): Promise<void>;
}

interface HeldParts extends MailParts {
  domainId?: number;
  domain?: string;
  reason?: Reason;
  score?: number;
  arrivedAt?: number;
  direction?: Ownership['direction'];
}

const replies = {delivered: 250, refused: 550, deferred: 450};

/** A delivery that reaches nobody: it notes what it got, and replies what `answer` says. */
export const recordDeliveries = (node: Pick<TestQueue, 'answer' | 'deliveries'>): Deliver => ({
  async deliver(_route, {recipients}, content) {
    const outcomes = await Promise.all(recipients.map(async recipient => ({recipient, outcome: await node.answer(recipient)})));
    const reached = outcomes.filter(({outcome}) => outcome === 'delivered').map(({recipient}) => recipient);
    if (reached.length > 0)
      node.deliveries.push({recipients: reached, content: (await buffer(content.open())).toString('latin1')});
    return outcomes.map(({recipient, outcome}) => ({
      recipient,
      outcome,
      reply: {code: replies[outcome], text: outcome},
      isOfContent: true,
    }));
  },
});

/** Where training is not what is tested. */
export const idleTrainer: Trainer = {train: async () => {}, trainAsAsked: async () => 'learned'};

export const openQueue = async (
  store: TestStore,
  spoolFolder: string,
  nodeId = 'alpha',
): Promise<Omit<TestQueue, 'store' | 'filename' | 'spoolFolder'>> => {
  const spool = await createSpool(spoolFolder);
  const test: Omit<TestQueue, 'store' | 'filename' | 'spoolFolder' | 'queue'> = {
    spool,
    deliveries: [],
    leftovers: [],
    told: [],
    answer: async () => 'delivered',
    withReserve: async write => write(),
    ...idleTrainer,
    now: Date.parse('2026-03-01T12:00:00.000Z'),
    async hold(queueId, {domainId = 1, domain = 'example.com', reason = 'spam', score = 8, arrivedAt = test.now, ...parts} = {}) {
      const mail = {...receivedMail(parts), queueId, receivedAt: new Date(arrivedAt)};
      const ownership: Ownership = {direction: parts.direction ?? 'inbound', domain: {id: domainId, name: domain} as Domain};
      const judgement: Judgement = {action: 'hold', score, reason, symbols: [{name: 'A_SYMBOL', score}]};
      await queue.hold(mail, ownership, judgement);
    },
  };
  const keeper = createSpoolBackend({
    spool,
    deliver: recordDeliveries(test),
    routeOf: () => ({servers: [{host: '127.0.0.1', port: 25}]}),
  });
  const own = createListedQueue({
    nodeId,
    store,
    query: store.heldQuery(nodeId),
    backendOf: () => keeper,
    trainer: {
      train: async (...training) => test.train(...training),
      trainAsAsked: async (...training) => test.trainAsAsked(...training),
    },
    now: () => test.now,
    withReserve: async write => test.withReserve(write),
    onActed: ({state, queue_id}) => test.told.push(`${state} ${queue_id}`),
    onLeftover: queueId => test.leftovers.push(queueId),
  });
  const onHeld = ({queue_id}: {queue_id: string}) => test.told.push(`held ${queue_id}`);
  const queue = {...own, ...createSpoolHolder({nodeId, store, spool, arrivalFields: () => trace, onHeld})};
  return Object.assign(test, {queue});
};

export const testQueue = async (t: Teardown, options: {isDurable?: boolean; nodeId?: string} = {}): Promise<TestQueue> => {
  const {store, filename} = await testStore(t, options);
  const spoolFolder = join(filename, '..', 'spool');
  return Object.assign(await openQueue(store, spoolFolder, options.nodeId), {store, filename, spoolFolder});
};
