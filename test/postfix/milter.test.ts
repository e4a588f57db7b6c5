// The milter with a real Postfix and a real node.
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {createServer, type ServerResponse} from 'node:http';
import type {ExecutionContext} from 'ava';
import {testString} from '../../daemon/mail/content-check.ts';
import {formatLocalAddress} from '../../daemon/mail/local-listener.ts';
import {startDnsZone} from '../helpers/dns-zone.ts';
import {eventually} from '../helpers/eventually.ts';
import {programsMissing} from '../helpers/installed.ts';
import {listening} from '../helpers/listening.ts';
import {holdAll} from '../helpers/mail-node.ts';
import {startTestMilter} from '../helpers/milter.ts';
import {postfixMissing, startPostfix} from '../helpers/postfix.ts';
import {startPostfixNode} from '../helpers/postfix-node.ts';
import {sample} from '../helpers/received-mail.ts';
import {reportMailOf} from '../helpers/received-report.ts';
import {createSigningDomain} from '../helpers/signing-domain.ts';
import {connect} from '../helpers/smtp-client.ts';
import {serialWith} from '../helpers/test-with.ts';

const missing = postfixMissing() ?? programsMissing(['/usr/sbin/sendmail']);
const ifPostfix = serialWith('Postfix', missing);

/** With all fields that Postfix would add if they were missing. */
const mailOf = (body: string, headers = '') =>
  `From: Ada <ada@example.net>\r\nTo: x@example.com\r\nDate: Tue, 04 Nov 2025 09:12:44 +0100\r\nMessage-ID: <1@example.net>\r\n${headers}Subject: x\r\n\r\n${body}\r\n`;
const spam = mailOf(testString);

/** Without Postfix's own `Received`. */
const withoutTrace = (bytes: Buffer | undefined): string =>
  bytes?.toString('latin1').replace(/^Received: .*\r\n(?:\t.*\r\n)*/, '') ?? '';

ifPostfix('a mail comes through as it was, with its score and without what it said of itself', async t => {
  // A trusted client's own score fields would be accepted.
  const node = await startPostfixNode(t, {milter: 'unix', config: {smtp: {trusted_networks: []}}});
  const raw = [
    'From: Ada <ada@example.net>\r\nX-Spam-Score: -100\r\nDate: Tue, 04 Nov 2025 09:12:44 +0100\r\nMessage-ID: <1@example.net>\r\n',
    'x-spam-score: -200\r\nSubject:   folded\r\n\tand  =?utf-8?q?Gr=C3=BC=C3=9Fe?= \r\nX-Tight:tight\r\nX-Empty:\r\n',
    'X-Spam-Symbols: FORGED\r\nX-Spam-Flag: NO\r\n',
    '\r\n.dot\r\n..dots\r\n\r\n\xe4\xf6\xfc \t \r\n',
    `${'long '.repeat(199)}\r\nno end`,
  ].join('');

  const {reply} = await node.mail(Buffer.from(raw, 'latin1'));

  t.is(reply.code, 250, reply.text);
  const [mail] = await node.sunk(1);
  t.is(
    withoutTrace(mail?.content),
    `${raw.replace(/X-Spam-S.*\r\n/gi, '').replace('X-Spam-Flag: NO\r\n', 'X-Spam-Flag: NO\r\nX-Spam-Score: 0.00\r\n')}\r\n`,
  );
  t.regex(node.log(), /"sender":"ada@example.net","recipients":\["ben@example.com"\],"recipient_count":1,"verdict":"relayed"/);
});

ifPostfix(
  'results of authentication stand below the trace header, those that claim to be ours are gone, and a forged author is held',
  async t => {
    const {server} = await startDnsZone(t, {
      'example.net': {TXT: ['v=spf1 ip4:127.0.0.1 -all']},
      'bank.test': {TXT: ['v=spf1 -all']},
      '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
    });
    const authentication = {dns_servers: [server], dns_timeout: 1};
    const node = await startPostfixNode(t, {
      milter: 'unix',
      config: {fqdn: 'mx.example.org', authentication, smtp: {trusted_networks: []}},
    });
    const others = 'Authentication-Results: mx.other.test; spf=fail\r\n';
    const claim = 'Authentication-Results: mx.example.org; dmarc=pass\r\n';
    const raw = mailOf('x', others + claim + others);

    await node.mail(raw);
    const forged = await node.mail(raw.replace('Ada <ada@example.net>', 'news@bank.test'));

    const [mail] = await node.sunk(1);
    const results =
      'Authentication-Results: mx.example.org; spf=pass smtp.mailfrom=example.net;\r\n\tdkim=none; dmarc=none header.from=example.net\r\n';
    t.is(
      withoutTrace(mail?.content),
      `${results}${raw.replace(claim, '').replace('\r\n\r\n', '\r\nX-Spam-Score: 0.00\r\n\r\n')}`,
    );
    t.is(forged.reply.code, 250);
    t.like(await node.onlyHeld(), {reason: 'phishing', symbols: ['DMARC_REJECT']});
  },
);

ifPostfix('the test mail is held by Postfix under the id by which the quarantine knows it', async t => {
  const node = await startPostfixNode(t, {milter: 'unix'});

  const {reply} = await node.mail(sample('gtube.eml'));

  t.is(reply.code, 250, reply.text);
  const queueId = / queued as (\w+)$/.exec(reply.text)?.[1] ?? '';
  t.deepEqual(await node.onHold(), [queueId]);
  t.like(await node.onlyHeld(), {queue_id: queueId, sender: 'ada@example.net', recipients: ['ben@example.com'], score: 10});
  const {stdout} = await node.postfix.command('postcat', ['-hq', queueId]);
  t.regex(stdout.toString(), /^X-Spam-Score: 10\.00\nX-Spam-Symbols: GTUBE\n/m);
  t.is(node.sink.mails.length, 0);
});

ifPostfix('a DMARC report is read and dropped without a bounce, and what is none is on hold in Postfix', async t => {
  const node = await startPostfixNode(t, {milter: 'unix', config: {dmarc: {receive_at: ['dmarc@example.com']}}});
  const rows = [{ip: '192.0.2.1', count: 7}];

  const {reply} = await node.mail(reportMailOf({rows}), {to: 'dmarc@example.com'});
  const other = await node.mail(mailOf('hello'), {to: 'dmarc@example.com'});
  const mixed = await node.mail(mailOf('hello'), {to: ['ben@example.com', 'dmarc@example.com']});

  t.is(reply.code, 250, reply.text);
  t.is(other.reply.code, 250, other.reply.text);
  t.deepEqual(
    mixed.recipients.map(({code}) => code),
    [250, 452],
  );
  const {data} = (await node.api('GET', 'dmarc/sources?domain=example.com')).json;
  t.deepEqual([data.report_count, data.count], [1, 7]);
  t.like(await node.onlyHeld(), {recipients: ['dmarc@example.com'], symbols: ['DMARC_REPORT_NOT_READ']});
  t.is((await node.onHold()).length, 1);
  const [mail] = await node.sunk(1);
  t.deepEqual(mail?.recipients, ['ben@example.com']);
  t.is(node.sink.mails.length, 1, 'neither the report nor a bounce');
});

ifPostfix('spam is refused with 550 5.7.1, and so is mail that is too big', async t => {
  const node = await startPostfixNode(t, {
    milter: 'unix',
    domain: {quarantine_threshold: 5, reject_threshold: 9},
    config: {smtp: {max_size: '100K'}},
  });

  const refused = (await node.mail(spam)).reply;
  const tooBig = (await node.mail(mailOf('x'.repeat(70).concat('\r\n').repeat(2000)))).reply;

  t.deepEqual([refused.code, refused.text.slice(0, 6)], [550, '5.7.1 ']);
  t.deepEqual([tooBig.code, tooBig.text.slice(0, 6)], [552, '5.3.4 ']);
  t.deepEqual(await node.postfix.queue(), []);
});

ifPostfix('a recipient of another domain is to be sent apart, and is accepted so', async t => {
  const node = await startPostfixNode(t, {milter: 'unix'});
  await node.createDomain({name: 'example.org', backend_servers: ['127.0.0.1:25'], ...holdAll});
  const to = ['a@example.com', 'b@example.org', 'c@example.com', 'd@strange.test'];

  const together = await node.mail(mailOf('x'), {to});
  const apart = await node.mail(mailOf('x'), {to: 'b@example.org'});
  const mixed = await node.mail(mailOf('x'), {to: ['d@strange.test', 'e@other.test', 'a@example.com']});

  t.deepEqual(
    together.recipients.map(({code, text}) => `${code} ${text.slice(0, 5)}`),
    ['250 2.1.5', '452 4.5.3', '250 2.1.5', '452 4.5.3'],
  );
  t.deepEqual(
    mixed.recipients.map(({code}) => code),
    [250, 250, 452],
  );
  t.deepEqual([together.reply.code, apart.reply.code, mixed.reply.code], [250, 250, 250]);
  t.is((await node.onHold()).length, 1);
  t.like(await node.onlyHeld(), {recipients: ['b@example.org']});
});

ifPostfix('mail of strangers is left alone, even where it would be spam', async t => {
  const node = await startPostfixNode(t, {milter: 'unix'});
  const raw = mailOf(testString, 'X-Spam-Score: 1\r\n');

  await node.mail(raw, {to: ['b@strange.test', 'c@other.test']});

  const [mail] = await node.sunk(1);
  t.is(withoutTrace(mail?.content), raw);
  t.notRegex(node.log(), /"msg":"mail"/);
});

ifPostfix(
  'an address of ours that cannot be parsed, or that a backend might obey, is refused, and the others get the mail',
  async t => {
    const node = await startPostfixNode(t, {milter: 'unix', config: {smtp: {trusted_networks: []}}});
    const to = [
      '"ben+<"@example.com',
      `${'x'.repeat(260)}@example.com`,
      'someone%outside.net@example.com',
      'victim!me@example.com',
      '"victim@outside.net"@example.com',
      '"|prog"@Example.COM',
      'cyd@example.com',
      'ben@example.com',
    ];

    const {reply, recipients} = await node.mail(mailOf('x'), {to});

    t.deepEqual(
      recipients.map(({code, text}) => `${code} ${text.slice(0, 5)}`),
      ['501 5.1.3', '501 5.1.3', '550 5.1.3', '550 5.1.3', '550 5.1.3', '550 5.1.3', '250 2.1.5', '250 2.1.5'],
    );
    t.is(reply.code, 250);
    const [mail] = await node.sunk(1);
    t.deepEqual(mail?.recipients.toSorted(), ['ben@example.com', 'cyd@example.com']);
    t.regex(node.log(), /"recipient_count":2,"verdict":"relayed"/);
  },
);

ifPostfix('the client has the name that leads back to it, and not the one that it gives itself', async t => {
  const milter = await startTestMilter(t);
  const postfix = await startPostfix(t, {
    settings: {
      smtpd_milters: `inet:${formatLocalAddress(milter.address)}`,
      smtpd_authorized_xclient_hosts: '127.0.0.0/8',
      relay_domains: 'one.test',
      relay_transport: 'discard:',
    },
  });
  const hostnameOf = async (names: string) => {
    const client = await connect(postfix.port);
    await client.cmd('EHLO client.test');
    t.is((await client.cmd(`XCLIENT ADDR=192.0.2.5 ${names}`)).code, 220);
    await client.cmd('EHLO client.test');
    await client.cmd('MAIL FROM:<ada@example.net>');
    t.is((await client.cmd('RCPT TO:<ben@one.test>')).code, 250);
    t.is((await client.data(mailOf('x'))).code, 250);
    client.destroy();
    return milter.judged.at(-1)?.mail.client.hostname;
  };

  t.is(await hostnameOf('NAME=[UNAVAILABLE] REVERSE_NAME=mail-ed1-f41.google.com'), null);
  t.is(await hostnameOf('NAME=mx.example.net REVERSE_NAME=mx.example.net'), 'mx.example.net');
});

ifPostfix('an inactive domain is answered 450', async t => {
  const node = await startPostfixNode(t, {milter: 'unix', domain: {active: false}});

  t.deepEqual(
    (await node.mail(spam)).recipients.map(({code}) => code),
    [450],
  );
});

ifPostfix('many mails of one session have nothing of one another, whatever is broken off between them', async t => {
  const node = await startPostfixNode(t, {milter: 'unix'});
  const client = await connect(node.postfix.port);
  await client.cmd('EHLO client.test');

  for (let n = 0; n < 20; n += 1) {
    await client.cmd('MAIL FROM:<ada@example.net>');
    await client.cmd(`RCPT TO:<r${n}@example.com>`);
    if (n % 3 === 0) {
      await client.cmd('RSET');
      await client.cmd(`MAIL FROM:<s${n}@example.net>`);
      await client.cmd(`RCPT TO:<r${n}@example.com>`);
    }
    t.is((await client.data(mailOf(`body ${n}`))).code, 250);
  }
  client.destroy();

  const mails = await node.sunk(20);
  t.deepEqual(
    mails
      .map(({sender, recipients, content}) => `${sender} ${recipients} ${/body \d+/.exec(content.toString())?.[0]}`)
      .toSorted(),
    Array.from({length: 20}, (_, n) => `${n % 3 === 0 ? `s${n}` : 'ada'}@example.net r${n}@example.com body ${n}`).toSorted(),
  );
});

ifPostfix('many mails at one time are each judged for themselves', async t => {
  const node = await startPostfixNode(t, {milter: 'unix'});
  const numbers = Array.from({length: 120}, (_, n) => n);

  const replies = await Promise.all(
    numbers.map(async n => node.mail(n % 3 === 0 ? spam : mailOf(`body ${n}`), {to: `r${n}@example.com`})),
  );

  t.true(replies.every(({reply}) => reply.code === 250));
  await node.sunk(80);
  t.is((await node.onHold()).length, 40);
  t.deepEqual((await node.held()).map(mail => mail.queue_id).toSorted(), (await node.onHold()).toSorted());
  t.true(node.sink.mails.every(({content}) => content.includes('X-Spam-Score: 0.00')));
  t.deepEqual(await node.spooled('tmp'), []);
});

ifPostfix('a mail of 30 MB comes through whole, over TCP too', async t => {
  const node = await startPostfixNode(t, {milter: 'tcp', settings: {message_size_limit: '60000000'}});
  const body = Array.from({length: 400_000}, (_, n) => `${String(n).padStart(73, '.')}\r\n`).join('');
  const raw = mailOf(body);

  const {reply} = await node.mail(raw);

  t.is(reply.code, 250, reply.text);
  const [mail] = await node.sunk(1);
  const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
  t.is(hashOf(withoutTrace(mail?.content).replace('X-Spam-Score: 0.00\r\n', '')), hashOf(raw));
  t.deepEqual(await node.spooled('tmp'), []);
});

ifPostfix('outbound mail is signed so that a verifier agrees, relayed and released alike', async t => {
  const node = await startPostfixNode(t, {milter: 'unix'});
  const {verified} = await createSigningDomain(node);
  const head = 'From: ada@out.example.com\r\nX-Spam-Score: 1\r\nTo: x@far.test\r\nSubject:two\r\n\tlines \r\n';
  const sending = {from: 'ada@out.example.com', to: ['x@far.test', 'y@further.test']};

  await node.mail(`${head}\r\n.dots\r\n\r\nhello  \r\n\r\n`, sending);
  await node.mail(`${head}\r\n${testString}\r\n`, sending);
  const [queueId] = await eventually(async () => {
    const ids = await node.onHold();
    return ids.length > 0 && ids;
  });
  await node.postfix.command('postsuper', ['-H', queueId ?? '', 'hold']);
  await node.postfix.command('postqueue', ['-i', queueId ?? '']);

  for (const {content, recipients} of await node.sunk(2)) {
    t.deepEqual(recipients, ['x@far.test', 'y@further.test']);
    t.deepEqual(await verified(content), ['e1 pass', 'r1 pass'], content.toString());
  }
});

ifPostfix('mail that a program of the host hands over is judged, and not stuck for having two domains', async t => {
  const node = await startPostfixNode(t, {milter: 'unix', domain: holdAll});
  await node.createDomain({name: 'example.org', backend_servers: ['127.0.0.1:25']});
  await node.postfix.configure({non_smtpd_milters: node.milter});
  const submit = (...to: string[]) =>
    spawnSync('/usr/sbin/sendmail', ['-C', node.postfix.configDir, '-f', 'root@host.test', ...to], {
      input: 'Subject: x\n\nx\n',
      env: {...process.env, MAIL_CONFIG: node.postfix.configDir},
    });

  submit('a@example.com', 'b@example.org');
  submit('a@example.com');

  const [mail] = await node.sunk(1);
  t.deepEqual(mail?.recipients.toSorted(), ['a@example.com', 'b@example.org']);
  t.notRegex(mail?.content.toString() ?? '', /X-Spam/);
  await eventually(async () => (await node.onHold()).length === 1);
  t.like(await node.onlyHeld(), {sender: 'root@host.test', recipients: ['a@example.com']});
});

ifPostfix(
  'mfd killed while it judges: the mail is not taken and nothing is left, and it is taken when it comes again',
  async t => {
    const scanner = await startScanner(t);
    const node = await startPostfixNode(t, {milter: 'unix', config: {scanner: {type: 'rspamd', rspamd_url: scanner.url}}});
    const sending = node.mail(mailOf('x'.repeat(70).concat('\r\n').repeat(5000)));
    await eventually(() => scanner.waiting.length > 0);

    await node.stop('SIGKILL');
    const killed = (await sending).reply;
    scanner.answer();
    await node.start();
    const again = (await node.mail(mailOf('again'))).reply;

    t.is(killed.code, 451);
    t.is(again.code, 250);
    const mails = await node.sunk(1);
    t.true(mails.every(({content}) => content.includes('again')));
    t.deepEqual(await node.held(), []);
    t.deepEqual(await node.spooled('tmp'), []);
  },
);

ifPostfix('the scanner down: mail is to come again', async t => {
  const node = await startPostfixNode(t, {milter: 'unix', config: {scanner: {type: 'rspamd', rspamd_url: 'http://127.0.0.1:9'}}});

  const {reply} = await node.mail(mailOf('x'));

  t.is(reply.code, 451);
  t.regex(reply.text, /^4\.7\.1 /);
  t.deepEqual(await node.postfix.queue(), []);
  t.is(node.sink.mails.length, 0);
});

ifPostfix('stopping lets the mail that is judged come to its answer', async t => {
  const scanner = await startScanner(t);
  const node = await startPostfixNode(t, {milter: 'unix', config: {scanner: {type: 'rspamd', rspamd_url: scanner.url}}});
  const sending = node.mail(mailOf('x'));
  await eventually(() => scanner.waiting.length > 0);

  const stopping = node.stop();
  await eventually(() => node.log().includes('"stopping"'));
  scanner.answer();

  t.is((await sending).reply.code, 250);
  t.is(await stopping, 0);
  await node.sunk(1);
});

/** Plays Rspamd: sends no answer until told to, and from then on answers at once that the mail is clean. */
const startScanner = async (t: ExecutionContext) => {
  const waiting: ServerResponse[] = [];
  let isAnswering = false;
  const finish = (response: ServerResponse) =>
    response.end(JSON.stringify({action: 'no action', score: 1, required_score: 15, symbols: {}}));
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      // A node asks its scanner once when it starts.
      if (isAnswering || request.url === '/ping') finish(response);
      else waiting.push(response);
    });
  });
  return {
    url: `http://127.0.0.1:${await listening(t, server)}`,
    waiting,
    answer() {
      isAnswering = true;
      for (const response of waiting.splice(0)) finish(response);
    },
  };
};
