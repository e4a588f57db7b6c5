import type {Store} from '../../../../daemon/services/ports.ts';
import {createLogWindow} from '../../../../daemon/services/webhooks/log-window.ts';
import {openProgress} from '../../../../daemon/services/webhooks/progress.ts';
import type {RunnerNeeds} from '../../../../daemon/services/webhooks/runner-needs.ts';
import {append, at, relayedEvent as event} from '../../../helpers/mail-event.ts';
import {createStepClock} from '../../../helpers/step-clock.ts';
import {nodeId, testSqlite} from '../../../helpers/store-makes.ts';
import {secret} from '../../../helpers/webhook-receiver.ts';

const webhook = {
  ...{id: 5, url: 'https://hooks.test/a', events: null, domain_id: 0, description: null, secret},
  ...{created_at: at(0), disabled_at: null, disabled_because: null, replay: null},
};

const openWindow = async (store: Store) => {
  const needs = {webhook, loggedBy: nodeId, store, clock: createStepClock(0)} as unknown as RunnerNeeds;
  const progress = await openProgress(needs);
  return {progress, window: createLogWindow(needs, progress)};
};

testSqlite('entries that strangers made long come in small pages, and none is left out', async (t, {store}) => {
  const long = 'x'.repeat(900);
  const texts = {subject: long, detail: long, message_id: long, reply: long};
  const lists = {
    symbols: Array<string>(12).fill(long),
    recipients: Array<string>(4).fill(long),
    from: Array<string>(4).fill(long),
  };
  const longEvents = Array.from({length: 60}, (_, n) => event(n + 1, {event: 'held', ...texts, ...lists}));
  await append(store, ...longEvents, ...Array.from({length: 150}, (_, n) => event(n + 61)));
  const {progress, window} = await openWindow(store);
  const pages: (string | null)[][] = [];

  for (let hasMore = true; hasMore; ) {
    hasMore = await window.read();
    const page = window.open();
    pages.push(page.map(entry => entry.event.queue_id));
    for (const entry of page) window.done(entry);
  }

  t.true((pages[0]?.length ?? 0) < 40, String(pages[0]?.length));
  t.deepEqual(
    pages.flat(),
    Array.from({length: 210}, (_, n) => `Mail${1001 + n}`),
  );
  const {place} = progress.now();
  t.false(await window.read());
  t.is(progress.now().place, place);
});
