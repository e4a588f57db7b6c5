// Training of Rspamd with what people decide, where it is configured.
import {readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {eventually, type Held, holdAll, type MailNode, onTheWire, startMailNode} from '../helpers/mail-node.ts';
import {startMute} from '../helpers/mute-server.ts';
import {addToConfig} from '../helpers/node.ts';
import {closedPort} from '../helpers/ports.ts';
import {isRspamdInstalled, startTrainableRspamd} from '../helpers/rspamd.ts';
import {testFolder} from '../helpers/test-folder.ts';

const sample = async (name: string) => onTheWire(await readFile(new URL(`../samples/${name}`, import.meta.url)));

const secretFile = async (t: ExecutionContext, secret: string): Promise<string> => {
  const folder = await testFolder(t);
  const file = join(folder, 'password');
  await writeFile(file, `${secret}\n`, {mode: 0o600});
  return file;
};

const holdSample = async (node: MailNode, name: string): Promise<Held> => {
  const before = new Set((await node.held()).map(({queue_id}) => queue_id));
  await node.send(await sample(name));
  const mail = (await node.held()).find(({queue_id}) => !before.has(queue_id));
  if (!mail) throw new Error(`${name} is not held`);
  return mail;
};

/** The counts that are not 0, such as `ham learned 1`. */
const trainingOf = async (node: MailNode): Promise<string[]> => {
  const text = await (await fetch(`${node.metrics_url}/metrics`)).text();
  const counts = text.matchAll(/^mfd_rspamd_lessons_total\{lesson="(\w+)",outcome="(\w+)"\} (\d+)$/gm);
  return [...counts].map(([, ...words]) => words.join(' ')).filter(line => !line.endsWith(' 0'));
};

const configure = async (node: MailNode, config: Record<string, unknown>): Promise<void> => {
  const rereads = () => node.log().split('configuration and certificates reread').length;
  const before = rereads();
  await addToConfig(node.data, config);
  node.signal('SIGHUP');
  await eventually(() => rereads() > before);
};

const withRspamd = isRspamdInstalled() ? test : test.skip;

withRspamd('[Rspamd] it learns what is discarded as spam and what is released as ham, and nothing from retention', async t => {
  const {url, controllerUrl, password, trained} = await startTrainableRspamd(t);
  const scanner = {
    type: 'rspamd',
    rspamd_url: url,
    rspamd_learn: true,
    rspamd_controller_url: controllerUrl,
    rspamd_controller_password_file: await secretFile(t, password),
  };
  const node = await startMailNode(t, {config: {scanner, retention: {sweep_interval: 0.5}}, domain: holdAll});
  const [spam, ham, old] = [
    await holdSample(node, 'phishing.eml'),
    await holdSample(node, 'plain.eml'),
    await holdSample(node, 'eight-bit.eml'),
  ];

  t.is((await node.act('discard', spam)).status, 200);
  t.deepEqual(await trained(), {ham: 0, spam: 1});
  t.is((await node.act('release', ham)).status, 200);
  t.deepEqual(await trained(), {ham: 1, spam: 1});
  t.like((await node.act('release', ham)).json, {data: {already: true}});
  await configure(node, {retention: {days: 0.000_01}});
  await eventually(async () => (await node.held()).length === 0);

  t.deepEqual(await trained(), {ham: 1, spam: 1});
  t.deepEqual(await trainingOf(node), ['ham learned 1', 'spam learned 1']);
  t.is((await node.act('discard', old)).status, 404);
  t.false(node.log().includes(password));
});

test('nobody is trained unless it is configured, which needs no start', async t => {
  const node = await startMailNode(t);
  const mails = [await holdSample(node, 'gtube.eml'), await holdSample(node, 'gtube.eml')] as const;

  await node.act('discard', mails[0]);
  t.deepEqual(await trainingOf(node), []);
  const controller = `http://${formatHostPort(await closedPort())}`;
  await configure(node, {scanner: {rspamd_learn: true, rspamd_controller_url: controller}});
  await node.act('discard', mails[1]);

  t.deepEqual(await trainingOf(node), ['spam failed 1']);
});

test('a controller that hangs stops nobody, and is told of once', async t => {
  const scanner = {rspamd_learn: true, rspamd_controller_url: await startMute(t)};
  const node = await startMailNode(t, {config: {scanner}});
  const mails: Held[] = [];
  for (let count = 0; count < 20; count += 1) mails.push(await holdSample(node, 'gtube.eml'));

  const items = mails.map(({node_id, queue_id}) => ({node_id, queue_id}));
  const {json} = await node.api('POST', 'mail/quarantine/discard', {body: {items}});

  t.is(json.data.filter(({state}: {state: string}) => state === 'discarded').length, 20);
  t.deepEqual(await trainingOf(node), ['spam failed 20']);
  t.is(node.log().match(/Rspamd training failed/g)?.length, 1);
  t.regex(node.log(), /"detail":"no answer within 5000 ms"/);
  t.deepEqual(await node.spooled('held'), []);
});
