import {readdirSync, readFileSync} from 'node:fs';
import test from 'ava';
import {dkimVerify} from 'mailauth/lib/dkim/verify.js';
import {type SigningKey, signMail} from '../../../../daemon/mail/readers/sign-mail.ts';
import {traceHeader} from '../../../../daemon/mail/trace-header.ts';
import {dkimRecord, generateDkimKey} from '../../../../daemon/services/domains/domain-parts.ts';
import {Fault} from '../../../../shared/fault.ts';
import {type DkimAlgorithm, dkimAlgorithms} from '../../../../shared/field-rules.ts';
import {headersOf, receivedMail, sample} from '../../../helpers/received-mail.ts';

const records = new Map<string, string>();

const makeKey = async (algorithm: DkimAlgorithm): Promise<SigningKey> => {
  const pair = await generateDkimKey(algorithm);
  records.set(`${algorithm}._domainkey.example.net`, dkimRecord({algorithm, ...pair}));
  return {domain: 'example.net', selector: algorithm, algorithm, private_key_pem: pair.private_key_pem};
};

const keys: SigningKey[] = [];
test.before(async () => {
  for (const algorithm of dkimAlgorithms) keys.push(await makeKey(algorithm));
});

/** DNS splits long records, and verifiers join the pieces. */
const resolver = async (name: string, type: string): Promise<string[][]> => {
  const record = type === 'TXT' ? records.get(name) : undefined;
  if (record === undefined) throw Object.assign(new Error('no such name'), {code: 'ENOTFOUND'});
  return [record.match(/.{1,255}/g) ?? []];
};

const verdicts = async (bytes: Buffer): Promise<string[]> => {
  const {results} = await dkimVerify(bytes, {resolver});
  const ours = results.filter(result => records.has(`${result.selector}._domainkey.${result.signingDomain}`));
  return ours.map(result => `${result.selector} ${result.status.result}`).sort();
};

const passed = ['ed25519 pass', 'rsa-2048 pass'];

const signed = async (bytes: Buffer): Promise<Buffer> => Buffer.concat([await signMail(bytes, keys), bytes]);

const sharedFolder = new URL('../../../../../shared/mail/', import.meta.url);
const sharedMails = (): string[] => {
  try {
    return readdirSync(sharedFolder).filter(name => name.endsWith('.eml'));
  } catch {
    return [];
  }
};

test('every sample is signed by both keys so that a verifier agrees', async t => {
  for (const name of ['plain.eml', 'gtube.eml', 'eight-bit.eml', 'phishing.eml', 'from-upstream.eml'])
    t.deepEqual(await verdicts(await signed(sample(name))), passed, name);
});

test('mail without From gets no signature, as none would be valid', async t => {
  t.is((await signMail(Buffer.from('Subject: hello\r\n\r\nhello\r\n'), keys)).length, 0);
});

test('mail from the wild is signed too', async t => {
  const names = sharedMails();
  if (names.length === 0) t.log('skipped: there is no folder ../shared/mail');

  for (const name of names) {
    const bytes = Buffer.from(readFileSync(new URL(name, sharedFolder), 'latin1').replace(/\r?\n/g, '\r\n'), 'latin1');
    if (!headersOf(bytes).some(field => field.name.toLowerCase() === 'from')) continue;
    const end = bytes.includes('\r\n\r\n') ? '' : '\r\n\r\n';
    t.deepEqual(await verdicts(Buffer.concat([await signed(bytes), Buffer.from(end)])), passed, name);
  }
  t.pass();
});

test('odd endings and odd headers verify as well', async t => {
  const header = 'From: a@example.net\r\nTo: b@example.com\r\nSubject:  two\r\n\t lines  \r\n';
  const bodies = ['\r\n', '\r\n\r\n\r\n', '\r\nno line end', '\r\n.\r\n..\r\n', '\r\n  \t \r\n \r\n', '\r\n\xff\xfe \t x\r\n'];

  for (const body of bodies)
    t.deepEqual(await verdicts(await signed(Buffer.from(header + body, 'latin1'))), passed, JSON.stringify(body));
  t.deepEqual(
    await verdicts(await signed(Buffer.from(`${header}From: c@example.net\r\nSubject: Gr\xfc\xdfe\r\n\r\nx\r\n`, 'latin1'))),
    passed,
  );
});

test('a mail without a body is signed as what it becomes with an empty one', async t => {
  for (const header of ['From: a@example.net\r\nSubject: x', 'From: a@example.net\r\nSubject: x\r\n']) {
    const signatures = await signMail(Buffer.from(header), keys);
    t.deepEqual(await verdicts(Buffer.concat([signatures, Buffer.from(`${header.trimEnd()}\r\n\r\n`)])), passed);
  }
});

test('a signature survives the fields that relays put in front', async t => {
  const mail = receivedMail({bytes: await signed(sample('eight-bit.eml'))});

  const relayed = Buffer.concat([traceHeader(mail, 'mx2.example.org'), ...(await mail.content.open().toArray())]);

  t.deepEqual(await verdicts(relayed), passed);
});

test('a change of one byte in body, subject or sender breaks every signature', async t => {
  const bytes = (await signed(sample('plain.eml'))).toString('latin1');

  for (const [from, to] of [
    ['usual', 'usuaI'],
    ['Minutes', 'minutes'],
    ['ada@example.net>\r\nTo', 'eve@example.net>\r\nTo'],
  ] as const) {
    const changed = bytes.replace(from, to);
    t.not(changed, bytes);
    const now = await verdicts(Buffer.from(changed, 'latin1'));
    t.is(now.length, 2);
    t.false(
      now.some(verdict => verdict.endsWith('pass')),
      to,
    );
  }
});

test('what a reader sees is covered', async t => {
  const signatures = await signMail(sample('plain.eml'), keys);

  for (const field of headersOf(signatures)) {
    const covered =
      /\bh=([^;]+);/
        .exec(field.value)?.[1]
        ?.toLowerCase()
        .split(/[:\s]+/) ?? [];
    for (const name of ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type'])
      t.true(covered.includes(name), name);
  }
});

test('signatures are whole header fields with lines of at most 78 characters', async t => {
  const signatures = await signMail(sample('plain.eml'), keys);

  t.deepEqual(
    headersOf(signatures).map(field => field.name),
    ['DKIM-Signature', 'DKIM-Signature'],
  );
  t.true(signatures.toString('latin1').endsWith('\r\n'));
  t.false(signatures.includes('\r\n\r\n'));
  t.true(
    signatures
      .toString('latin1')
      .split('\r\n')
      .every(line => line.length <= 78),
  );
});

test('without keys nothing is put in front', async t => {
  t.is((await signMail(sample('plain.eml'), [])).length, 0);
});

test('a key that cannot sign is a fault and never an unsigned mail', async t => {
  const [key] = keys;
  const broken = {...(key as SigningKey), private_key_pem: 'no key'};

  const fault = await t.throwsAsync(signMail(sample('plain.eml'), [...keys, broken]), {instanceOf: Fault});
  t.is(fault?.code, 'unavailable');
});
