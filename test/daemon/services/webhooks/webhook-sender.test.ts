import {setImmediate as afterOthers} from 'node:timers/promises';
import test from 'ava';
import {createNetworkSet} from '../../../../daemon/mail/networks.ts';
import {createWebhookSender} from '../../../../daemon/services/webhooks/webhook-sender.ts';
import {createWebhookTransport} from '../../../../daemon/webhooks/post.ts';
import {at} from '../../../helpers/mail-event.ts';
import {secret, startReceiver} from '../../../helpers/webhook-receiver.ts';

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
