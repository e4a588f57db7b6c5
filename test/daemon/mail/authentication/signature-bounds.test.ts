// Bounds on a mail before its signatures are verified, and the ARC chains that are verified.
import {generateKeyPairSync} from 'node:crypto';
import test from 'ava';
import {verifySignatures} from '../../../../daemon/mail/authentication/dkim-signatures.ts';
import {verifyMail} from '../../../../daemon/mail/authentication/verify-mail.ts';
import type {SignatureCheck} from '../../../../daemon/mail/readers/check-signatures.ts';
import {ReaderLost} from '../../../../daemon/mail/readers/reader-pool.ts';
import {arcSealed, dkimSigned, publishedKey, type Sealed} from '../../../helpers/dkim-signer.ts';
import {checkContent, readersInProcess} from '../../../helpers/readers.ts';
import {contentOf, readHeader, receivedMail} from '../../../helpers/received-mail.ts';
import {type SpfZone, zoneLookup} from '../../../helpers/spf-cases.ts';

const key = generateKeyPairSync('rsa', {modulusLength: 2048}).privateKey;
const zone: SpfZone = {
  's1._domainkey.bank.test': {TXT: [`v=DKIM1; p=${publishedKey(key)}`]},
  'bank.test': {TXT: ['v=spf1 ip4:192.0.2.5 -all']},
  '_dmarc.bank.test': {TXT: ['v=DMARC1; p=reject']},
};
const tags = 'v=1; a=rsa-sha256; c=relaxed/simple; d=bank.test; s=s1; h=from; bh=@bh@; b=@b@';

const signed = (more: string, template = tags): Buffer =>
  dkimSigned({header: `From: news@bank.test\r\n${more}`, body: 'Hello\r\n', template, key, fields: ['from']});

/** `seen`: whether anything was given to the reader. */
const verify = async (bytes: Buffer): Promise<SignatureCheck & {seen: boolean}> => {
  let seen = false;
  const result = await verifySignatures({...readHeader(bytes), content: contentOf(bytes)}, zoneLookup(zone), async (...given) => {
    seen = true;
    return checkContent(...given);
  });
  return {...result, seen};
};

const refused = [{result: 'permerror' as const, domain: 'bank.test', selector: 's1'}];
const accepted = [{...refused[0], result: 'pass'}];

const atBound = {
  // The signature and From are two more.
  '2,000 fields': 'X: y\r\n'.repeat(1998),
  'a field of 1,000 lines': `X: y\r\n${' z\r\n'.repeat(999)}`,
  'many fields of many lines': `X: y\r\n${' z\r\n'.repeat(900)}`.repeat(50),
  'a long Content-Type': `Content-Type: text/plain; x="${'y'.repeat(900)}"\r\n`,
  'a line that is no field': 'X: y\r\nno field\r\n',
};

for (const [what, more] of Object.entries(atBound))
  test(`the signature of a mail with ${what} is verified`, async t => {
    t.like(await verify(signed(more)), {dkim: accepted, seen: true});
  });

const beyondBounds = {
  '2,001 fields': 'X: y\r\n'.repeat(1999),
  'a field of 1,001 lines': `X: y\r\n${' z\r\n'.repeat(1000)}`,
  '83,000 lines of a blank': `X: y\r\n${' \r\n'.repeat(83_000)}`,
  '3,000 lines that are no field': 'x\r\n'.repeat(3000),
  'a long From under a line that is no field': `From\r\n : a${'\r\n @b.test\r\n a'.repeat(900)}\r\n`,
  'a field with 100,000 bare CRs': `X: ${'\r'.repeat(100_000)}y\r\n`,
  'two From, together too long': `From: ${'a@b.test,'.repeat(100)}\r\n`.repeat(12),
  'a long Content-Type in pieces': `Content-Type: a/b${Array.from({length: 1000}, (_, n) => `;\r\n x*${n}=y`).join('')}\r\n`,
};

for (const [what, more] of Object.entries(beyondBounds))
  test(`no signature of a mail with ${what} is verified`, async t => {
    const {dkim, seen} = await verify(signed(more));

    t.deepEqual(dkim, refused);
    t.false(seen);
  });

test('a signature that only mailauth would see is not verified', async t => {
  const hidden = (how: string, template = tags) =>
    Buffer.from(signed('', template).toString('latin1').replace('DKIM-Signature:', how), 'latin1');
  const limited = `${tags}; l=7`;
  const withLf = Buffer.from(`X: y\n${signed('', limited).toString('latin1')}`, 'latin1');

  for (const bytes of [hidden('DKIM-Signature\r\n :', limited), hidden('DKIM-Signature\r\n:', limited), withLf])
    t.like(await verify(bytes), {dkim: [], seen: false});
  const beside = Buffer.concat([
    signed('').subarray(0, signed('').indexOf('\r\n') + 2),
    hidden('DKIM-Signature\r\n\t:', limited),
  ]);
  t.like(await verify(beside), {dkim: refused, seen: false});
  t.like(await verify(signed('Subject: : x\r\n')), {dkim: accepted});
});

test('ten signatures at most are shown of a mail beyond the bounds', async t => {
  const bytes = signed(`DKIM-Signature: v=1; d=bank.test; s=s1\r\n${'X: y\r\n'.repeat(2000)}`).toString('latin1');
  const field = /^DKIM-Signature: .*\r\n/.exec(bytes)?.[0] ?? '';

  t.deepEqual((await verify(Buffer.from(field.repeat(15) + bytes))).dkim, Array(10).fill(refused[0]));
});

test('a signature with more than 2,000 names is refused, and so are several together', async t => {
  const names = (count: number) => tags.replace('h=from', `h=from${':x'.repeat(count - 1)}`);
  const good = signed('');
  const field = (count: number) => /^.*\r\n/.exec(signed('', names(count)).toString('latin1'))?.[0] ?? '';

  t.deepEqual((await verify(signed('', names(2000)))).dkim, accepted);
  t.deepEqual((await verify(signed('', names(2001)))).dkim, refused);
  t.deepEqual(
    (await verify(Buffer.concat([Buffer.from(field(1500) + field(1500)), good]))).dkim.map(({result}) => result),
    ['pass', 'permerror', 'permerror'],
  );
});

test('DMARC goes on without the signatures of a mail beyond the bounds', async t => {
  const bytes = signed('X: y\r\n'.repeat(3000));
  const verified = async (ip: string) =>
    (
      await verifyMail(receivedMail({bytes, client: {ip}, envelope: {sender: 'a@bank.test'}}), {
        newLookup: () => zoneLookup(zone),
        fqdn: 'mx.test',
        readers: readersInProcess,
      })
    ).results;

  t.like(await verified('192.0.2.5'), {dkim: refused, dmarc: {result: 'pass'}});
  t.like(await verified('192.0.2.6'), {dkim: refused, dmarc: {result: 'fail', policy: 'reject'}});
});

const chain: Sealed = {
  header: 'From: news@bank.test\r\n',
  body: 'Hello\r\n',
  message: tags.replace('v=1', 'i=1'),
  seal: 'i=1; a=rsa-sha256; cv=none; d=bank.test; s=s1; b=@b@',
  key,
};

test('signatures that no reader could verify are permerror, and any other error is one', async t => {
  const bytes = signed('');
  const verifyWith = async (error: Error) =>
    verifySignatures({...readHeader(bytes), content: contentOf(bytes)}, zoneLookup(zone), async () => {
      throw error;
    });

  t.deepEqual(await verifyWith(new ReaderLost('time')), {dkim: refused, arc: {result: 'none'}});
  await t.throwsAsync(verifyWith(new Error('did not start')), {message: 'did not start'});
});

test('a result is believed for the signatures that were to be verified only', async t => {
  const bytes = signed('');
  const verifyWith = async (dkim: SignatureCheck['dkim']) =>
    verifySignatures({...readHeader(bytes), content: contentOf(bytes)}, zoneLookup(zone), async () => ({
      dkim,
      arc: {result: 'none'},
    }));
  const [pass] = accepted;

  t.like(await verifyWith(accepted as SignatureCheck['dkim']), {dkim: accepted});
  for (const said of [[{...pass, domain: 'victim.test'}], [{...pass, selector: 's2'}], [pass, pass]])
    t.like(await verifyWith(said as SignatureCheck['dkim']), {dkim: refused});
  // mailauth takes the first line for a field, whatever it begins with.
  const hidden = Buffer.from(` ${signed('', `${tags.replace('s=s1', 's=s2')}; l=7`).toString('latin1')}`, 'latin1');
  const seen = /^.*\r\n/.exec(bytes.toString('latin1'))?.[0] ?? '';
  const header = hidden.indexOf('\r\n') + 2;
  t.like(await verify(Buffer.concat([hidden.subarray(0, header), Buffer.from(seen), hidden.subarray(header)])), {dkim: refused});
});

test('an ARC chain passes', async t => {
  t.like(await verify(arcSealed(chain)), {arc: {result: 'pass'}, seen: true});
  t.like(await verify(arcSealed({...chain, message: `${chain.message};`})), {arc: {result: 'pass'}});
});

test('an ARC chain of a body that was changed fails', async t => {
  const bytes = Buffer.from(arcSealed(chain).toString('latin1').replace('Hello', 'Pay'));

  t.like(await verify(bytes), {arc: {result: 'fail'}, seen: true});
});

test('a reader waits for no key: all of them were asked for before, and it may ask for no other', async t => {
  const keys = ['s1._domainkey.bank.test', 's2._domainkey.other.test', 's3._domainkey.third.test'];
  const bytes = arcSealed({
    ...chain,
    header: `DKIM-Signature: ${tags.replace('d=bank', 'd=third').replace('s=s1', 's=s3').replaceAll('@', 'a')}\r\n${chain.header}`,
    seal: chain.seal.replace('d=bank', 'd=other').replace('s=s1', 's=s2'),
  });
  const asked: string[] = [];
  const askedBefore: string[] = [];
  let named: readonly string[] = [];
  const codes: unknown[] = [];

  await verifySignatures({...readHeader(bytes), content: contentOf(bytes)}, zoneLookup(zone, asked), async (_, lookup, names) => {
    askedBefore.push(...asked);
    named = names;
    const questions = [...keys, 'S1._domainkey.bank.test.', 's4._domainkey.bank.test'];
    for (const name of questions)
      codes.push(
        await lookup(name, 'TXT').then(
          () => 'found',
          error => error.code,
        ),
      );
    return {dkim: [], arc: {result: 'none'}};
  });

  t.deepEqual(named.toSorted(), keys);
  t.deepEqual(
    [...new Set(askedBefore)].toSorted(),
    keys.map(name => `TXT ${name}`),
  );
  t.deepEqual(codes, ['found', 'ENOTFOUND', 'ENOTFOUND', 'found', 'ENOTFOUND']);
});

const badChains: Record<string, Partial<Sealed>> = {
  'a limit of the body': {message: `${chain.message}; l=3`},
  'a second d': {message: `${chain.message}; d=bank.test`},
  'd in capitals in its seal': {seal: chain.seal.replace('d=', 'D=')},
  'a second s in its seal': {seal: `${chain.seal}; s=s1`},
  '2,001 names': {message: chain.message.replace('h=from', `h=from${':x'.repeat(2000)}`)},
  'long runs of blanks': {seal: chain.seal.replace('; b=', `; z=a${'\r\n  '.repeat(300)}b; b=`)},
  'a long field': {seal: `${chain.seal}; z=${'y'.repeat(17_000)}`},
  '2,000 fields beside it': {header: `${chain.header}${'X: y\r\n'.repeat(2000)}`},
  'a field of 1,001 lines beside it': {header: `${chain.header}X: y\r\n${' \r\n'.repeat(1001)}`},
};

for (const [what, part] of Object.entries(badChains))
  test(`an ARC chain with ${what} fails, and the reader does not see it`, async t => {
    t.deepEqual(await verify(arcSealed({...chain, ...part})), {dkim: [], arc: {result: 'fail'}, seen: false});
  });

test('an ARC chain that is refused leaves the signature of the mail', async t => {
  const sealed = arcSealed({...chain, message: `${chain.message}; l=3`}).toString('latin1');
  const own = /^.*\r\n/.exec(signed('').toString('latin1'))?.[0] ?? '';

  t.like(await verify(Buffer.from(own + sealed)), {dkim: accepted, arc: {result: 'fail'}});
});
