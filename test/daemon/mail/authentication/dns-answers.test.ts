import test, {type ExecutionContext} from 'ava';
import {createDnsAnswers} from '../../../../daemon/mail/authentication/dns-answers.ts';
import {strictTagsOf} from '../../../../daemon/mail/authentication/record-tags.ts';
import {startDnsZone, type Zone} from '../../../helpers/dns-zone.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {whileInherited} from '../../../helpers/inherited.ts';

const zone: Zone = {
  'a.test': {TXT: ['v=spf1 -all', 'x'.repeat(600)], A: ['192.0.2.1'], AAAA: ['2001:db8::1'], MX: ['10 mx.a.test']},
  'large.test': {TXT: Array.from({length: 60}, (_, n) => `${n}${'y'.repeat(100)}`)},
};

const start = async (t: ExecutionContext, served: Zone | undefined, isMute?: (question: string) => boolean) => {
  const dns = await startDnsZone(t, served, isMute);
  const test = {now: 0, log: [] as string[]};
  const answers = createDnsAnswers({
    servers: [dns.server],
    timeoutMs: 400,
    monotonic: () => test.now + performance.now(),
    onMute: () => test.log.push('mute'),
    onBack: () => test.log.push('back'),
  });
  return Object.assign(test, {answers, questions: dns.questions});
};

const codeOf = async (lookup: Promise<unknown>) =>
  lookup.then(
    () => 'found',
    (error: NodeJS.ErrnoException) => error.code,
  );

test('an answer is kept for five minutes at most, one about an address for as long as it says, and none is too', async t => {
  const dns = await start(t, zone);
  const ask = async () => {
    const lookup = dns.answers.forMail();
    return [
      await lookup('a.test', 'TXT'),
      await lookup('A.test', 'A'),
      await lookup('a.test', 'AAAA'),
      await lookup('a.test', 'MX'),
      await codeOf(lookup('none.test', 'TXT')),
    ];
  };

  const first = await ask();
  const second = await ask();
  const asked = [...dns.questions];
  dns.now += 61_000;
  await ask();
  dns.now += 240_000;
  await ask();

  const [exchanger] = first[3] as {exchange: string; priority: number}[];
  // Node 24 adds the type of the record.
  t.like(exchanger, {exchange: 'mx.a.test', priority: 10});
  t.deepEqual(first.toSpliced(3, 1), [
    [['v=spf1 -all'], ['x'.repeat(255), 'x'.repeat(255), 'x'.repeat(90)]],
    ['192.0.2.1'],
    ['2001:db8::1'],
    'ENOTFOUND',
  ]);
  t.deepEqual(second, first);
  t.deepEqual(asked, ['TXT a.test', 'A a.test', 'AAAA a.test', 'MX a.test', 'TXT none.test']);
  const count = (question: string) => dns.questions.filter(one => one === question).length;
  t.deepEqual(['TXT a.test', 'A a.test', 'TXT none.test'].map(count), [2, 3, 2]);
});

test('mails that ask the same at once share a question, and a large answer is given, but not kept', async t => {
  const dns = await start(t, zone);
  const ask = async () => dns.answers.forMail()('large.test', 'TXT');

  const answers = await Promise.all([ask(), ask(), ask()]);
  const asked = dns.questions.length;
  await ask();

  t.deepEqual(
    answers.map(({length}) => length),
    [60, 60, 60],
  );
  t.is(asked, 1);
  t.is(dns.questions.length, 2);
});

test('of a very large answer the beginning is given, and a text that is cut off is no key and no record of SPF', async t => {
  const {answers} = await start(t, {
    'texts.test': {TXT: Array.from({length: 600}, (_, n) => String(n))},
    'text.test': {TXT: [`v=DKIM1; n=${'\u0001'.repeat(5000)}; p=`, 'short']},
    'addresses.test': {A: Array.from({length: 600}, (_, n) => `192.0.${n >> 8}.${n & 255}`)},
  });
  const lookup = answers.forMail();

  const [long = [], short] = (await lookup('text.test', 'TXT')) as string[][];

  t.is((await lookup('texts.test', 'TXT')).length, 500);
  t.is((await lookup('addresses.test', 'A')).length, 500);
  t.deepEqual(short, ['short']);
  const text = long.join('');
  t.is(text.length, 4098);
  t.is(strictTagsOf(text), undefined);
});

test('a domain whose server does not answer delays its own mail only, once, and not beyond the time of a mail', async t => {
  const dns = await start(t, zone, question => question.includes('silent.test'));
  const lookup = dns.answers.forMail();

  const codes = await Promise.all(['silent.test', 'b.silent.test'].map(async name => codeOf(lookup(name, 'TXT'))));
  dns.now += 10;
  const late = await codeOf(lookup('a.test', 'TXT'));
  const other = await codeOf(dns.answers.forMail()('a.test', 'TXT'));
  t.deepEqual([codes, late, other], [['ETIMEOUT', 'ETIMEOUT'], 'ETIMEOUT', 'found']);
  // The question of the first mail goes on after it. Once that has ended nobody asks for a while.
  await eventually(async () => {
    const asked = dns.questions.length;
    return (await codeOf(dns.answers.forMail()('silent.test', 'TXT'))) === 'ETIMEOUT' && dns.questions.length === asked;
  });
  t.false(dns.answers.isMute());
  t.deepEqual(dns.log, []);
});

test('where the root does not answer either no mail waits for 30 s, which is said once, and so is the end of it', async t => {
  let isMute = true;
  const dns = await start(t, zone, () => isMute);

  t.is(await codeOf(dns.answers.forMail()('a.test', 'TXT')), 'ETIMEOUT');
  while (!dns.answers.isMute()) await new Promise(resolve => setTimeout(resolve, 20));
  const asked = dns.questions.length;
  t.is(await codeOf(dns.answers.forMail()('b.test', 'TXT')), 'ETIMEOUT');
  t.is(dns.questions.length, asked);
  dns.now += 31_000;
  isMute = false;
  t.is(await codeOf(dns.answers.forMail()('a.test', 'A')), 'found');

  t.false(dns.answers.isMute());
  t.deepEqual(dns.log, ['mute', 'back']);
});

test.serial('a name that does not exist has no records, whatever objects inherit', async t => {
  const dns = await start(t, zone);

  const code = await whileInherited('records', [['v=DKIM1; p=AAAA']], async () =>
    codeOf(dns.answers.forMail()('selector._domainkey.none.test', 'TXT')),
  );

  t.is(code, 'ENOTFOUND');
});
