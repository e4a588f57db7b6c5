// Mail policy: who may send which mail to whom, and changes of it through the API, effective on the next mail.
import test from 'ava';
import {dkimVerify} from 'mailauth/lib/dkim/verify.js';
import {formatHostPort} from '../../shared/host-port.ts';
import {holdAll, type MailNode, type MailNodeOptions, relayAll, startMailNode} from '../helpers/mail-node.ts';
import {createSigningDomain} from '../helpers/signing-domain.ts';
import {connect, type Reply, type SmtpClient} from '../helpers/smtp-client.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';

type Context = Parameters<typeof startMailNode>[0];

const line = ({code, text}: Reply) => `${code} ${text}`;
const plain = 'Subject: plain\r\n\r\nhello\r\n';
const scored = (score: number) => `X-Spam-Score: ${score}\r\nSubject: scored ${score}\r\n\r\nhello\r\n`;

const openSession = async (t: Context, {smtpPort}: MailNode): Promise<SmtpClient> => {
  const client = await connect(smtpPort);
  t.teardown(() => client.destroy());
  await client.cmd('EHLO client.test');
  return client;
};

const startWithSmarthost = async (t: Context, options: MailNodeOptions = {}) => {
  const smarthost = await startSmtpSink(t);
  const config = {smtp: {smarthost: formatHostPort(smarthost.server)}};
  return {smarthost, node: await startMailNode(t, {config, ...options})};
};

test('mail to an inactive domain is to come again, and comes once the domain is active', async t => {
  const node = await startMailNode(t, {domain: {active: false}});

  const refused = await node.send(plain);
  await node.updateDomain(node.domainId, {active: true});
  const taken = await node.send(plain);

  t.is(refused.code, 450);
  t.is(taken.code, 250);
});

test('outbound mail from a trusted network goes to the smarthost, with signatures that verify', async t => {
  const {node, smarthost} = await startWithSmarthost(t);
  const {verified} = await createSigningDomain(node);
  const raw =
    'From: ada@out.example.com\r\nTo: x@far.test\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\n.dots\r\n\r\nhello  \r\n\r\n';

  const reply = await node.send(raw, {from: 'ada@out.example.com', to: ['x@far.test', 'y@further.test']});

  t.is(reply.code, 250, reply.text);
  t.is(smarthost.mails.length, 1);
  const content = smarthost.mails[0]?.content ?? Buffer.alloc(0);
  t.true(content.toString().endsWith(raw));
  t.deepEqual(smarthost.mails[0]?.recipients, ['x@far.test', 'y@further.test']);
  t.deepEqual(await verified(content), ['e1 pass', 'r1 pass']);
});

test('mail that should be signed, and has no key to be signed with, leaves with a warning in the log', async t => {
  const {node, smarthost} = await startWithSmarthost(t);
  await node.createDomain({name: 'out.example.com', direction: 'outbound', dkim_active: true});

  t.is((await node.send(plain, {from: 'ada@out.example.com', to: 'x@far.test'})).code, 250);

  t.is(smarthost.mails.length, 1);
  t.regex(node.log(), /"domain":"out\.example\.com","msg":"mail leaves unsigned/);
});

test('without a smarthost outbound mail is refused', async t => {
  const node = await startMailNode(t);
  await node.createDomain({name: 'out.example.com', direction: 'outbound'});

  t.regex(line(await node.send(plain, {from: 'ada@out.example.com', to: 'x@far.test'})), /^550 5\.7\.1 /);
});

test('from outside the trusted networks nobody relays through us', async t => {
  const smarthost = await startSmtpSink(t);
  const node = await startMailNode(t, {
    config: {smtp: {smarthost: formatHostPort(smarthost.server), trusted_networks: ['192.0.2.0/24']}},
  });
  await node.createDomain({name: 'out.example.com', direction: 'both', backend_servers: [formatHostPort(node.sink.server)]});

  t.regex(line(await node.send(plain, {from: 'ada@out.example.com', to: 'x@far.test'})), /^550 5\.7\.1 /);
  t.is(smarthost.mails.length, 0);
});

test('outbound mail of an inactive domain is to come again', async t => {
  const {node} = await startWithSmarthost(t);
  await node.createDomain({name: 'out.example.com', direction: 'outbound', active: false});

  t.regex(line(await node.send(plain, {from: 'ada@out.example.com', to: 'x@far.test'})), /^450 4\.7\.1 /);
});

test('held outbound mail of a domain that is gone can still be released, unsigned', async t => {
  const {node, smarthost} = await startWithSmarthost(t);
  const {id} = await node.createDomain({name: 'out.example.com', direction: 'outbound', ...holdAll});
  await node.send(plain, {from: 'ada@out.example.com', to: 'x@far.test'});
  const mail = await node.onlyHeld();
  await node.api('DELETE', `domains/${id}`);

  const {status} = await node.act('release', mail);

  t.is(status, 200);
  t.is(smarthost.mails.length, 1);
});

test('held outbound mail belongs to the domain of its sender and is released, signed, through the smarthost', async t => {
  const {node, smarthost} = await startWithSmarthost(t);
  const {id} = await node.createDomain({name: 'out.example.com', direction: 'outbound', dkim_active: true, ...holdAll});
  const {json: key} = await node.api('POST', `domains/${id}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});
  await node.send(`From: ada@out.example.com\r\n${plain}`, {from: 'ada@out.example.com', to: 'x@far.test'});
  const mail = await node.onlyHeld();

  const ofSender = await node.held('domain=out.example.com');
  const released = await node.act('release', mail);

  t.deepEqual(
    ofSender.map(({queue_id}) => queue_id),
    [mail.queue_id],
  );
  t.deepEqual(mail.recipients, ['x@far.test']);
  t.is(released.status, 200, `${released.body}`);
  t.is(node.sink.mails.length, 0);
  t.is(smarthost.mails.length, 1);
  const {results} = await dkimVerify(smarthost.mails[0]?.content ?? '', {resolver: async () => [[key.data.dns_record]]});
  t.deepEqual(
    results.map(({status}) => status.result),
    ['pass'],
  );
});

test('the verdict of a filter in front counts from trusted networks only', async t => {
  const trusted = await startMailNode(t);
  const untrusted = await startMailNode(t, {config: {smtp: {trusted_networks: ['192.0.2.0/24']}}});
  const headers = [
    'X-Spam-Score: 8',
    'X-Spam-Status: Yes, score=8 required=5 tests=A',
    'X-Spamd-Result: default: False [8 / 15]',
  ];

  for (const header of headers)
    for (const node of [trusted, untrusted]) await node.send(`${header}\r\nSubject: x\r\n\r\nhello\r\n`);

  t.is((await trusted.held()).length, 3);
  t.is((await untrusted.held()).length, 0);
  t.is(untrusted.sink.mails.length, 3);
});

test('a filter is effective on the next mail, and gone with the next one after it is deleted', async t => {
  const node = await startMailNode(t);
  const from = 'news@letters.example.net';
  const headers = ['Subject: =?utf-8?B?R2V3aW5uIGbDvHIgU2ll?=', 'List-Id: <daily.letters.example.net>'];
  const mail = (score: number) => `X-Spam-Score: ${score}\r\n${headers.join('\r\n')}\r\n\r\nhello\r\n`;
  const matches = [
    {match: 'sender', pattern: 'News@letters.EXAMPLE.net'},
    {match: 'sender_domain', pattern: 'example.net'},
    {match: 'subject', pattern: '*gewinn für*'},
    {match: 'header', header: 'list-id', pattern: '*daily.letters*'},
  ];
  const outcome = async (score: number) => {
    const {code} = await node.send(mail(score), {from});
    const [held] = await node.held();
    if (held) await node.act('discard', held);
    return `${code}${held ? ' held' : ''}`;
  };
  const withFilter = async (filter: object, score: number) => {
    const path = `domains/${node.domainId}/filters`;
    const {status, json, body} = await node.api('POST', path, {body: filter});
    t.is(status, 201, `${body}`);
    const found = await outcome(score);
    t.is((await node.api('DELETE', `${path}/${json.data.id}`)).status, 200);
    return found;
  };

  for (const match of matches) {
    const what = JSON.stringify(match);
    t.is(await outcome(0), '250', what);
    t.is(await withFilter({action: 'block', ...match}, 0), '550', what);
    t.is(await withFilter({action: 'score', score: 7, ...match}, 0), '250 held', what);
    t.is(await outcome(20), '550', what);
    t.is(await withFilter({action: 'allow', ...match}, 20), '250', what);
    t.is(await outcome(8), '250 held', what);
    t.is(await withFilter({action: 'score', score: -5, ...match}, 8), '250', what);
  }
  t.is(await outcome(0), '250');
});

test('thresholds changed by PUT are effective on the next mail', async t => {
  const node = await startMailNode(t);
  const client = await openSession(t, node);
  const next = async (raw: string) => {
    await client.cmd('MAIL FROM:<ada@example.net>');
    await client.cmd('RCPT TO:<ben@example.com>');
    return (await client.data(raw)).code;
  };

  const before = await next(scored(4));
  await node.updateDomain(node.domainId, {quarantine_threshold: 3, reject_threshold: 9});
  const after = [await next(scored(4)), await next(scored(9))];
  await node.updateDomain(node.domainId, relayAll);
  const last = await next(scored(9));

  t.deepEqual([before, ...after, last], [250, 250, 550, 250]);
  t.is((await node.held()).length, 1);
  t.is(node.sink.mails.length, 2);
});

test('a domain changed while a mail is on its way has the last word on it', async t => {
  const node = await startMailNode(t);
  const client = await openSession(t, node);
  await client.cmd('MAIL FROM:<ada@example.net>');
  await client.cmd('RCPT TO:<ben@example.com>');

  await node.updateDomain(node.domainId, {quarantine_threshold: 3, reject_threshold: 5});
  const reply = await client.data(scored(6));

  t.is(reply.code, 550);
});

test('held mail of a deleted domain stays listed, says why it cannot be released, and can be once the domain is back', async t => {
  const node = await startMailNode(t);
  await node.send(scored(8));
  const mail = await node.onlyHeld();
  await node.api('DELETE', `domains/${node.domainId}`);

  const listed = await node.held();
  const stuck = await node.act('release', mail);
  await node.createDomain({name: 'example.com'});
  const released = await node.act('release', mail);

  t.is(listed.length, 1);
  t.is(stuck.status, 502);
  t.is(stuck.json.error.code, 'delivery_failed');
  t.regex(stuck.json.error.detail, /example\.com/);
  t.is(released.status, 200);
  t.is(node.sink.mails.length, 1);
});

test('a held mail goes to the backends its domain has when it is released', async t => {
  const node = await startMailNode(t);
  const moved = await startSmtpSink(t);
  await node.send(scored(8));

  await node.updateDomain(node.domainId, {backend_servers: [formatHostPort(moved.server)]});
  await node.act('release', await node.onlyHeld());

  t.is(node.sink.mails.length, 0);
  t.is(moved.mails.length, 1);
});
