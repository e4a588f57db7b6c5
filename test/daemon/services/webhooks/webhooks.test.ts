// Records of webhooks, and what a node tells of deliveries. What is sent is in the tests of the sender.
import test, {type ExecutionContext} from 'ava';
import {createKnownKinds} from '../../../../daemon/services/cluster/known-kinds.ts';
import type {Heartbeat} from '../../../../daemon/services/cluster/peer-protocol.ts';
import type {StoredNode, StoredWebhook} from '../../../../daemon/services/records.ts';
import {webhookFault} from '../../../../daemon/services/webhooks/webhook-fault.ts';
import type {StoredProgress} from '../../../../daemon/services/webhooks/webhook-store.ts';
import {createWebhookLog, createWebhooks, type WebhookLog} from '../../../../daemon/services/webhooks/webhooks.ts';
import {Fault} from '../../../../shared/fault.ts';
import {maxWebhooks, type WebhookTest} from '../../../../shared/webhook.ts';
import {testDirectories} from '../../../helpers/directories.ts';
import {operator} from '../../../helpers/hold-queue.ts';
import {append, relayedEvent} from '../../../helpers/mail-event.ts';

const url = 'https://hooks.test/services/T1/very-secret?token=more';
const nowMs = Date.parse('2030-01-01T00:00:00.000Z');

interface Options {
  mayUseHttp?: boolean;
  logs?: WebhookLog[];
  outcome?: Partial<WebhookTest>;
}

const arrange = async (t: ExecutionContext, {mayUseHttp = false, logs, outcome}: Options = {}) => {
  const node = await testDirectories(t);
  const {store, configuration, domainDirectory} = node;
  const own = createWebhookLog({store, nodeId: 'alpha'});
  const tested: StoredWebhook[] = [];
  const webhooks = createWebhooks({
    ...{store, configuration, domains: domainDirectory},
    requireKnown: () => {},
    mayUseHttp: () => mayUseHttp,
    tester: {
      async test(webhook) {
        tested.push(webhook);
        return {node_id: 'alpha', status: 200, error: null, took_ms: 3, ...outcome};
      },
    },
    logs: () => logs ?? [own],
    ask: async (asked, question) => ({
      answers: await Promise.all(asked.map(async from => ({from, answer: await question(from)}))),
      unreachable: [],
    }),
    now: () => nowMs,
  });
  const audited = async () => {
    const {entries} = await store.audit.list({}, {limit: 100, offset: 0});
    return entries.map(({action, target, detail}) => ({action, target, detail}));
  };
  return {...node, webhooks, own, tested, audited};
};

const faultOf = async (t: ExecutionContext, work: Promise<unknown>): Promise<Fault> => {
  const fault = await t.throwsAsync(work, {instanceOf: Fault});
  if (!fault) throw new Error('no fault');
  return fault;
};

test('the secret is in the answer to the creation alone, and the audit log has the origin of the address alone', async t => {
  const {webhooks, store, audited} = await arrange(t);

  const {secret, ...made} = await webhooks.create(operator, {url});
  const {result} = await webhooks.show(operator, made.id);
  await webhooks.test(operator, made.id);
  const replayed = await webhooks.replay(operator, made.id, {since: '2029-12-31T23:00:00+01:00'});
  await webhooks.remove(operator, made.id);

  t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.like(made, {url, events: null, domain: null, description: null, disabled_at: null});
  t.deepEqual(result, {...made, progress: []});
  t.deepEqual(replayed, made);
  t.deepEqual(await webhooks.list(), []);
  t.deepEqual(
    (await audited()).map(({action, target, detail}) => `${action} ${target} ${detail}`),
    [
      `webhook.delete ${made.id} https://hooks.test`,
      `webhook.replay ${made.id} https://hooks.test, since 2029-12-31T22:00:00.000Z`,
      `webhook.test ${made.id} https://hooks.test, taken`,
      `webhook.create ${made.id} https://hooks.test`,
    ],
  );
  t.deepEqual(await store.config.listWebhooks(), []);
});

test('two webhooks have two secrets, and each is stored as it was shown', async t => {
  const {webhooks, store} = await arrange(t);

  const secrets = [(await webhooks.create(operator, {url})).secret, (await webhooks.create(operator, {url})).secret];

  t.not(secrets[0], secrets[1]);
  t.deepEqual(
    (await store.config.listWebhooks()).map(({secret}) => secret),
    secrets,
  );
});

for (const [body, path, detail] of [
  [{}, 'url', /is required/],
  [{url: 'hooks.test'}, 'url', /must be an address such as/],
  [{url: 'ftp://hooks.test/'}, 'url', /must begin with https:/],
  [{url: 'https://user:word@hooks.test/'}, 'url', /must not have a name or a password/],
  [{url: 'https://hooks.test/#a'}, 'url', /must not have a fragment/],
  [{url: `https://hooks.test/${'a'.repeat(2000)}`}, 'url', /must be at most 2000 characters/],
  [{url: `https://hooks.test/${'\u00fc'.repeat(1000)}`}, 'url', /must be at most 2000 characters, encoded/],
  [{url: 'http://hooks.test/'}, 'url', /webhooks\.allow_networks/],
  [{url, domain: 'never.test'}, 'domain', /create the domain first/],
  [{url, events: []}, 'events', /must have an event/],
  [{url, events: ['helt']}, 'events.0', /must be one of relayed, held/],
  [{url, secret: 'whsec_mine'}, 'secret', /is not a known field/],
] as const)
  test(`a webhook is refused with the field that is wrong: ${JSON.stringify(body).slice(0, 60)} ${detail}`, async t => {
    const {webhooks} = await arrange(t);

    const {code, details} = await faultOf(t, webhooks.create(operator, body));

    t.is(code, 'validation_failed');
    t.is(details.fields?.[0]?.path, path);
    t.regex(details.fields?.[0]?.detail ?? '', detail);
    t.deepEqual(await webhooks.list(), []);
  });

test('plain HTTP is taken where a network is allowed, and an address is stored as it is sent', async t => {
  const {webhooks} = await arrange(t, {mayUseHttp: true});

  t.is((await webhooks.create(operator, {url: 'http://HOOKS.test/\u00fc'})).url, 'http://hooks.test/%C3%BC');
});

test('a webhook of a domain says its name, and goes with it', async t => {
  const {webhooks, domains, store} = await arrange(t);
  const {id} = await domains.create(operator, {name: 'one.test', backend_servers: ['127.0.0.1:25']});

  const made = await webhooks.create(operator, {url, domain: 'ONE.test'});
  t.is(made.domain, 'one.test');
  t.is((await webhooks.list())[0]?.domain, 'one.test');
  await domains.remove(operator, id, undefined);

  t.deepEqual(await webhooks.list(), []);
  t.deepEqual(await store.config.listWebhooks(), []);
  t.is((await faultOf(t, webhooks.show(operator, made.id))).code, 'not_found');
});

test('there are at most as many webhooks as there may be', async t => {
  const {webhooks} = await arrange(t);
  for (let n = 0; n < maxWebhooks; n += 1) await webhooks.create(operator, {url});

  t.like(await faultOf(t, webhooks.create(operator, {url})), {code: 'conflict'});
  t.is((await webhooks.list()).length, maxWebhooks);
});

test('a repetition of a disabled webhook enables it and leaves out what was before; of an active one it does not', async t => {
  const {webhooks, configuration, store} = await arrange(t);
  const {id} = await webhooks.create(operator, {url});
  const replayOf = async () => (await store.config.listWebhooks([id]))[0]?.replay;

  await webhooks.replay(operator, id, {since: '2029-01-01T00:00:00Z'});
  t.like(await replayOf(), {since: '2029-01-01T00:00:00.000Z', is_fresh_start: false});
  await configuration.change(async tx =>
    tx.update('webhook', id, {disabled_at: tx.at, disabled_because: 'it answered 410 (Gone)'}),
  );
  t.like((await webhooks.list())[0], {disabled_because: 'it answered 410 (Gone)'});
  const again = await webhooks.replay(operator, id, {since: '2029-02-01T00:00:00Z'});

  t.like(again, {disabled_at: null, disabled_because: null});
  t.like(await replayOf(), {since: '2029-02-01T00:00:00.000Z', is_fresh_start: true});
  const late = await faultOf(t, webhooks.replay(operator, id, {since: '2030-01-01T00:00:01Z'}));
  t.deepEqual(late.details.fields, [{path: 'since', detail: 'must lie in the past'}]);
});

test('a test that is not taken is audited as such, and every verb of an unknown webhook says that there is none', async t => {
  const {webhooks, tested, audited} = await arrange(t, {outcome: {status: null, error: 'no answer within 15 s'}});
  const {id, secret} = await webhooks.create(operator, {url});

  t.like(await webhooks.test(operator, id), {error: 'no answer within 15 s'});

  t.is(tested[0]?.secret, secret);
  t.like((await audited())[0], {detail: 'https://hooks.test, not taken'});
  for (const work of [
    webhooks.show(operator, 4),
    webhooks.test(operator, 4),
    webhooks.remove(operator, 4),
    webhooks.replay(operator, 4, {since: '2029-01-01T00:00:00Z'}),
    webhooks.deliveries(operator, 4, {limit: 1}),
  ])
    t.is((await faultOf(t, work)).detail, 'there is no webhook 4');
  t.is(tested.length, 1);
});

test('deliveries have what the log says of their events, and those whose entry is gone are left out', async t => {
  const {webhooks, store} = await arrange(t);
  const {id} = await webhooks.create(operator, {url});
  const other = await webhooks.create(operator, {url});
  await append(store, relayedEvent(1), relayedEvent(2, {event: 'refused', queue_id: null}), relayedEvent(3));
  const [third, second, first] = await store.events.find({}, {kind: 'all'}, {limit: 3});
  const delivery = (number = 0, webhook_id = id) => ({
    ...{webhook_id, logged_by: 'alpha', number, is_given_up: false, tries: 2, tried_at: '2029-01-01T00:00:00.000Z'},
    ...{next_try_at: '2029-01-01T00:05:00.000Z', status: 503, error: 'it answered 503'},
  });
  await store.transaction(async tx => {
    await tx.webhooks.put(delivery(first?.number));
    await tx.webhooks.put({...delivery(second?.number), is_given_up: true, next_try_at: null});
    await tx.webhooks.put(delivery(12_345));
    await tx.webhooks.put(delivery(third?.number, other.id));
  });

  const {result} = await webhooks.deliveries(operator, id, {limit: 10});

  t.deepEqual(
    result.map(({event, queue_id, state, mail_node_id, node_id}) => [event, queue_id, state, mail_node_id, node_id]),
    [
      ['refused', null, 'given_up', 'alpha', 'alpha'],
      ['relayed', 'Mail1001', 'waiting', 'alpha', 'alpha'],
    ],
  );
  t.is(result[1]?.event_id, `${first?.number.toString(36)}-alpha`);
  t.is((await webhooks.deliveries(operator, id, {state: 'given_up', limit: 10})).result.length, 1);
  t.is((await webhooks.deliveries(operator, id, {limit: 1})).result[0]?.event, 'refused');
});

const knownKinds = (kinds: string[] | undefined | 'unheard') =>
  createKnownKinds({
    directory: {list: () => [{id: 1, node_id: 'alpha'} as StoredNode, {id: 2, node_id: 'beta'} as StoredNode]},
    peerStates: {
      latest: no => (no === 2 && kinds !== 'unheard' ? ({version: '0.8.0', kinds} as Heartbeat) : undefined),
    },
  });

test('a member that said that it does not know a kind is named, one that was never heard does not count', t => {
  t.notThrows(() => knownKinds(['domain', 'webhook'])('webhook'));
  t.notThrows(() => knownKinds('unheard')('webhook'));
  for (const kinds of [undefined, ['domain']])
    t.throws(() => knownKinds(kinds)('webhook'), {instanceOf: Fault, message: /node beta runs 0\.8\.0/});
});

const hour = 3_600_000;
const ago = (ms: number) => new Date(nowMs - ms).toISOString();
const webhook = {disabled_at: null, disabled_because: null} as StoredWebhook;
const progress = (fields: Partial<StoredProgress> = {}) =>
  ({failing_since: null, missed_at: null, replayed_at: null, error: 'it answered 503', ...fields}) as StoredProgress;

test('a webhook is reported when it is disabled, fails for an hour, or missed events and was not replayed since', t => {
  const faultAt = (of: StoredProgress[], record = webhook) => webhookFault(record, of, nowMs)?.detail;

  t.is(faultAt([]), undefined);
  t.is(faultAt([progress({failing_since: ago(hour - 1)})]), undefined);
  t.is(faultAt([progress(), progress({failing_since: ago(hour)})]), 'it answered 503');
  t.regex(faultAt([progress({missed_at: ago(hour)})]) ?? '', /gone from the log/);
  t.is(faultAt([progress({missed_at: ago(hour), replayed_at: ago(hour / 2)})]), undefined);
  t.is(faultAt([progress({missed_at: ago(8 * 24 * hour)})]), undefined);
  t.is(faultAt([], {...webhook, disabled_at: ago(5), disabled_because: 'it answered 410'}), 'disabled: it answered 410');
  t.is(webhookFault(webhook, [progress({failing_since: ago(2 * hour)})], nowMs)?.sinceMs, nowMs - 2 * hour);
});
