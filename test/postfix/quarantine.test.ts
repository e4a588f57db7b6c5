// The whole path with real programs: mail comes to Postfix, mfd scores it with Rspamd, Postfix holds it, people decide through
// mfctl.
import type {ExecutionContext} from 'ava';
import {formatHostPort} from '../../shared/host-port.ts';
import {eventually} from '../helpers/eventually.ts';
import {type MilterNodeOptions, startMilterNode} from '../helpers/milter-node.ts';
import {closedPort} from '../helpers/ports.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {sample} from '../helpers/received-mail.ts';
import {isRspamdInstalled, startRspamd} from '../helpers/rspamd.ts';
import {serialWith} from '../helpers/test-with.ts';

const missing = postfixMissing() ?? (isRspamdInstalled() ? undefined : 'Rspamd is not installed');
const ifBoth = serialWith('Postfix, Rspamd', missing);

const start = async (t: ExecutionContext, {config, ...options}: MilterNodeOptions = {}) => {
  const rspamd_url = (config?.scanner as {rspamd_url?: string} | undefined)?.rspamd_url ?? (await startRspamd(t));
  return startMilterNode(t, {
    ...options,
    domain: {reject_threshold: 20, ...options.domain},
    config: {...config, scanner: {...(config?.scanner as object | undefined), type: 'rspamd', rspamd_url}},
  });
};

/** Removes the fields that Postfix and mfd add at the front, and those of mfd at the end of the header. */
const asSent = (bytes: Buffer | string | undefined): string =>
  String(bytes ?? '')
    .replace(/^Received: .*\r\n(?:\t.*\r\n)*/, '')
    .replace(/X-Spam-Score: .*\r\n/, '')
    .replace(/X-Spam-Symbols: .*\r\n(?:[ \t].*\r\n)*/, '');

ifBoth('the test mail is in the list with Rspamd’s symbols, and released it is what was sent', async t => {
  const node = await start(t);
  const gtube = sample('gtube.eml').toString();

  const {reply} = await node.mail(gtube);
  const list = await node.mfctl(['quarantine', 'list', '-o', 'json']);
  const [held] = JSON.parse(list.stdout);
  const id = `${held.node_id}/${held.queue_id}`;
  const released = await node.mfctl(['quarantine', 'release', id, '--yes']);

  t.is(reply.code, 250, reply.text);
  t.is(held.queue_id, / queued as (\w+)$/.exec(reply.text)?.[1]);
  t.is(held.score, 15);
  t.true(held.symbols.includes('GTUBE'), held.symbols.join());
  t.is(released.code, 0, released.stderr);
  const [mail] = await node.sunk(1);
  t.is(asSent(mail?.content), gtube);
  t.deepEqual(await node.onHold(), []);
});

ifBoth('a discarded mail is nowhere any more', async t => {
  const node = await start(t);
  await node.mail(sample('gtube.eml'));
  const held = await node.onlyHeld();

  const {code, stderr} = await node.mfctl(['quarantine', 'discard', `${held.node_id}/${held.queue_id}`, '--yes']);

  t.is(code, 0, stderr);
  t.deepEqual(await node.postfix.queue(), []);
  t.deepEqual(await node.held(), []);
  t.is(node.sink.mails.length, 0);
});

ifBoth('a mail released by hand with postsuper disappears from the list, and is delivered', async t => {
  const node = await start(t);
  await node.mail(sample('gtube.eml'));
  const held = await node.onlyHeld();

  await node.postfix.command('postsuper', ['-H', '-', 'hold'], `${held.queue_id}\n`);
  await node.postfix.command('postqueue', ['-i', held.queue_id]);

  await node.sunk(1);
  await eventually(async () => (await node.held()).length === 0);
  const again = await node.mfctl(['quarantine', 'release', `${held.node_id}/${held.queue_id}`, '--yes']);
  t.is(again.code, 5, again.stderr);
  t.regex(again.stderr, /has left Postfix’s hold queue by another hand/);
});

ifBoth('with Rspamd down and on_failure pass mail comes through unjudged', async t => {
  const down = await closedPort();
  const scanner = {rspamd_url: `http://${formatHostPort(down)}`, rspamd_timeout: 2, on_failure: 'pass'};
  const node = await start(t, {config: {scanner}});

  const {reply} = await node.mail(sample('plain.eml'));

  t.is(reply.code, 250, reply.text);
  const [mail] = await node.sunk(1);
  t.regex(String(mail?.content), /^X-Spam-Symbols: NOT_SCORED\r$/m);
});
