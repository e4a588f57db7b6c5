// The hold queue of a real Postfix as part of a node's quarantine, without a milter: it lists every mail on hold there.
import {eventually} from '../helpers/eventually.ts';
import {splitTrace} from '../helpers/mail-node.ts';
import {postfixMissing} from '../helpers/postfix.ts';
import {holdEverything, startPostfixNode} from '../helpers/postfix-node.ts';
import {serialWith} from '../helpers/test-with.ts';

const ifPostfix = serialWith('Postfix', postfixMissing());

const mail = (subject: string, body = 'Hello.\r\n.dot\r\n') =>
  `From: <ada@example.net>\r\nTo: <ben@example.com>\r\nSubject: ${subject}\r\nMessage-Id: <1@example.net>\r\nDate: Sun, 1 Mar 2026 12:00:00 +0000\r\n\r\n${body}`;

/** The part that Postfix adds before a mail, and the rest. */
const rest = (bytes: Buffer) => splitTrace(bytes).rest.toString('latin1');

ifPostfix('a mail put on hold by Postfix is listed with subject, sender and client, and shown with CRLF', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  const raw = mail('=?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n from afar');

  await node.mail(raw);

  const [held] = await node.untilHeld(1);
  t.like(held, {sender: 'ada@example.net', recipients: ['ben@example.com'], subject: 'Grüße from afar', score: 0});
  t.deepEqual(held?.symbols, ['POSTFIX_HOLD']);
  t.deepEqual(await node.onHold(), [held?.queue_id ?? '']);
  const {json} = await node.api('GET', `mail/quarantine/${held?.node_id}/${held?.queue_id}`);
  t.like(json.data, {domain: 'example.com', direction: 'inbound', client_ip: '127.0.0.1', helo: 'client.test'});
  t.is(rest(await node.body(held as never)), raw);
});

ifPostfix('a released mail is delivered by Postfix byte for byte, and a second release says already', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  await node.mail(mail('Release me'));
  const [held] = await node.untilHeld(1);

  const first = await node.act('release', held as never);
  const second = await node.act('release', held as never);
  const opposite = await node.act('discard', held as never);

  t.is(first.status, 200);
  t.like(first.json.data, {state: 'released', already: false});
  t.like(second.json.data, {state: 'released', already: true});
  t.is(opposite.status, 409);
  await eventually(() => node.sink.mails.length === 1);
  t.is(rest(node.sink.mails[0]?.content ?? Buffer.alloc(0)), mail('Release me'));
  t.deepEqual(node.sink.mails[0]?.recipients, ['ben@example.com']);
  t.deepEqual(await node.held(), []);
});

ifPostfix('a discarded mail is gone from Postfix, and nobody gets it', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  await node.mail(mail('Discard me'));
  const [held] = await node.untilHeld(1);

  const {status, json} = await node.act('discard', held as never);

  t.is(status, 200);
  t.like(json.data, {state: 'discarded', already: false});
  t.deepEqual(await node.postfix.queue(), []);
  t.is(node.sink.mails.length, 0);
});

ifPostfix('a mail released or deleted by hand disappears, and one held again by hand is back', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  for (const subject of ['one', 'two', 'three']) await node.mail(mail(subject));
  const [three, two, one] = (await node.untilHeld(3)).toSorted((a, b) => (a.subject < b.subject ? 1 : -1));
  const idOf = (held: typeof one) => held?.queue_id ?? '';
  const [released, deleted, kept] = [one, three, two];

  await node.postfix.command('postsuper', ['-H', '-', 'hold'], `${idOf(released)}\n`);
  await node.postfix.command('postsuper', ['-d', '-', 'hold'], `${idOf(deleted)}\n`);

  const [left] = await node.untilHeld(1);
  t.is(left?.queue_id, idOf(kept));
  const late = await node.act('release', released as never);
  t.is(late.status, 404);
  t.regex(late.json.error.detail, /has left Postfix’s hold queue by another hand, before 20/);
  const {json} = await node.api('GET', 'audit?action=quarantine.gone');
  t.deepEqual(json.data.map(({target}: {target: string}) => target.split('/')[1]).sort(), [idOf(released), idOf(deleted)].sort());
});

ifPostfix('a mail that was released here and put on hold again by hand is in the list again', async t => {
  const node = await startPostfixNode(t, {settings: {...holdEverything, relay_transport: 'relay:[127.0.0.1]:1'}});
  await node.mail(mail('To and fro'));
  const [held] = await node.untilHeld(1);
  await node.act('release', held as never);
  await node.untilHeld(0);

  await eventually(async () => {
    await node.postfix.command('postsuper', ['-h', '-', 'deferred'], `${held?.queue_id}\n`);
    return (await node.onHold()).length === 1;
  });

  const [again] = await node.untilHeld(1);
  t.like(again, {queue_id: held?.queue_id, subject: 'To and fro'});
  t.is((await node.act('discard', again as never)).status, 200);
});

ifPostfix('a mail that was held for long is requeued, so that a first delay does not bounce it', async t => {
  const node = await startPostfixNode(t, {settings: {...holdEverything, maximal_queue_lifetime: '1s'}});
  await node.mail(mail('Old'));
  const [held] = await node.untilHeld(1);
  await eventually(() => Date.now() - Date.parse(held?.arrived_at ?? '') > 2000);

  const {status} = await node.act('release', held as never);

  t.is(status, 200);
  await eventually(() => node.sink.mails.length === 1);
  t.regex(await node.postfix.log(), /postsuper\[\d+\]: \w+: requeued/);
  t.regex(node.sink.mails[0]?.content.toString() ?? '', /Subject: Old\r\n/);
});

ifPostfix('a mail that a rule of Postfix holds again each time it is requeued can be released all the same', async t => {
  const node = await startPostfixNode(t, {settings: {header_checks: 'static:HOLD', maximal_queue_lifetime: '8s'}});
  await node.mail(mail('Round and round'));
  const [first] = await node.untilHeld(1);
  await eventually(() => Date.now() - Date.parse(first?.arrived_at ?? '') > 5000);

  await eventually(async () => {
    for (const held of await node.held()) await node.act('release', held as never);
    return node.sink.mails.length > 0;
  });

  t.regex(await node.postfix.log(), /requeued/);
  t.regex(node.sink.mails[0]?.content.toString() ?? '', /Subject: Round and round\r\n/);
});

ifPostfix('a mail of no domain of ours, and one for two of them, is nobody’s in particular', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  await node.createDomain({name: 'example.org', backend_servers: ['127.0.0.1:1']});
  await node.mail(mail('Both'), {to: ['ben@example.com', 'cyd@example.org']});
  await node.mail(mail('Elsewhere'), {to: 'dan@elsewhere.test'});
  await node.untilHeld(2);

  const {json} = await node.api('POST', 'auth/api-keys', {body: {name: 'com', scope: 'domain-admin', domain: 'example.com'}});
  const seen = await node.api('GET', 'mail/quarantine', {key: json.data.key});

  t.is(seen.status, 200);
  t.deepEqual(seen.json.data, []);
});

ifPostfix('a mail to an address that cannot be parsed belongs to its domain like any other', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  await node.mail(mail('Odd'), {to: '"ben+<"@example.com'});
  await node.untilHeld(1);

  const {json} = await node.api('POST', 'auth/api-keys', {body: {name: 'com', scope: 'domain-admin', domain: 'example.com'}});
  const seen = await node.api('GET', 'mail/quarantine', {key: json.data.key});

  t.deepEqual(
    seen.json.data.map(({subject}: {subject: string}) => subject),
    ['Odd'],
  );
});

ifPostfix('hundreds of mails are released by few calls of postsuper, each of them once', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  for (let n = 0; n < 120; n += 1) await node.mail(mail(`No ${n}`));
  const held = await node.untilHeld(120);

  const {json} = await node.api('POST', 'mail/quarantine/release', {
    body: {items: held.map(({node_id, queue_id}) => ({node_id, queue_id}))},
  });

  t.true(json.data.every(({state}: {state: string}) => state === 'released'));
  await eventually(() => node.sink.mails.length === 120);
  const subjects = node.sink.mails.map(({content}) => /^Subject: (.*)\r$/m.exec(content.toString())?.[1]);
  t.is(new Set(subjects).size, 120);
  const calls = (await node.postfix.log()).match(/Released from hold: /g)?.length ?? 0;
  t.log(`${calls} calls of postsuper for 120 mails`);
  t.true(calls < 60);
});

ifPostfix('a node that ended between Postfix’s act and its own record finds it done', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  await node.mail(mail('Twice'));
  const [held] = await node.untilHeld(1);
  await node.stop('SIGKILL');
  await node.postfix.command('postsuper', ['-d', '-', 'hold'], `${held?.queue_id}\n`);

  await node.start();

  t.deepEqual(await node.held(), []);
  t.is((await node.act('release', held as never)).status, 404);
});

ifPostfix('queue ids that Postfix gives again are warned of at the start', async t => {
  const node = await startPostfixNode(t, {settings: {...holdEverything, enable_long_queue_ids: 'no'}});

  t.true(await eventually(() => node.log().includes('enable_long_queue_ids')));
});

ifPostfix('with Postfix stopped the list stays, and a release says to try again', async t => {
  const node = await startPostfixNode(t, {settings: holdEverything});
  await node.mail(mail('Still here'));
  const [held] = await node.untilHeld(1);
  await node.postfix.stop();

  await node.stop();
  await node.start();

  const [still] = await node.held();
  t.is(still?.queue_id, held?.queue_id);
});
