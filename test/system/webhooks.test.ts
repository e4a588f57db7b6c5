// Webhooks of a real node: what happens to mail arrives signed, once, and also after the node was away.
import test, {type ExecutionContext} from 'ava';
import type {CreatedWebhook, WebhookDetail} from '../../shared/webhook.ts';
import {eventually} from '../helpers/eventually.ts';
import {holdAll, type MailNode, relayAll, startMailNode} from '../helpers/mail-node.ts';
import {button} from '../helpers/page.ts';
import {pause} from '../helpers/pause.ts';
import {linksOf, startNodeWithPages} from '../helpers/recipient-node.ts';
import {startReceiver} from '../helpers/webhook-receiver.ts';

const config = {webhooks: {allow_networks: ['127.0.0.0/8']}};

const start = async (t: ExecutionContext, fields: object = holdAll) => {
  const node = await startMailNode(t, {config, domain: {name: 'example.com', ...fields}});
  const receiver = await startReceiver(t);
  return {node, receiver};
};

const add = async (node: MailNode, receiver: {url: string; secret: string}, fields: object = {}): Promise<CreatedWebhook> => {
  const {status, json, body} = await node.api('POST', 'webhooks', {body: {url: receiver.url, ...fields}});
  if (status !== 201) throw new Error(`${status} ${body}`);
  receiver.secret = json.data.secret;
  return json.data;
};
const detail = async (node: MailNode, id: number): Promise<WebhookDetail> => (await node.api('GET', `webhooks/${id}`)).json.data;

test('what happens to a mail arrives as the trace has it, in order, and once', async t => {
  const {node, receiver} = await start(t);
  const {id} = await add(node, receiver);
  const mail = await node.hold({to: 'ben@example.com', subject: 'held for the chief'});
  await node.api('POST', `mail/quarantine/${mail.node_id}/${mail.queue_id}/release`);

  await eventually(() => receiver.received.length >= 2);
  await node.stop('SIGTERM');
  await node.start();
  const {queue_id} = await node.hold({to: 'ben@example.com'});
  await eventually(() => receiver.received.length >= 3);

  const trace = (await node.api('GET', 'mail/trace')).json.data.toReversed();
  t.deepEqual(
    receiver.received.map(({data: {number: _, ...data}}) => data),
    trace,
  );
  t.deepEqual(
    receiver.received.map(({type, id: event}) => [type, event]),
    trace.map((entry: {event: string; id: string}) => [entry.event, entry.id]),
  );
  t.is(receiver.received[2]?.data.queue_id, queue_id);
  t.deepEqual(receiver.forged, []);
  const numbers = receiver.received.map(({data}) => data.number);
  t.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
  await eventually(async () => (await detail(node, id)).progress[0]?.delivered_at);
  t.like((await detail(node, id)).progress[0], {
    node_id: node.node_id,
    failing_since: null,
    waiting: 0,
    given_up: 0,
    missed_at: null,
  });
});

test('what happened while the node or the receiver was killed arrives later', async t => {
  const {node, receiver} = await start(t);
  await add(node, receiver, {events: ['held']});
  let isDown = false;
  receiver.answer = (_delivery, response) => {
    if (!isDown) return 200;
    response.destroy();
    return undefined;
  };
  await node.hold({to: 'one@example.com'});
  await eventually(() => receiver.received.length === 1);

  isDown = true;
  for (const name of ['two', 'three']) await node.hold({to: `${name}@example.com`});
  await eventually(() => receiver.received.length > 1);
  await node.stop('SIGKILL');
  isDown = false;
  await node.start();
  await eventually(() => new Set(receiver.received.map(({id}) => id)).size === 3);

  t.deepEqual([...new Set(receiver.received.flatMap(({data}) => data.recipients))].toSorted(), [
    'one@example.com',
    'three@example.com',
    'two@example.com',
  ]);
  t.deepEqual(receiver.forged, []);
});

test('a request of a recipient arrives, once, with the mail and who asked', async t => {
  const {node, page} = await startNodeWithPages(t, {config});
  const receiver = await startReceiver(t);
  await add(node, receiver, {events: ['release_requested']});
  await node.api('PUT', `domains/${node.domainId}/digest`, {body: {actions: {spam: 'request'}}});
  const {queue_id} = await node.hold({to: ['ann@example.com', 'ben@example.com'], subject: 'wanted'});
  const [link = ''] = (await linksOf(node)).values();

  for (let times = 0; times < 2; times += 1) await page(link, {...button, body: 'do=request'});
  await eventually(() => receiver.received.length > 0);
  await node.hold({to: 'ben@example.com'});
  await pause(1000);

  t.is(receiver.received.length, 1);
  t.like(receiver.received[0], {
    type: 'release_requested',
    data: {event: 'release_requested', queue_id, subject: 'wanted', key_id: 0},
  });
  t.regex(receiver.received[0]?.data.recipients?.join() ?? '', /^(ann|ben)@example\.com$/);
  t.deepEqual(receiver.forged, []);
});

test('a test of a webhook says what its receiver answered, and no log has its secret or path', async t => {
  const {node, receiver} = await start(t);
  const {id} = await add(node, receiver, {domain: 'example.com'});
  const tested = async () => (await node.api('POST', `webhooks/${id}/test`)).json.data;

  t.like(await tested(), {node_id: node.node_id, status: 204, error: null});
  t.like(receiver.received, [{type: 'test', data: {node_id: node.node_id}}]);
  receiver.answer = () => 500;
  t.like(await tested(), {status: 500, error: 'it answered 500'});
  for (const secret of [receiver.secret, '/hook']) t.false(node.log().includes(secret), secret);
});

test('410 disables a webhook, a replay enables it, and with its domain it is gone', async t => {
  const {node, receiver} = await start(t);
  const {id} = await add(node, receiver, {domain: 'example.com'});
  receiver.answer = () => 410;
  const since = new Date().toISOString();
  await node.hold({to: 'ben@example.com'});
  const disabled = await eventually(async () => {
    const found = await detail(node, id);
    return found.disabled_at !== null && found;
  });
  t.is(disabled.disabled_because, `${node.node_id}: it answered 410 (Gone)`);
  t.like((await node.api('GET', 'audit?action=webhook.disable')).json.data[0], {target: String(id), key_id: null});
  const count = receiver.received.length;
  await node.hold({to: 'ben@example.com'});
  await pause(2000);
  t.is(receiver.received.length, count);

  receiver.answer = () => 200;
  t.is((await node.api('POST', `webhooks/${id}/replay`, {body: {since}})).status, 200);
  await eventually(() => receiver.received.length === count + 2);
  await node.api('DELETE', `domains/${node.domainId}`);
  t.is((await node.api('GET', `webhooks/${id}`)).status, 404);
  t.deepEqual(receiver.forged, []);
});

test('receivers that hang, answer without end or with 500 delay neither another receiver nor mail', async t => {
  const {node, receiver} = await start(t, relayAll);
  const bad = await Promise.all([
    startReceiver(t, {answer: () => undefined}),
    startReceiver(t, {
      answer(_delivery, response) {
        const more = () => {
          while (response.write(Buffer.alloc(65_536)));
          response.once('drain', more);
        };
        more();
        return undefined;
      },
    }),
    startReceiver(t, {answer: () => 500}),
    startReceiver(t, {answer: (_delivery, response) => void response.writeHead(302, {location: receiver.url}).end()}),
  ]);
  for (const one of bad) await add(node, one);
  await add(node, receiver);

  for (let n = 0; n < 100; n += 1) t.is((await node.send(`Subject: ${n}\r\n\r\nx\r\n`)).code, 250);
  await eventually(() => receiver.received.length >= 100, 10_000);

  t.is(receiver.received.length, 100);
  t.true(bad.every(({received}) => received.length > 0));
  t.deepEqual(receiver.forged, []);
  await node.stop('SIGTERM');
});
