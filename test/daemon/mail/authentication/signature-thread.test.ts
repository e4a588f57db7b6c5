import {readFile} from 'node:fs/promises';
import test, {type ExecutionContext} from 'ava';
import {createSignatureThread} from '../../../../daemon/mail/authentication/signature-thread.ts';
import type {Lookup} from '../../../../daemon/mail/lookup.ts';
import {checkSignatures} from '../../../../daemon/mail/readers/check-signatures.ts';
import {signMail} from '../../../../daemon/mail/readers/sign-mail.ts';
import {dkimRecord, generateDkimKey} from '../../../../daemon/services/domains/domain-parts.ts';
import {contentOf} from '../../../helpers/received-mail.ts';

/** The thread of the build that is tested. */
const start = async (t: ExecutionContext, withinMs?: number) => {
  const dist = new URL('../../../../dist/', import.meta.url);
  const files = JSON.parse(await readFile(new URL('files.json', dist), 'utf8')) as string[];
  const file = files.find(name => /^mfd-signatures-\w+\.js$/.test(name));
  const thread = createSignatureThread(new URL(file ?? 'none', dist), withinMs);
  t.teardown(thread.close);
  return thread;
};

const pair = await generateDkimKey('rsa-2048');
const signed = async (domain: string, body = 'Hello\r\n'): Promise<Buffer> => {
  const bytes = Buffer.from(`From: a@${domain}\r\nSubject: test\r\n\r\n${body}`);
  const key = {domain, selector: 's1', algorithm: 'rsa-2048' as const, private_key_pem: pair.private_key_pem};
  return Buffer.concat([await signMail(contentOf(bytes), [key]), bytes]);
};

const lookup: Lookup = async name => {
  if (name.endsWith('bank.test')) return [[dkimRecord({algorithm: 'rsa-2048', ...pair})]];
  throw Object.assign(new Error('DNS'), {code: name.endsWith('silent.test') ? 'ETIMEOUT' : 'ENOTFOUND'});
};

test('the thread finds what the node itself finds, whatever the size of the mail and the answer of DNS', async t => {
  const {check} = await start(t);
  const good = await signed('bank.test');
  const mails = [
    good,
    Buffer.concat([good, Buffer.from('more\r\n')]),
    await signed('silent.test'),
    await signed('gone.test'),
    await signed('bank.test', 'a line of text\r\n'.repeat(200_000)),
    Buffer.from('Subject: unsigned\r\n\r\n'),
  ];

  const results = await Promise.all(mails.map(async mail => check(contentOf(mail), lookup)));

  t.deepEqual(results, await Promise.all(mails.map(async mail => checkSignatures(contentOf(mail), lookup))));
  t.deepEqual(
    results.map(({dkim}) => dkim[0]?.result),
    ['pass', 'fail', 'temperror', 'neutral', 'pass', undefined],
  );
});

test('when the thread ends, the mails that wait for it fail, and later ones get another thread', async t => {
  const {check, close} = await start(t);
  const mail = await signed('bank.test');
  let asked = () => {};
  const isAsked = new Promise<void>(resolve => {
    asked = resolve;
  });
  const waiting = check(contentOf(mail), async () => {
    asked();
    return new Promise(() => {});
  });
  await isAsked;

  await Promise.all([t.throwsAsync(waiting, {message: /thread for signatures/}), close()]);

  t.is((await check(contentOf(mail), lookup)).dkim[0]?.result, 'pass');
});

test('a mail that takes too long ends the thread, and keeps no later mail waiting', async t => {
  const {check, load} = await start(t, 500);
  const mail = await signed('bank.test');
  await load();

  await t.throwsAsync(
    check(contentOf(mail), async () => new Promise(() => {})),
    {message: /thread for signatures ended/},
  );

  await load();
  t.is((await check(contentOf(mail), lookup)).dkim[0]?.result, 'pass');
});
