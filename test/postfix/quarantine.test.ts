// The whole path with real programs: mail comes to Postfix, mfd scores it with Rspamd, Postfix holds it, people decide through
// mfctl.
import {formatHostPort} from '../../shared/host-port.ts';
import {closedPort} from '../helpers/ports.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {startPostfixNode} from '../helpers/postfix-node.ts';
import {sample} from '../helpers/received-mail.ts';
import {isRspamdInstalled, startRspamd} from '../helpers/rspamd.ts';
import {serialWith} from '../helpers/test-with.ts';

const missing = postfixMissing() ?? (isRspamdInstalled() ? undefined : 'Rspamd is not installed');
const ifBoth = serialWith('Postfix, Rspamd', missing);

/** Removes the fields that Postfix and mfd add at the front, and those of mfd at the end of the header. */
const asSent = (bytes: Buffer | string | undefined): string =>
  String(bytes ?? '')
    .replace(/^Received: .*\r\n(?:\t.*\r\n)*/, '')
    .replace(/X-Spam-Score: .*\r\n/, '')
    .replace(/X-Spam-Symbols: .*\r\n(?:[ \t].*\r\n)*/, '');

ifBoth('the test mail is in the list with Rspamd’s symbols, and released it is what was sent', async t => {
  const scanner = {type: 'rspamd', rspamd_url: await startRspamd(t)};
  const node = await startPostfixNode(t, {milter: 'unix', domain: {reject_threshold: 20}, config: {scanner}});
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

ifBoth('with Rspamd down and on_failure pass mail comes through unjudged', async t => {
  const down = await closedPort();
  const scanner = {type: 'rspamd', rspamd_url: `http://${formatHostPort(down)}`, rspamd_timeout: 2, on_failure: 'pass'};
  const node = await startPostfixNode(t, {milter: 'unix', config: {scanner}});

  const {reply} = await node.mail(sample('plain.eml'));

  t.is(reply.code, 250, reply.text);
  const [mail] = await node.sunk(1);
  t.regex(String(mail?.content), /^X-Spam-Symbols: NOT_SCORED\r$/m);
});
