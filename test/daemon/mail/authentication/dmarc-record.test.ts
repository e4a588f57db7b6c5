import test from 'ava';
import {parseDmarcRecord} from '../../../../daemon/mail/authentication/dmarc-record.ts';

test('a record gives its policies, alignment and report addresses, in any order and case', t => {
  const record = parseDmarcRecord([
    'another text',
    'v=DMARC1; rua=mailto:a@one.test,mailto:b%2Bc@two.test!10m , https://three.test; P=Reject;sp=quarantine; adkim=s; t=y; fo=1:d; pct=20; odd',
  ]);

  t.deepEqual(record, {
    p: 'reject',
    sp: 'quarantine',
    np: undefined,
    isDkimStrict: true,
    isSpfStrict: false,
    psd: 'u',
    isTesting: true,
    reportTo: ['a@one.test', 'b+c@two.test'],
    fo: '1:d',
  });
});

test('a text that does not begin with the version is no record, and neither are two records', t => {
  for (const texts of [[], ['p=reject'], ['v=dmarc1; p=reject'], ['p=reject; v=DMARC1'], ['v=DMARC10; p=reject']])
    t.is(parseDmarcRecord(texts), undefined, texts.join());
  t.is(parseDmarcRecord(['v=DMARC1; p=none', 'v=DMARC1; p=reject']), undefined);
  t.is(parseDmarcRecord(['v=DMARC1'])?.p, 'none');
});

test('an invalid policy counts as none where reports are asked for, and otherwise makes no record', t => {
  t.is(parseDmarcRecord(['v=DMARC1; p=rejct']), undefined);
  t.is(parseDmarcRecord(['v=DMARC1; p=reject; sp=all']), undefined);
  const record = parseDmarcRecord(['v=DMARC1; p=reject; sp=all; rua=mailto:a@one.test']);
  t.like(record, {p: 'none', sp: undefined});
});

test('a record of any length and with any text takes little time and throws nothing', t => {
  const reports = `rua=${'mailto:a@b.test,'.repeat(4000)}`;
  for (const text of [';'.repeat(60_000), `fo=${' '.repeat(60_000)}\x01`, '='.repeat(60_000), 'rua=mailto:%ff@b.test', '\0=\0'])
    t.deepEqual(parseDmarcRecord([`v=DMARC1; ${text}`])?.reportTo, [], text.slice(0, 20));
  t.is(parseDmarcRecord([`v=DMARC1; ${'p='.repeat(30_000)}`]), undefined);
  t.is(parseDmarcRecord([`v=DMARC1; ${reports}`])?.reportTo.length, 10);
});

test('an address for reports with any number of @ and blanks takes little time, and is none', t => {
  const uris = [
    `${'@'.repeat(320)}${' '.repeat(60_000)}?`,
    '@'.repeat(65_000),
    `a@${'b'.repeat(300)}`,
    `${'a'.repeat(400)}@b.test`,
    'a@',
    '@b',
  ];
  // With a backtracking regular expression, the first one takes seconds.
  for (let time = 0; time < 200; time += 1)
    for (const uri of uris)
      t.deepEqual(parseDmarcRecord([`v=DMARC1; p=none; rua=mailto:${uri}`])?.reportTo, [], uri.slice(0, 20));
  t.deepEqual(parseDmarcRecord(['v=DMARC1; p=none; rua= MAILTO:a@b.test!10m ,mailto:c@d.test!x,mailto:e@f.test !2'])?.reportTo, [
    'a@b.test',
    'e@f.test',
  ]);
});
