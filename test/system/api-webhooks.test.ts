// Webhooks over the API of a real node: who may see them, and where their secrets are not.
import {createServer} from 'node:http';
import test from 'ava';
import {eventually} from '../helpers/eventually.ts';
import {forFile} from '../helpers/for-file.ts';
import {listening} from '../helpers/listening.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode({config: {webhooks: {allow_networks: ['127.0.0.0/8']}, log: {level: 'debug'}}});

/** Answers with the status that the path begins with. */
const receiver = forFile(async owner => {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.writeHead(Number(request.url?.slice(1, 4))).end();
  });
  return {bodies, url: `http://127.0.0.1:${await listening(owner, server)}`};
});

test.serial('a webhook is created with a secret, listed and shown without it, tested, and removed', async t => {
  const body = {url: `${receiver().url}/204/path`, events: ['held'], description: 'to the chat'};

  const {status, json} = await node().api('POST', 'webhooks', {body});
  const {secret, ...made} = json.data;
  t.is(status, 201);
  t.deepEqual(Object.keys(json.data), [
    ...['id', 'url', 'events', 'domain', 'description', 'created_at', 'disabled_at', 'disabled_because', 'secret'],
  ]);
  t.deepEqual((await node().api('GET', 'webhooks')).json.data, [made]);
  t.like((await node().api('GET', `webhooks/${made.id}`)).json.data, made);
  const tested = (await node().api('POST', `webhooks/${made.id}/test`)).json.data;
  t.like(tested, {node_id: node().node_id, status: 204, error: null});
  t.is(JSON.parse(receiver().bodies.at(-1) ?? '').type, 'test');
  t.deepEqual((await node().api('GET', `webhooks/${made.id}/deliveries`)).json.data, []);
  t.is((await node().api('DELETE', `webhooks/${made.id}`)).json.data, null);
  t.is((await node().api('GET', `webhooks/${made.id}`)).status, 404);
  t.is((await node().api('DELETE', `webhooks/${made.id}`)).status, 404);
  t.regex(secret, /^whsec_/);
});

test.serial('an event that is not taken is among the deliveries, with the mail that it is about', async t => {
  const {name} = await node().createDomain();
  const {id} = (await node().api('POST', 'webhooks', {body: {url: `${receiver().url}/404/`, domain: name}})).json.data;

  const {queue_id} = await node().hold({to: `a@${name}`});
  const delivered = async () => (await node().api('GET', `webhooks/${id}/deliveries?state=waiting`)).json.data;
  const progress = async () => (await node().api('GET', `webhooks/${id}`)).json.data.progress;
  await eventually(async () => (await progress())[0]?.failing_since);

  t.like((await progress())[0], {node_id: node().node_id, status: 404, delivered_at: null});
  for (const {queue_id: of} of await delivered()) t.is(of, queue_id);
  t.is((await node().api('GET', `webhooks/${id}/deliveries?state=lost`)).status, 400);
  await node().api('DELETE', `webhooks/${id}`);
});

test.serial('keys of all other scopes may neither see nor change webhooks', async t => {
  const {name} = await node().createDomain();
  const {id} = (await node().api('POST', 'webhooks', {body: {url: 'https://hooks.invalid/secret', domain: name}})).json.data;

  for (const [scope, bound] of [
    ['read-only', {}],
    ['quarantine-only', {}],
    ['domain-admin', {domain: name}],
  ] as const) {
    const {key} = await node().createKey(scope, bound);
    for (const [method, path, body] of [
      ['GET', 'webhooks'],
      ['POST', 'webhooks', {url: 'https://hooks.invalid/'}],
      ['GET', `webhooks/${id}`],
      ['DELETE', `webhooks/${id}`],
      ['POST', `webhooks/${id}/test`],
      ['POST', `webhooks/${id}/replay`, {since: '2026-03-01T09:30:00Z'}],
      ['GET', `webhooks/${id}/deliveries`],
    ] as const) {
      const answer = await node().api(method, path, {key, ...(body && {body})});
      t.like(answer, {status: 403, json: {error: {required_scopes: ['full-admin']}}}, `${scope} ${method} ${path}`);
    }
  }
});

test.serial(
  'the secret is nowhere but in the answer to the creation: not in the API, a log, the status or what mfctl prints',
  async t => {
    const path = '500/a-path-that-is-secret';
    const {id, secret} = (await node().api('POST', 'webhooks', {body: {url: `${receiver().url}/${path}`}})).json.data;
    await node().api('POST', `webhooks/${id}/test`);
    await node().api('POST', `webhooks/${id}/replay`, {body: {since: new Date(Date.now() - 1000).toISOString()}});
    await node().api('GET', `webhooks/${id}`);
    const metrics = await (await fetch(`${node().metrics_url}/metrics`)).text();

    const seen = [node().log(), node().stdout(), metrics];
    for (const url of [
      'webhooks',
      `webhooks/${id}`,
      `webhooks/${id}/deliveries`,
      'audit?limit=1000',
      'cluster/status',
      'cluster/drift',
    ])
      seen.push(String((await node().api('GET', url)).body));
    for (const words of [
      ['webhook', 'list'],
      ['webhook', 'show', String(id)],
      ['cluster', 'check'],
      ['audit', '--all'],
    ])
      for (const format of ['table', 'json']) {
        const {stdout, stderr} = await node().mfctl([...words, '-o', format]);
        seen.push(stdout, stderr);
      }

    const value = secret.slice('whsec_'.length);
    for (const text of seen) t.false(text.includes(value), text.slice(0, 200));
    // Of the address only those may know the path who may see the webhook.
    for (const text of [node().log(), node().stdout(), metrics, String((await node().api('GET', 'audit?limit=1000')).body)])
      t.false(text.includes('a-path-that-is-secret'), text.slice(0, 200));
    t.true(String((await node().api('GET', 'audit?action=webhook.create')).body).includes(receiver().url));
  },
);

test.serial('mfctl adds a webhook, tests it with an exit status, lists what failed, repeats and removes it', async t => {
  const added = await node().mfctl([
    'webhook',
    'add',
    `${receiver().url}/200/`,
    '--events',
    'held,released',
    '--json',
    'id,secret',
  ]);
  const {id, secret} = JSON.parse(added.stdout);
  const failing = JSON.parse((await node().mfctl(['webhook', 'add', `${receiver().url}/503/`, '-o', 'json'])).stdout);

  t.regex(secret, /^whsec_/);
  t.regex(added.stderr, /not shown again/);
  t.is((await node().mfctl(['webhook', 'test', String(id)])).code, 0);
  const refused = await node().mfctl(['webhook', 'test', String(failing.id)]);
  t.is(refused.code, 1);
  t.regex(refused.stderr, /did not take the event from/);
  t.regex((await node().mfctl(['webhook', 'deliveries', String(id), '--failed'])).stderr, /no event was given up/);
  t.is((await node().mfctl(['webhook', 'replay', String(id), '--since', '2h'])).code, 0);
  t.is((await node().mfctl(['webhook', 'replay', String(id)])).code, 2);
  t.is((await node().mfctl(['webhook', 'remove', String(id)])).code, 2, 'nobody can answer');
  t.is((await node().mfctl(['webhook', 'remove', String(id), '--yes'])).code, 0);
  t.is((await node().mfctl(['webhook', 'show', String(id)])).code, 5);
  const wrong = await node().mfctl(['webhook', 'add', 'ftp://hooks.test/']);
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /ftp:\/\/hooks\.test\/ must begin with https/);
});
