import {Readable} from 'node:stream';
import test from 'ava';
import type {Lookup} from '../../../../daemon/mail/lookup.ts';
import {signMail} from '../../../../daemon/mail/readers/sign-mail.ts';
import {dkimRecord, generateDkimKey} from '../../../../daemon/services/domains/domain-parts.ts';
import {readersInProcess, startReaders} from '../../../helpers/readers.ts';
import {contentOf} from '../../../helpers/received-mail.ts';

const pair = await generateDkimKey('rsa-2048');
const keyOf = (domain: string) => ({
  domain,
  selector: 's1',
  algorithm: 'rsa-2048' as const,
  private_key_pem: pair.private_key_pem,
});
const mailOf = (domain: string, body = 'Hello\r\n') => Buffer.from(`From: a@${domain}\r\nSubject: test\r\n\r\n${body}`);
const signed = async (domain: string, body?: string): Promise<Buffer> => {
  const bytes = mailOf(domain, body);
  return Buffer.concat([await signMail(bytes, [keyOf(domain)]), bytes]);
};

const lookup: Lookup = async name => {
  if (name === 'bank.test') return [['v=spf1 ip4:192.0.2.0/24 -all']];
  if (name.endsWith('bank.test')) return [[dkimRecord({algorithm: 'rsa-2048', ...pair})]];
  throw Object.assign(new Error('DNS'), {code: name.endsWith('silent.test') ? 'ETIMEOUT' : 'ENOTFOUND'});
};

test('readers find what the same code finds in one process, whatever the size of the mail and the answer of DNS', async t => {
  const {checkSignatures} = await startReaders(t);
  const good = await signed('bank.test');
  const mails = [
    good,
    await signed('silent.test'),
    await signed('gone.test'),
    await signed('bank.test', 'a line of text\r\n'.repeat(200_000)),
    Buffer.from('Subject: unsigned\r\n\r\n'),
    Buffer.concat([await signed('bank.test'), Buffer.from('more\r\n')]),
  ];

  const keys = ['bank.test', 'silent.test', 'gone.test'].map(domain => `s1._domainkey.${domain}`);
  const check = async (names: string[]) => Promise.all(mails.map(async mail => checkSignatures(contentOf(mail), lookup, names)));

  const found = await check([]);

  t.deepEqual(found, await Promise.all(mails.map(async mail => readersInProcess.checkSignatures(contentOf(mail), lookup, []))));
  t.deepEqual(await check(keys), found);
  t.deepEqual(
    found.slice(0, 5).map(({dkim}) => dkim[0]?.result),
    ['pass', 'temperror', 'neutral', 'pass', undefined],
  );
});

test('readers ask for SPF what the same code asks for in one process', async t => {
  const {checkSender} = await startReaders(t);
  const of = (ip: string, domain: string) => ({ip, helo: 'client.test', sender: `a@${domain}`, mta: 'mx.test'});

  t.is(await checkSender(of('192.0.2.7', 'bank.test'), lookup), 'pass');
  t.is(await checkSender(of('198.51.100.7', 'bank.test'), lookup), 'fail');
  t.is(await checkSender(of('192.0.2.7', 'gone.test'), lookup), 'none');
  t.is(await checkSender(of('192.0.2.7', 'silent.test'), lookup), 'temperror');
});

test('what DNS said of a name before a mail is read is not asked again', async t => {
  const readers = await startReaders(t);
  const asked: string[] = [];
  const counted: Lookup = async (name, type) => {
    asked.push(name);
    return lookup(name, type);
  };
  const keys = ['s1._domainkey.bank.test'];

  const {dkim} = await readers.checkSignatures(contentOf(await signed('bank.test')), counted, keys);
  await readers.checkSender({ip: '192.0.2.7', helo: 'client.test', sender: 'a@bank.test', mta: 'mx.test'}, counted);

  t.is(dkim[0]?.result, 'pass');
  t.deepEqual(asked, [...keys, 'bank.test']);
});

test('a signature of a reader verifies, and a mail without a key for it has none', async t => {
  const readers = await startReaders(t);
  const mail = mailOf('bank.test', 'a line of text\r\n'.repeat(100_000));

  const fields = await readers.signMail(contentOf(mail), [keyOf('bank.test')]);

  const {dkim} = await readers.checkSignatures(contentOf(Buffer.concat([fields, mail])), lookup, []);
  t.deepEqual(dkim, [{result: 'pass', domain: 'bank.test', selector: 's1'}]);
  t.is((await readers.signMail(contentOf(mail), [])).length, 0);
});

test('a key that does not sign is an error that says what to look at', async t => {
  const readers = await startReaders(t);
  const key = {...keyOf('bank.test'), private_key_pem: 'none'};

  await t.throwsAsync(readers.signMail(contentOf(mailOf('bank.test')), [key]), {
    code: 'unavailable',
    message: /look at the DKIM keys/,
  });
});

test('content that cannot be read is an error and never an unsigned mail', async t => {
  const readers = await startReaders(t);
  const unreadable = {
    ...contentOf(Buffer.from('x')),
    open: () =>
      new Readable({
        read() {
          this.destroy(new Error('disk'));
        },
      }),
  };
  await t.throwsAsync(readers.signMail(unreadable, [keyOf('bank.test')]), {code: 'unavailable'});
});
