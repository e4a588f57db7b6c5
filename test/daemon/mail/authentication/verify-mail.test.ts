import test, {type ExecutionContext} from 'ava';
import {createDnsAnswers} from '../../../../daemon/mail/authentication/dns-answers.ts';
import {verifyMail} from '../../../../daemon/mail/authentication/verify-mail.ts';
import {type SigningKey, signMail} from '../../../../daemon/mail/readers/sign-mail.ts';
import {dkimRecord, generateDkimKey} from '../../../../daemon/services/domains/domain-parts.ts';
import {startDnsZone, type Zone} from '../../../helpers/dns-zone.ts';
import {readersInProcess} from '../../../helpers/readers.ts';
import {type MailParts, receivedMail} from '../../../helpers/received-mail.ts';

const keyOf = new Map<string, SigningKey>();
const zone: Zone = {
  'bank.test': {TXT: ['v=spf1 ip4:192.0.2.5 -all']},
  '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
  'soft.test': {TXT: ['v=spf1 ~all']},
  '_dmarc.soft.test': {TXT: ['v=DMARC1; p=quarantine']},
  'plain.test': {TXT: ['v=spf1 -all']},
  'loop.test': {TXT: ['v=spf1 include:loop.test -all']},
  'many.test': {TXT: [`v=spf1 ${Array.from({length: 30}, (_, n) => `a:a${n}.many.test`).join(' ')} +all`]},
  'broken.test': {TXT: ['v=spf1 include:silent.test -all']},
  '_dmarc.broken.test': {TXT: ['v=DMARC1; p=reject']},
};

test.before(async () => {
  for (const [domain, algorithm] of [
    ['bank.test', 'rsa-2048'],
    ['evil.test', 'ed25519'],
  ] as const) {
    const pair = await generateDkimKey(algorithm);
    zone[`s1._domainkey.${domain}`] = {TXT: [dkimRecord({algorithm, ...pair})]};
    keyOf.set(domain, {domain, selector: 's1', algorithm, private_key_pem: pair.private_key_pem});
  }
});

/** `timeoutMs` is short only where DNS does not answer. */
const start = async (t: ExecutionContext, {timeoutMs = 10_000} = {}) => {
  const {server, questions} = await startDnsZone(t, zone, question => question.includes('silent.test'));
  const answers = createDnsAnswers({
    servers: [server],
    timeoutMs,
    monotonic: () => performance.now(),
    onMute: () => {},
    onBack: () => {},
  });
  return {
    questions,
    verify: async (parts: MailParts) =>
      verifyMail(receivedMail(parts), {newLookup: answers.forMail, fqdn: 'mx.example.com', readers: readersInProcess}),
  };
};

const mail = (from: string, body = 'Hello\r\n', more = ''): Buffer =>
  Buffer.from(`From: ${from}\r\nSubject: test\r\n${more}\r\n${body}`);

const signedBy = async (domain: string, bytes: Buffer): Promise<Buffer> => {
  const key = keyOf.get(domain);
  if (!key) throw new Error(domain);
  return Buffer.concat([await signMail(bytes, [key]), bytes]);
};

const from = (sender: string, ip = '192.0.2.5'): MailParts => ({envelope: {sender}, client: {ip}});

test('signatures whose keys nobody answers for hide neither a forged author nor a good signature', async t => {
  const {verify} = await start(t, {timeoutMs: 2000});
  const muteSignatures = Array.from(
    {length: 9},
    (_, n) => `DKIM-Signature: v=1; a=rsa-sha256; d=s${n}.silent.test; s=s1; h=from; bh=AAAA; b=AAAA\r\n`,
  ).join('');
  const withMute = (bytes: Buffer) => Buffer.concat([Buffer.from(muteSignatures), bytes]);

  const forged = await verify({bytes: withMute(mail('a@bank.test')), ...from('x@plain.test', '198.51.100.1')});
  const honest = await verify({
    bytes: withMute(await signedBy('bank.test', mail('a@bank.test'))),
    ...from('x@plain.test', '198.51.100.1'),
  });

  t.like(forged.results.dmarc, {result: 'fail', policy: 'reject'});
  t.like(honest.results.dmarc, {result: 'pass', policy: 'reject'});
});

test('mail of its own domain passes by the address of the client, and by its signature from anywhere', async t => {
  const {verify} = await start(t);
  const bytes = mail('Bank <news@bank.test>');

  const direct = await verify({...from('bounce@bank.test'), bytes});
  const forwarded = await verify({...from('list@other.test', '198.51.100.7'), bytes: await signedBy('bank.test', bytes)});

  t.deepEqual(direct.results, {
    spf: {result: 'pass', domain: 'bank.test'},
    dkim: [],
    dmarc: {result: 'pass', policy: 'reject', domain: 'bank.test'},
    arc: {result: 'none'},
  });
  t.deepEqual(forwarded.results, {
    spf: {result: 'none', domain: 'other.test'},
    dkim: [{result: 'pass', domain: 'bank.test', selector: 's1'}],
    dmarc: {result: 'pass', policy: 'reject', domain: 'bank.test'},
    arc: {result: 'none'},
  });
  t.deepEqual(direct.dmarc.aligned, ['spf']);
  t.deepEqual(forwarded.dmarc.aligned, ['dkim']);
});

test('a forged author fails whatever else of the mail passes', async t => {
  const {verify} = await start(t);
  const forged = [
    {...from('a@evil.test'), bytes: await signedBy('evil.test', mail('news@bank.test'))},
    {...from('a@bank.test', '198.51.100.7'), bytes: mail('news@bank.test')},
    {...from('', '198.51.100.7'), bytes: mail('"news@evil.test" <news@bank.test>')},
    {...from('a@evil.test'), bytes: mail('news@bank.test, a@evil.test')},
    {...from('a@evil.test'), bytes: await signedBy('evil.test', mail('a@evil.test\r\nFrom: news@bank.test'))},
    {...from('a@evil.test'), bytes: await signedBy('evil.test', mail('news@bank.test\r\nfrom : a@evil.test'))},
    {
      ...from('a@silent.test'),
      bytes: mail('news@bank.test', '', 'DKIM-Signature: v=1; a=rsa-sha256; d=silent.test; s=s; h=from; bh=x; b=y\r\n'),
    },
  ];
  for (const [n, parts] of forged.entries())
    t.like((await verify(parts)).results.dmarc, {result: 'fail', policy: 'reject'}, String(n));
});

test('without a From there is nothing to authenticate, and nothing passes', async t => {
  const {verify} = await start(t);

  for (const bytes of [Buffer.from('Subject: x\r\n\r\n'), mail(''), mail('No Body'), mail(`<a@bank.test${' '.repeat(9000)}>`)])
    t.is((await verify({...from('a@bank.test'), bytes})).results.dmarc.result, 'fail');
});

test('a signature that covers not all, is changed, too old or too many is not believed', async t => {
  const {verify} = await start(t);
  const bytes = mail('news@bank.test');
  const signed = (await signedBy('bank.test', bytes)).toString();
  const changed = {
    'an appended body': signed.replace('Hello', 'Hello, pay here:'),
    'a body limit': signed.replace(/DKIM-Signature: /, 'DKIM-Signature: l=0; '),
    SHA1: signed.replace('rsa-sha256', 'rsa-sha1'),
    'From unsigned': signed.replace(/h=([^;]*?)from:?/is, 'h=$1'),
    'an end before now': signed.replace('DKIM-Signature: ', 'DKIM-Signature: x=1000; '),
    'another author': signed.replace('news@bank.test', 'other@bank.test'),
  };
  for (const [what, text] of Object.entries(changed)) {
    const {dkim, dmarc} = (await verify({...from('a@evil.test'), bytes: Buffer.from(text)})).results;
    t.not(dkim[0]?.result, 'pass', what);
    t.is(dmarc.result, 'fail', what);
  }
});

test('a thousand signatures cost no more than ten, and a good one after them is still found', async t => {
  const {verify, questions} = await start(t);
  const odd = Array.from(
    {length: 1000},
    (_, n) => `DKIM-Signature: v=1; a=rsa-sha256; d=d${n}.evil.test; s=s; l=${n}; h=from; bh=x; b=y\r\n`,
  );
  const bytes = Buffer.concat([Buffer.from(odd.join('')), await signedBy('bank.test', mail('news@bank.test'))]);

  const {results} = await verify({...from('a@evil.test'), bytes});

  t.is(results.dmarc.result, 'pass');
  t.is(results.dkim.length, 10);
  t.deepEqual(
    questions.filter(question => question.includes('_domainkey')),
    ['TXT s1._domainkey.bank.test'],
  );
});

test('records of SPF that lead nowhere end, and what they say is not believed', async t => {
  const {verify, questions} = await start(t);
  const spf = async (domain: string) => (await verify({...from(`a@${domain}`), bytes: mail(`a@${domain}`)})).results.spf.result;

  t.is(await spf('loop.test'), 'permerror');
  t.is(await spf('many.test'), 'permerror');
  t.is(await spf('plain.test'), 'fail');
  t.is(await spf('soft.test'), 'softfail');
  t.true(questions.filter(question => question.includes('many.test')).length < 30);
});

test('what DNS does not answer makes no verdict', async t => {
  const {verify} = await start(t, {timeoutMs: 500});

  const {results} = await verify({...from('a@broken.test'), bytes: mail('a@broken.test')});

  t.is(results.spf.result, 'temperror');
  t.is(results.dmarc.result, 'temperror');
});

test('a greeting that is no domain passes SPF for no domain', async t => {
  const {verify, questions} = await start(t);
  const spfOf = async (helo: string) =>
    (await verify({bytes: mail('a@other.test'), envelope: {sender: ''}, client: {ip: '192.0.2.5', helo}})).results.spf;

  t.deepEqual(await spfOf('bank.test'), {result: 'pass', domain: 'bank.test'});
  questions.length = 0;
  for (const helo of ['x@bank.test', '[192.0.2.5]', 'localhost', ''])
    t.deepEqual(await spfOf(helo), {result: 'none', domain: ''}, helo);
  t.false(questions.includes('TXT bank.test'));
});
