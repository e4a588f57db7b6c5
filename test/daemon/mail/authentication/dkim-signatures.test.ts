import {generateKeyPairSync, type KeyObject} from 'node:crypto';
import test from 'ava';
import {verifySignatures} from '../../../../daemon/mail/authentication/dkim-signatures.ts';
import type {DkimResult} from '../../../../shared/mail-authentication.ts';
import {dkimSigned, publishedKey, type Signed} from '../../../helpers/dkim-signer.ts';
import {checkContent} from '../../../helpers/readers.ts';
import {contentOf, readHeader} from '../../../helpers/received-mail.ts';
import {type SpfZone, zoneLookup} from '../../../helpers/spf-cases.ts';

const rsa = generateKeyPairSync('rsa', {modulusLength: 2048}).privateKey;
const ed25519 = generateKeyPairSync('ed25519').privateKey;
const p = publishedKey(rsa);

const mail = {header: 'From: Bank <news@bank.test>\r\nSubject: test\r\n', body: 'Hello\r\n'};
const tags = 'v=1; a=rsa-sha256; c=relaxed/simple; d=bank.test; s=s1; h=from:subject; bh=@bh@; b=@b@';

interface Case {
  template?: string;
  /** The record of the key. */
  record?: string | string[];
  key?: KeyObject;
  name?: string;
  more?: Partial<Signed>;
  /** Changes the signed mail. */
  change?: (text: string) => string;
}

const verify = async (bytes: Buffer, zone: SpfZone, asked: string[] = []) => {
  let checks = 0;
  const result = await verifySignatures(
    {...readHeader(bytes), content: contentOf(bytes)},
    zoneLookup(zone, asked),
    async (...given) => {
      checks += 1;
      return checkContent(...given);
    },
  );
  return {...result, checks};
};

const resultOf = async ({
  template = tags,
  record = `v=DKIM1; p=${p}`,
  key = rsa,
  name = 's1._domainkey.bank.test',
  more,
  change,
}: Case) => {
  const signed = dkimSigned({...mail, template, key, ...more}).toString('latin1');
  const bytes = Buffer.from(change?.(signed) ?? signed, 'latin1');
  const {dkim} = await verify(bytes, {[name]: {TXT: [record]}});
  return dkim[0]?.result;
};

const passing: Record<string, Case> = {
  'a signature as it should be': {},
  'blanks and folds around the = of b': {template: tags.replace('b=@b@', '\r\n\tb\r\n\t =\r\n  @b@')},
  'blanks around every =': {template: tags.replaceAll('=', ' = ').replaceAll(';', ' ;')},
  'a semicolon at the end': {template: `${tags};`},
  'b before the other tags': {template: tags.replace('; b=@b@', '').replace('v=1', 'b=@b@; v=1')},
  Ed25519: {template: tags.replace('rsa-', 'ed25519-'), key: ed25519, record: `v=DKIM1; k=ed25519; p=${publishedKey(ed25519)}`},
  'an algorithm in capitals': {template: tags.replace('rsa-sha256', 'RSA-SHA256')},
  'a domain in capitals': {template: tags.replace('d=bank.test', 'd=Bank.Test')},
  'a domain with a dot at its end': {template: tags.replace('d=bank.test', 'd=bank.test.')},
  'a domain and a selector with an underscore': {
    template: tags.replace('d=bank.test; s=s1', 'd=a_b.test; s=s_1'),
    name: 's_1._domainkey.a_b.test',
  },
  'a domain in U-labels': {
    template: tags.replace('d=bank.test', `d=${Buffer.from('bücher.test').toString('latin1')}`),
    name: 's1._domainkey.xn--bcher-kva.test',
  },
  'an identity in a subdomain': {template: `${tags}; i=news@mail.bank.test`},
  'an identity with an unusual local part': {template: `${tags}; i=a..b.@bank.test`},
  'a list of query methods': {template: `${tags}; q=dns/other : dns/txt`},
  'an unknown tag': {template: `${tags}; Foo=(bar)`},
  'an end in the future': {template: `${tags}; t=1000; x=9999999999`},
  'a key for all services and hashes': {record: `v=DKIM1; s=*; h=sha1:sha256; p=${p}`},
  'a key for email among others': {record: `v=DKIM1; s=other:email; p=${p}`},
  'a key that allows no subdomains': {record: `v=DKIM1; t=s:y; p=${p}`, template: `${tags}; i=@bank.test`},
  'a key without a version': {record: `k=rsa; p=${p}`},
  'a key with notes': {record: `v=DKIM1; n=a (note) of ours; p=${p};`},
  'a key as PKCS#1': {record: `v=DKIM1; p=${publishedKey(rsa, 'pkcs1')}`},
  'a key in several strings with blanks': {record: ['v=DKIM1; p=', p.slice(0, 200), ` ${p.slice(200)}`]},
};

for (const [what, one] of Object.entries(passing))
  test(`${what} passes`, async t => {
    t.is(await resultOf(one), 'pass');
  });

const permanent: Record<string, Case> = {
  'a second d': {template: `${tags}; d=bank.test`},
  'a second unknown tag': {template: `${tags}; foo=1; foo=1`},
  'd in capitals': {template: tags.replace('d=bank', 'D=bank')},
  's in capitals beside s': {template: `${tags}; S=evil`},
  'a domain behind a comment': {template: tags.replace('d=bank', 'd=(x)bank')},
  'a tag with a comment': {template: tags.replace('d=bank', 'd(x)=bank')},
  'a comment in h': {template: tags.replace('h=from', 'h=(x)from:from')},
  'a part that is no tag': {template: `${tags}; bank`},
  'no version': {template: tags.replace('v=1; ', '')},
  'another version': {template: tags.replace('v=1', 'v=2')},
  'a version of another spelling': {template: tags.replace('v=1', 'v=1.0')},
  'an unknown query method': {template: `${tags}; q=dns/other`},
  'an identity of another domain': {template: `${tags}; i=@evil.test`},
  'an identity of a domain that ends alike': {template: `${tags}; i=@evilbank.test`},
  'an identity of the domain above': {
    template: tags.replace('d=bank.test', 'd=news.bank.test; i=@bank.test'),
    name: 's1._domainkey.news.bank.test',
  },
  'an identity without a domain': {template: `${tags}; i=news`},
  'an unknown algorithm': {template: tags.replace('rsa-sha256', 'rsa-sha512')},
  'an unknown canonical form': {template: tags.replace('relaxed/simple', 'relaxed/other')},
  'an end before the beginning': {template: `${tags}; t=2000; x=1000`},
  'an end that is no number': {template: `${tags}; x=never`},
  'a domain that is none': {template: tags.replace('d=bank.test', 'd=bank'), name: 's1._domainkey.bank'},
  'a domain that IDNA would change': {template: tags.replace('d=bank.test', `d=${Buffer.from('ｂank.test').toString('latin1')}`)},
  'long runs of blanks': {template: tags.replace('; b=', `; z=a${'\r\n  '.repeat(300)}b; b=`)},
  'a key that allows no subdomains, with an identity in one': {
    record: `v=DKIM1; t=y:s; p=${p}`,
    template: `${tags}; i=@mail.bank.test`,
  },
  'a key of another version': {record: `v=DKIM2; p=${p}`},
  'a key with a second p': {record: `v=DKIM1; p=AAAA; p=${p}`},
  'a key with a tag in capitals': {record: `v=DKIM1; p=${p}; S=email`},
};

for (const [what, one] of Object.entries(permanent))
  test(`${what} is a permanent error`, async t => {
    t.is(await resultOf(one), 'permerror');
  });

const others: Record<string, Case & {is: DkimResult}> = {
  'a body that was changed': {is: 'fail', change: text => text.replace('Hello', 'Hello, pay here')},
  'a field that was changed': {is: 'fail', change: text => text.replace('Subject: test', 'Subject: pay')},
  'a limit of the body': {is: 'policy', template: `${tags}; l=7`},
  'a signature that does not cover From': {is: 'policy', template: tags.replace('from:', ''), more: {fields: ['subject']}},
  'SHA-1': {is: 'policy', template: tags.replace('sha256', 'sha1')},
  'a key that is too short': {is: 'policy', ...shortKey()},
  'an end in the past': {is: 'neutral', template: `${tags}; t=1000; x=2000`},
  'a key for another service': {is: 'neutral', record: `v=DKIM1; s=tlsrpt; p=${p}`},
  'a key for another hash': {is: 'neutral', record: `v=DKIM1; h=sha1; p=${p}`},
  'a key of another kind': {is: 'neutral', record: `v=DKIM1; k=ed25519; p=${p}`},
  'a key that was revoked': {is: 'neutral', record: 'v=DKIM1; p='},
  'a key that does not exist': {is: 'neutral', name: 's2._domainkey.bank.test'},
};

function shortKey(): Case {
  const key = generateKeyPairSync('rsa', {modulusLength: 768}).privateKey;
  return {key, record: `v=DKIM1; p=${publishedKey(key)}`};
}

for (const [what, {is, ...one}] of Object.entries(others))
  test(`${what} is ${is}`, async t => {
    t.is(await resultOf(one), is);
  });

test('what is refused is not asked for in DNS, and spoils no other signature', async t => {
  const good = dkimSigned({...mail, template: tags, key: rsa}).toString('latin1');
  const bad = ['d=a.test; D=a.test', 'd=b.test; s=x; s=y', 'd=c.test; s=(c)'].map(
    part => `DKIM-Signature: v=1; a=rsa-sha256; s=s; h=from; bh=AAAA; b=AAAA; ${part}\r\n`,
  );
  const asked: string[] = [];

  const {dkim} = await verify(Buffer.from(bad.join('') + good), {'s1._domainkey.bank.test': {TXT: [`v=DKIM1; p=${p}`]}}, asked);

  t.deepEqual(
    dkim.map(({result}) => result),
    ['pass', 'permerror', 'permerror', 'permerror'],
  );
  t.deepEqual([...new Set(asked)], ['TXT s1._domainkey.bank.test']);
});

test('ten signatures are verified, and no more', async t => {
  const good = dkimSigned({...mail, template: tags, key: rsa}).toString('latin1');
  const [field = ''] = /^DKIM-Signature: .*\r\n/.exec(good) ?? [];
  const zone = {'s1._domainkey.bank.test': {TXT: [`v=DKIM1; p=${p}`]}};
  const dead = field.replace('d=bank.test', 'd=other.test');

  t.deepEqual((await verify(Buffer.from(field.repeat(20) + good), zone)).dkim.length, 10);
  t.false((await verify(Buffer.from(dead.repeat(10) + good), zone)).dkim.some(({result}) => result === 'pass'));
  t.true((await verify(Buffer.from(dead.repeat(9) + good), zone)).dkim.some(({result}) => result === 'pass'));
});
