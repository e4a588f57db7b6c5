// The receivers in docs/webhooks.md, as they stand there, against a real node.
import {spawn} from 'node:child_process';
import {readFile, symlink, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {join, resolve} from 'node:path';
import {text} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {eventually} from '../helpers/eventually.ts';
import {freePort} from '../helpers/ports.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode({config: {webhooks: {allow_networks: ['127.0.0.1/32']}}});

/** The blocks of the page. */
const codeOf = async (): Promise<{receiver: string; relay: string}> => {
  const page = await readFile('docs/webhooks.md', 'utf8');
  const [, receiver = ''] = /^```js\n(import [\s\S]*?)^```$/m.exec(page) ?? [];
  const [, relay = ''] = /^```js\n(const handle [\s\S]*?)^```$/m.exec(page) ?? [];
  return {receiver, relay};
};

interface Started {
  name: string;
  id: number;
  url: string;
  printed(): string[];
}

/** A webhook for mail of a new domain, and the receiver that it is for. */
const start = async (t: ExecutionContext, code: string, env: Record<string, string> = {}): Promise<Started> => {
  const folder = await testFolder(t);
  await writeFile(join(folder, 'receiver.mjs'), code);
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const {name} = await node().createDomain();
  const {id, secret} = (await node().api('POST', 'webhooks', {body: {url, events: ['held'], domain: name}})).json.data;
  const receiver = spawn(process.execPath, [join(folder, 'receiver.mjs')], {
    env: {WEBHOOK_SECRET: secret, PORT: String(port), ...env},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => receiver.kill());
  let printed = '';
  receiver.stdout.on('data', chunk => {
    printed += chunk;
  });
  await eventually(async () => (await fetch(url).catch(() => undefined))?.status === 401);
  return {name, id, url, printed: () => printed.trim().split('\n')};
};

test('the receiver of the page takes what is signed, once, and refuses everything else', async t => {
  const {receiver} = await codeOf();
  t.true(receiver.trim().split('\n').length <= 21, 'about 20 lines');
  const {name, id, url, printed} = await start(t, receiver);
  const wasPrinted = (queueId: string) => printed().some(line => line.includes(queueId));

  const tested = (await node().api('POST', `webhooks/${id}/test`)).json.data;
  const {queue_id} = await node().hold({to: `chief@${name}`});
  await eventually(() => wasPrinted(queue_id), 20_000);
  const since = new Date(Date.now() - 60_000).toISOString();
  await node().api('POST', `webhooks/${id}/replay`, {body: {since}});
  const second = await node().hold({to: `chief@${name}`});
  await eventually(() => wasPrinted(second.queue_id), 20_000);
  const headers = {'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,AAAA'};
  const forged = await fetch(url, {method: 'POST', body: '{"type":"held","data":{}}', headers});

  t.like(tested, {status: 204, error: null});
  t.is(forged.status, 401);
  const held = [queue_id, second.queue_id].map(queueId => `held ${queueId} chief@${name}`);
  t.deepEqual(
    printed().map(line => line.trim()),
    ['test', ...held],
  );
});

test('the relay of the page posts to a chat, and asks for what the chat did not take again', async t => {
  const said: string[] = [];
  const chat = createServer(async (request, response) => {
    said.push(JSON.parse(await text(request)).text);
    response.writeHead(said.length === 1 ? 500 : 200).end();
  });
  await new Promise<void>(done => chat.listen(0, '127.0.0.1', done));
  t.teardown(() => chat.close());
  const {port} = chat.address() as {port: number};
  const {receiver, relay} = await codeOf();
  const {name} = await start(t, receiver.replace(/^const handle .*\n/m, relay), {CHAT_URL: `http://127.0.0.1:${port}/`});

  await node().hold({to: `chief@${name}`, subject: 'Win <now> `@channel https://win.test'});
  await eventually(() => said.length === 2, 20_000);

  t.deepEqual([...new Set(said)].length, 1);
  t.regex(
    said[0] ?? '',
    new RegExp(`^\`held: Win now @channel https://win\\.test for chief@${name.replaceAll('.', '\\.')} on [^\`]+\`$`),
  );
});
