// The receiver in docs/webhooks.md, as it stands there, against a real node.
import {spawn} from 'node:child_process';
import {readFile, symlink, writeFile} from 'node:fs/promises';
import {join, resolve} from 'node:path';
import test from 'ava';
import {eventually} from '../helpers/eventually.ts';
import {freePort} from '../helpers/ports.ts';
import {testFolder} from '../helpers/test-folder.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode({config: {webhooks: {allow_networks: ['127.0.0.1/32']}}});

test('the receiver of the page takes what is signed, once, and refuses everything else', async t => {
  const page = await readFile('docs/webhooks.md', 'utf8');
  const [, code = ''] = /^```js\n(import [\s\S]*?)^```$/m.exec(page) ?? [];
  t.true(code.trim().split('\n').length <= 21, 'about 20 lines');
  const folder = await testFolder(t);
  await writeFile(join(folder, 'receiver.mjs'), code);
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const {name} = await node().createDomain();
  const {id, secret} = (await node().api('POST', 'webhooks', {body: {url, events: ['held'], domain: name}})).json.data;
  const receiver = spawn(process.execPath, [join(folder, 'receiver.mjs')], {
    env: {WEBHOOK_SECRET: secret, PORT: String(port)},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => receiver.kill());
  let printed = '';
  receiver.stdout.on('data', chunk => {
    printed += chunk;
  });
  await eventually(async () => (await fetch(url).catch(() => undefined))?.status === 401);

  const tested = (await node().api('POST', `webhooks/${id}/test`)).json.data;
  const {queue_id} = await node().hold({to: `chief@${name}`});
  await eventually(() => printed.includes(queue_id), 20_000);
  const since = new Date(Date.now() - 60_000).toISOString();
  await node().api('POST', `webhooks/${id}/replay`, {body: {since}});
  const second = await node().hold({to: `chief@${name}`});
  await eventually(() => printed.includes(second.queue_id), 20_000);
  const headers = {'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,AAAA'};
  const forged = await fetch(url, {method: 'POST', body: '{"type":"held","data":{}}', headers});

  t.like(tested, {status: 204, error: null});
  t.is(forged.status, 401);
  t.deepEqual(
    printed
      .trim()
      .split('\n')
      .map(line => line.trim()),
    ['test', `held ${queue_id} chief@${name}`, `held ${second.queue_id} chief@${name}`],
  );
});
