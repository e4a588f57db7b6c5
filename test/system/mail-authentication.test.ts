// Authentication of inbound mail on a real node, with a name server of the test.
import test, {type ExecutionContext} from 'ava';
import {signMail} from '../../daemon/mail/readers/sign-mail.ts';
import {dkimRecord, generateDkimKey} from '../../daemon/services/domains/domain-parts.ts';
import {startDnsZone, type Zone} from '../helpers/dns-zone.ts';
import {type Held, type MailNode, relayAll, startMailNode} from '../helpers/mail-node.ts';

const zone: Zone = {
  'bank.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']},
  '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
  'shop.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']},
  '_dmarc.shop.test': {TXT: ['v=DMARC1; p=quarantine']},
  'old.test': {TXT: ['v=spf1 ip4:192.0.2.1 -all']},
  'good.test': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
  '_dmarc.good.test': {TXT: ['v=DMARC1; p=reject']},
};

interface Options {
  domain?: object;
  smtp?: object;
  authentication?: object;
}

/** The test client is a stranger, as no network is trusted. */
const start = async (t: ExecutionContext, {domain, smtp, authentication}: Options = {}) => {
  const {server} = await startDnsZone(t, zone, question => question.includes('silent.test'));
  const config = {
    fqdn: 'mx.example.org',
    authentication: {dns_servers: [server], dns_timeout: 1, ...authentication},
    smtp: {trusted_networks: [], ...smtp},
  };
  return startMailNode(t, {config, ...(domain && {domain})});
};

const raw = (from: string, more = ''): string => `${more}From: ${from}\r\nSubject: hello\r\n\r\nhello\r\n`;

const detailOf = async ({api}: MailNode, {node_id, queue_id}: Held) =>
  (await api('GET', `mail/quarantine/${node_id}/${queue_id}`)).json.data;

const resultsIn = (content: string): string[] =>
  content
    .replaceAll('\r\n\t', ' ')
    .split('\r\n')
    .filter(line => /^authentication-results:/i.test(line));

test('mail of a forged author is held as phishing by the default thresholds, as its domain wants, and says why', async t => {
  const node = await start(t);

  const replies = [
    await node.send(raw('news@bank.test'), {from: 'x@bank.test'}),
    await node.send(raw('news@shop.test'), {from: 'x@good.test'}),
    await node.send(raw('news@bank.test, x@good.test'), {from: 'x@good.test'}),
    await node.send(raw('news@old.test'), {from: 'x@old.test'}),
  ];

  t.deepEqual(
    replies.map(({code}) => code),
    [250, 250, 250, 250],
  );
  const held = await node.held();
  t.deepEqual(held.map(({symbols, reason, score}) => [...symbols, reason, score]).toReversed(), [
    ['DMARC_REJECT', 'phishing', 10],
    ['DMARC_QUARANTINE', 'phishing', 6],
    ['DMARC_REJECT', 'phishing', 10],
  ]);
  t.is(node.sink.mails.length, 1);
  const first = held.at(-1) as Held;
  t.deepEqual((await detailOf(node, first)).authentication, {
    spf: {result: 'fail', domain: 'bank.test'},
    dkim: [],
    dmarc: {result: 'fail', policy: 'reject', domain: 'bank.test'},
    arc: {result: 'none'},
  });
  const shown = await node.mfctl(['quarantine', 'show', `${first.node_id}/${first.queue_id}`]);
  t.regex(shown.stdout, /SPF fail \(bank\.test\), DKIM none, DMARC fail \(policy reject, bank\.test\)/);
  t.regex(shown.stdout, /does not come from bank\.test, which wants such mail refused/);
});

for (const [on_temperror, code] of [
  ['defer', 451],
  ['pass', 250],
] as const)
  test(`mail under a policy of reject whose signature nobody can verify gets ${code} where on_temperror is ${on_temperror}`, async t => {
    const node = await start(t, {authentication: {on_temperror}});
    const mail = Buffer.from(raw('news@bank.test'));
    const {private_key_pem} = await generateDkimKey('ed25519');
    const key = {domain: 'bank.test', selector: 'silent.test', algorithm: 'ed25519' as const, private_key_pem};
    const signature = await signMail(mail, [key]);

    const reply = await node.send(Buffer.concat([signature, mail]), {from: 'x@good.test'});

    t.is(reply.code, code);
    if (code === 451) t.regex(reply.text, /4\.7\.5 /);
    t.is(node.sink.mails.length, code === 250 ? 1 : 0);
  });

test('one field under the trace header has the results, those that claim to be ours are gone, and all else is as it came', async t => {
  const node = await start(t);
  const pair = await generateDkimKey('ed25519');
  zone['s1._domainkey.good.test'] = {TXT: [dkimRecord({algorithm: 'ed25519', ...pair})]};
  const claims = [
    'Authentication-Results: mx.example.org; dmarc=pass header.from=bank.test\r\n',
    'authentication-results:\r\n (a (nested) comment) "MX.example.org" 1; spf=pass\r\n',
    'Authentication-Results : mx.(x)example(y)\r\n\t.org=1; spf=pass\r\n',
    'Authentication-Results: =?utf-8?q?mx=2Eexample.org?=\xa0; spf=pass\r\n',
  ].join('');
  const others = 'Authentication-Results: mx.other.test; spf=pass\r\nX-Odd: \xe4\r\n';
  const mail = Buffer.from(raw('news@good.test'), 'latin1');
  const key = {domain: 'good.test', selector: 's1', algorithm: 'ed25519' as const, private_key_pem: pair.private_key_pem};
  const signed = Buffer.concat([await signMail(mail, [key]), mail]);

  const reply = await node.send(Buffer.concat([Buffer.from(claims + others, 'latin1'), signed]), {from: 'x@good.test'});

  t.is(reply.code, 250);
  const content = node.sink.mails[0]?.content.toString('latin1') ?? '';
  const [trace = '', results = '', ...rest] = content.split(/\r\n(?![ \t])/);
  t.regex(trace, /^Received: /);
  t.is(
    results.replaceAll('\r\n\t', ' '),
    'Authentication-Results: mx.example.org; spf=pass smtp.mailfrom=good.test; dkim=pass header.d=good.test header.s=s1; dmarc=pass (p=reject) header.from=good.test',
  );
  t.is(rest.join('\r\n'), (others + signed.toString('latin1')).replace(/\r\n$/, '\r\n'));
  t.is(resultsIn(content).length, 2);
});

test('a filter lets in authenticated mail only, unless it is said that it need not be', async t => {
  const node = await start(t, {domain: {quarantine_threshold: -1}});
  const add = async (filter: object) =>
    (await node.api('POST', `domains/${node.domainId}/filters`, {body: {action: 'allow', match: 'sender_domain', ...filter}}))
      .json;
  const send = async (domain: string) => node.send(raw(`a@${domain}`), {from: `a@${domain}`});

  const usual = await add({pattern: 'good.test'});
  await add({pattern: 'old.test'});
  await add({pattern: 'silent.test'});
  const open = await add({pattern: 'shop.test', authenticated: false});
  for (const domain of ['good.test', 'old.test', 'silent.test', 'shop.test']) await send(domain);

  t.is(usual.data.authenticated, true);
  t.is(open.data.authenticated, false);
  t.deepEqual(
    node.sink.mails.map(({sender}) => sender),
    ['a@good.test', 'a@shop.test'],
  );
  t.deepEqual((await node.held()).map(({sender}) => sender).toSorted(), ['a@old.test', 'a@silent.test']);
  const refused = await add({action: 'block', pattern: 'x.test', authenticated: true});
  t.is(refused.error.code, 'validation_failed');
  t.regex(JSON.stringify(refused.error), /belongs to filters that let mail in only/);
});

test('an author that is forged or cannot be told is held, and no filter for the sender lets in one of several', async t => {
  const node = await start(t);
  const fields = {
    unclear: ['From: "Bank <ceo@bank.test>', 'From: a@bank.test..', 'From: <a@bank.test)>', 'Sender: ceo@bank.test', 'From: <>'],
    several: ['From: x <x@good.test> CEO <ceo@bank.test>', 'From: =?utf-8?q?ceo=40bank.test?= <x@good.test>'],
    forged: ['From: <ceo@bank\r\n .test>', 'From: ceo@x_y.bank.test'],
  };
  const send = async (lines: readonly string[]) => {
    for (const line of lines)
      t.is((await node.send(`${line}\r\nSubject: hello\r\n\r\nhello\r\n`, {from: 'x@good.test'})).code, 250);
  };

  await send([...fields.unclear, ...fields.several, ...fields.forged]);
  await node.api('POST', `domains/${node.domainId}/filters`, {
    body: {action: 'allow', match: 'sender_domain', pattern: 'good.test'},
  });
  await send([...fields.unclear, ...fields.several]);

  const held = (await node.held()).map(({symbols, reason, score}) => [...symbols, reason, score].join(' ')).toReversed();
  const unclear = fields.unclear.map(() => 'AUTHOR_UNCLEAR phishing 10');
  const several = fields.several.map(() => 'DMARC_REJECT phishing 10');
  t.deepEqual(held, [...unclear, ...several, ...fields.forged.map(() => 'DMARC_REJECT phishing 10'), ...unclear, ...several]);
  t.is(node.sink.mails.length, 0);
  const {authentication} = await detailOf(node, (await node.held()).at(-1) as Held);
  t.deepEqual(authentication.dmarc, {result: 'fail', policy: 'reject', domain: 'bank.test'});
  await send(['From: x@good.test']);
  t.is(node.sink.mails.length, 1);
});

test('mail of a trusted client is neither verified nor scored for it, and filters match it as they did', async t => {
  const node = await start(t, {domain: relayAll, smtp: {trusted_networks: ['127.0.0.0/8']}});

  const reply = await node.send(raw('news@bank.test'), {from: 'x@bank.test'});

  t.is(reply.code, 250);
  t.deepEqual(resultsIn(node.sink.mails[0]?.content.toString() ?? 'Authentication-Results: none'), []);
});
