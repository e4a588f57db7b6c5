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

const referenceOf = ({node_id, queue_id}: Held) => ({node_id, queue_id});

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

withRspamd('[Rspamd] a held mail is learned when an administrator asks for it, and stays held', async t => {
  const {url, controllerUrl, password, trained} = await startTrainableRspamd(t);
  const passwordFile = await secretFile(t, password);
  const scanner = {
    type: 'rspamd',
    rspamd_url: url,
    rspamd_controller_url: controllerUrl,
    rspamd_controller_password_file: passwordFile,
  };
  const node = await startMailNode(t, {config: {scanner}, domain: holdAll});
  const [spam, ham] = [await holdSample(node, 'phishing.eml'), await holdSample(node, 'plain.eml')];
  const train = async ({node_id, queue_id}: Held, body: object, key?: string) =>
    node.api('POST', `mail/quarantine/${node_id}/${queue_id}/train`, {body, ...(key !== undefined && {key})});

  const outcomes = [(await train(spam, {as: 'spam'})).json.data, (await train(ham, {as: 'ham'})).json.data];
  t.deepEqual(outcomes, [
    {...referenceOf(spam), as: 'spam', outcome: 'learned'},
    {...referenceOf(ham), as: 'ham', outcome: 'learned'},
  ]);
  t.deepEqual(await trained(), {ham: 1, spam: 1});
  t.is((await train(spam, {as: 'ham'})).json.data.outcome, 'learned', 'a wrong answer is put right');
  t.deepEqual(await trained(), {ham: 2, spam: 0});
  const [again, wrong] = [await train(ham, {as: 'ham'}), await train(ham, {as: 'phish'})];
  t.regex(
    again.json.error.detail,
    /^Rspamd did not learn this mail: HTTP status 404; it says that it has learned the mail before/,
  );
  t.is(wrong.status, 422);
  const limited = await node.createKey('quarantine-only');
  t.is((await train(ham, {as: 'ham'}, limited.key)).status, 403);
  t.is((await node.held()).length, 2);
  await node.act('discard', spam);
  t.is((await train(spam, {as: 'spam'})).status, 404);
  t.deepEqual(await trained(), {ham: 2, spam: 0}, 'without rspamd_learn a discard trains nothing');

  await writeFile(passwordFile, 'wrong\n');
  await configure(node, {});
  const refused = await train(ham, {as: 'spam'});
  t.is(refused.status, 409);
  t.is(
    refused.json.error.detail,
    'Rspamd did not learn this mail: HTTP status 401; check scanner.rspamd_controller_password_file',
  );
  const entries = (await node.api('GET', 'audit?action=quarantine.train')).json.data as {result: string; detail: string}[];
  t.deepEqual(
    entries.map(({result, detail}) => `${result} ${detail}`.slice(0, 50)),
    [
      'conflict as spam: Rspamd did not learn this mail: ',
      'conflict as ham: Rspamd did not learn this mail: H',
      'ok as ham: learned',
      'ok as ham: learned',
      'ok as spam: learned',
    ],
  );
  t.deepEqual(await trainingOf(node), ['ham learned 2', 'spam learned 1', 'ham failed 1', 'spam failed 1']);
  for (const secret of [password, passwordFile]) t.false(node.log().includes(secret));
});

test('with the built-in scanner, or a controller that is away, whoever asks to train is told what to set', async t => {
  const node = await startMailNode(t);
  const {node_id, queue_id} = await holdSample(node, 'gtube.eml');
  const train = async () => node.api('POST', `mail/quarantine/${node_id}/${queue_id}/train`, {body: {as: 'spam'}});

  const builtin = await train();
  const controller = `http://${formatHostPort(await closedPort())}`;
  await configure(node, {scanner: {type: 'rspamd', rspamd_controller_url: controller}});
  const away = await train();

  t.is(builtin.status, 409);
  t.regex(builtin.json.error.detail, /built-in scanner, which learns nothing; it takes scanner\.type: rspamd/);
  t.is(away.status, 503);
  t.is(away.headers['retry-after'], '5');
  t.regex(away.json.error.detail, /cannot be reached \(nothing listens there\); check scanner\.rspamd_controller_url$/);
  t.is((await node.held()).length, 1);
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
