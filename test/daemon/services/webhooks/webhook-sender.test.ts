// The sender: which runners there are, from where each of them goes on, and tests.
import {setImmediate as afterOthers, setTimeout as delay} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {createNetworkSet} from '../../../../daemon/mail/networks.ts';
import type {ConfigStore, Store} from '../../../../daemon/services/ports.ts';
import {createWebhookSender, type SentLogs} from '../../../../daemon/services/webhooks/webhook-sender.ts';
import {createWebhookTransport} from '../../../../daemon/webhooks/post.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {append, at, relayedEvent as event} from '../../../helpers/mail-event.ts';
import {nodeId, testSqlite} from '../../../helpers/store-makes.ts';
import {progressOf} from '../../../helpers/webhook-progress.ts';
import {secret, startReceiver} from '../../../helpers/webhook-receiver.ts';

const begin = (t: ExecutionContext, store: Store, configuration: ConfigStore) => {
  const mails: string[] = [];
  let logs: Awaited<ReturnType<SentLogs['renew']>> = {held: [nodeId], taken: [], returning: []};
  const sender = createWebhookSender({
    ...{nodeId, store, configuration, version: '1'},
    transport: {
      open: () => ({
        async post({body}) {
          mails.push(JSON.parse(body).data.queue_id);
          return {status: 200, error: null, took_ms: 1};
        },
        close() {},
      }),
    },
    logs: {
      renew: async () => logs,
      async giveBack() {},
      async write(_loggedBy, work) {
        await store.transaction(async tx => work(tx.webhooks));
        return true;
      },
    },
    clock: {now: Date.now, sleep: async (ms, signal) => delay(ms, undefined, {signal}).catch(() => {})},
    ...{onResult() {}, onFailing() {}, onMissed() {}, onDisabled() {}, onFailure: error => t.fail(String(error))},
  });
  t.teardown(sender.stop);
  return {
    sender,
    mails,
    setLogs(next: typeof logs) {
      logs = next;
    },
  };
};

const webhookOf = {
  ...{url: 'https://hooks.test/a', events: null, domain_id: 0, description: null, secret},
  ...{created_at: at(0), disabled_at: null, disabled_because: null, replay: null},
};

testSqlite('a log that another node had meanwhile is sent on from where that one has sent it', async (t, {store, config}) => {
  const {sender, mails, setLogs} = begin(t, store, config);
  await config.change(async tx => tx.create('webhook', 5, webhookOf));
  await append(store, event(1));
  sender.start();
  const [own] = await eventually(async () => {
    const found = await store.webhooks.progress(5);
    return found.length > 0 && found;
  });
  // This process was stopped, and another one has sent what comes in the next hour.
  const number = Date.now() * 1000 + 3_600_000_000;
  await store.transaction(async tx => tx.webhooks.save({...own, ...progressOf({webhook_id: 5, logged_by: nodeId}, number)}));

  setLogs({held: [nodeId], taken: [nodeId], returning: []});
  await config.change(async tx => tx.create('webhook', 6, {...webhookOf, events: ['held']}));
  await eventually(async () => (await store.webhooks.progress(6)).length > 0);
  await append(store, event(2), event(3, {event: 'held'}));
  await eventually(() => mails.includes('Mail1003'));
  await delay(1500);

  t.deepEqual(mails, ['Mail1001', 'Mail1003']);
});

test('many tests at once warn of no leak, and end with the sender', async t => {
  const warnings: string[] = [];
  const onWarning = ({name}: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const receiver = await startReceiver(t, {answer: () => undefined});
  const networks = createNetworkSet(['127.0.0.0/8']);
  const sender = createWebhookSender({
    ...{version: '1', nodeId: 'alpha', transport: createWebhookTransport({networks: () => networks})},
    clock: {now: Date.now, sleep: async () => {}},
    store: {config: {listWebhooks: async () => []}, webhooks: {progress: async () => []}},
    onFailing() {},
  } as unknown as Parameters<typeof createWebhookSender>[0]);
  const webhook = {
    ...{id: 5, url: receiver.url, events: null, domain_id: 0, description: null, secret},
    ...{created_at: at(0), disabled_at: null, disabled_because: null, replay: null},
  };

  const tests = Array.from({length: 20}, async () => sender.test(webhook));
  await afterOthers();
  await sender.stop();

  for (const {status} of await Promise.all(tests)) t.is(status, null);
  t.deepEqual(warnings, []);
});
