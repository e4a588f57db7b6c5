// A log in a store that all nodes share: entries of other nodes are between, and one may follow others that have larger numbers.
import {setTimeout as delay} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import type {CommonStore} from '../../../../daemon/services/common-store.ts';
import {startLogRunner} from '../../../../daemon/services/webhooks/log-runner.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {append, at, relayedEvent as event} from '../../../helpers/mail-event.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';
import {progressOf} from '../../../helpers/webhook-progress.ts';
import {secret} from '../../../helpers/webhook-receiver.ts';

const postgres = usePostgres();

const start = async (t: ExecutionContext) => {
  const settings = await newCluster(postgres());
  const alpha = await storeOf(t, settings, {nodeId: 'alpha', nodeNo: 1});
  const beta = await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2});
  const client = await postgres().connect(settings.database);
  t.teardown(async () => client.end());
  return {alpha, beta, client};
};

const webhook = {
  ...{id: 5, url: 'https://hooks.test/a', events: null, domain_id: 0, description: null, secret},
  ...{created_at: at(0), disabled_at: null, disabled_because: null, replay: null},
};

interface Run {
  loggedBy: string;
  createdAt?: string;
  /** What is not taken. */
  refused?: string;
}

/** What is sent, until nothing more comes for a while. */
const sentBy = async (store: CommonStore, {loggedBy, createdAt = at(0), refused}: Run): Promise<string[]> => {
  const mails: string[] = [];
  const runner = startLogRunner({
    ...{webhook: {...webhook, created_at: createdAt}, loggedBy, store, version: '1', random: Math.random},
    clock: {now: Date.now, sleep: async (ms, signal) => delay(ms, undefined, {signal}).catch(() => {})},
    async write(work) {
      await store.transaction(async tx => work(tx.webhooks));
      return true;
    },
    async post({body}) {
      const mail = JSON.parse(body).data.queue_id;
      mails.push(mail);
      return mail === refused ? {status: 500, error: 'it answered 500', took_ms: 1} : {status: 200, error: null, took_ms: 1};
    },
    ...{onDisable() {}, onResult() {}, onMissed: () => mails.push('missed'), onFailure: error => mails.push(String(error))},
  });
  await eventually(() => mails.length > 0);
  for (let before = 0; before < mails.length; ) {
    before = mails.length;
    await delay(1500);
  }
  await runner.stop();
  return mails;
};

testWithPostgres('that another node removes its old entries is no gap in the log of this one', async t => {
  const {alpha, beta} = await start(t);
  await append(beta, event(1));
  await append(alpha, event(2), event(3), event(4));
  await append(beta, event(5), event(6));
  t.deepEqual((await sentBy(alpha, {loggedBy: 'alpha', refused: 'Mail1003'})).slice(0, 1), ['Mail1002']);

  await beta.transaction(async tx => tx.events.forget({before: at(100), surplus: 0, limit: 1000}));
  await append(alpha, event(7));
  const [before] = await alpha.webhooks.progress();
  await alpha.transaction(async tx => tx.webhooks.save({...(before ?? t.fail()), first: null} as NonNullable<typeof before>));

  t.deepEqual(await sentBy(alpha, {loggedBy: 'alpha'}), ['Mail1003', 'Mail1004', 'Mail1007']);
});

testWithPostgres('after the log was restored nothing is passed over, whatever the order of numbers', async t => {
  const {alpha, beta, client} = await start(t);
  await alpha.transaction(async first => {
    // Its transaction is before the other one, its entry after.
    await first.state.write('any', '1');
    await append(alpha, event(2));
    await first.events.append([event(1)]);
  });
  t.deepEqual(await sentBy(alpha, {loggedBy: 'alpha', refused: 'Mail1002'}), ['Mail1001', 'Mail1002']);
  await append(beta, event(3));

  await client.query("UPDATE mail_event_log SET value = repeat('7f', 32) WHERE name = 'epoch'");

  t.true((await sentBy(alpha, {loggedBy: 'alpha'})).includes('Mail1002'));
});

testWithPostgres('a log that was moved here is not sent again, nor to a webhook that was made later', async t => {
  const {alpha, beta} = await start(t);
  await append(alpha, event(1));
  const own = await alpha.events.find({}, {kind: 'all'}, {limit: 1});
  const now = own[0]?.number ?? 0;
  const moved = [now - 3_600_000_000, now + 1, now + 2].map((number, n) => ({
    ...event(10 + n),
    recipient_count: 0,
    recipients_left: null,
    number,
  }));
  await beta.transaction(async tx => tx.events.move(moved));

  t.deepEqual(await sentBy(beta, {loggedBy: 'beta', createdAt: new Date(now / 1000 - 1000).toISOString()}), [
    'Mail1011',
    'Mail1012',
  ]);

  await beta.transaction(async tx =>
    tx.webhooks.save({...progressOf({webhook_id: 5, logged_by: 'beta'}, now + 1), from: now + 1}),
  );
  t.deepEqual(await sentBy(beta, {loggedBy: 'beta'}), ['Mail1012']);
});
