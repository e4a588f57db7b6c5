// Header fields of hostile mail: authors, signatures, ARC sets, results and content types. Values begin after the colon.
import type {Random} from './random.ts';

export type Field = [name: string, value: string];

/** The fields of a header block without its last line end. */
export const fieldsIn = (head: string): Field[] =>
  head.split(/\r\n(?![ \t])/).map((line): Field => {
    const at = line.indexOf(':');
    return [line.slice(0, at), line.slice(at + 1)];
  });

const objectKeys = ['__proto__', '__proto__', 'constructor.prototype', '__proto__.__proto__', 'constructor', 'hasOwnProperty'];
const members = [
  'x',
  'get',
  'records.0',
  'hasOwnProperty',
  'NODE_OPTIONS',
  'then',
  'env',
  'length',
  'code',
  'toString',
  'result',
];
const planted = [
  '1',
  'pass',
  '""',
  '"--import=data:text/javascript,process.exit(9)"',
  '"v=DKIM1; k=ed25519; p=AAAA"',
  'x'.repeat(900),
];

/** An assignment that changes the prototype of all objects where a parser follows it. */
const polluting = (random: Random): string => `${random.pick(objectKeys)}.${random.pick(members)}=${random.pick(planted)}`;

const domains = [
  'good.test',
  'bank.test',
  'evil.test',
  'x_y.bank.test',
  'bank.test.',
  '__proto__',
  'constructor',
  'b\xfcro.test',
];
export const domainOf = (random: Random): string =>
  random.chance(0.1) ? `d${random.between(0, 999_999)}.absent.test` : random.pick(domains);

/** What is large is rare: a mail of many such parts would be refused before anybody reads it. */
const rarely = <T>(random: Random, usual: readonly T[], rare: readonly T[]): T => random.pick(random.chance(0.02) ? rare : usual);

/** Many short lines of one field. */
const folded = (words: string, times: number): string => `${words}\r\n `.repeat(times);

const authors: readonly ((random: Random) => string)[] = [
  () => 'news@good.test',
  random => `x@${domainOf(random)}`,
  () => '"Bank <a@bank.test>" <x@evil.test>',
  () => '"Bank <a@bank.test>',
  () => 'x (a (nested (comment)) and \\) more <a@bank.test>) <x@evil.test>',
  () => 'Staff: a@bank.test, b@evil.test;, Others:;',
  () => '<__proto__@__proto__>, constructor@constructor.prototype',
  () => '=?utf-8?B?YUBiYW5rLnRlc3Q=?=',
  () => '=?utf-8?Q?a=40bank.test?= <x@evil.test>',
  () => '=?__proto__?constructor?x?= <x@evil.test>',
  () => `a@${'b.'.repeat(120)}test`,
  () => '<a@bank\r\n .test>',
  () => '<a@bank(x).test>',
  () => '<a@evil.test>a@bank.test',
  () => 'x <x@evil.test> CEO <ceo@bank.test>',
  () => 'a@[127.0.0.1]',
  () => 'a@bank.test..',
  () => '',
  () => ' \xff\xfe@\xff.test',
  () => Array.from({length: 11}, (_, n) => `a@d${n}.evil.test`).join(', '),
];
const largeAuthors = [
  () => `${folded(' '.repeat(70), 120)}<a@bank.test>`,
  () => `${folded(`(${'('.repeat(400)}`, 20)}a@bank.test`,
  () => folded('a@bank.test,', 3000),
  () => `"${folded('\\"'.repeat(30), 60)}" <x@evil.test>`,
];

export const authorFields = (random: Random): Field[] => {
  const name = () => random.pick(['From', 'From', 'From', 'From', 'from ', 'FROM', 'Sender', 'Resent-From', '__proto__']);
  // Most of it would be held for its author otherwise, and few would be relayed.
  if (random.chance(0.5)) return [['From', ' news@good.test']];
  return Array.from({length: rarely(random, [1, 1, 1, 1, 1, 0, 2], [11])}, () => [
    name(),
    ` ${rarely(random, authors, largeAuthors)(random)}`,
  ]);
};

const algorithms = ['rsa-sha256', 'ed25519-sha256', 'rsa-sha1', '__proto__', 'rsa-sha256; a=ed25519-sha256'];
const names = ['from:to:subject', 'from', '__proto__:constructor:from', 'from:from: ; h=from', ''];
const largeNames = [folded('from:'.repeat(12), 250), folded('x-a:'.repeat(15), 13)];
const base64 = ['AAAA', '', '====', 'A', `${'A'.repeat(342)}==`, '__proto__', '\xff'];
const largeBase64 = [folded('QUJD'.repeat(18), 40)];

/** Tags of a signature; `first` are those that come first. */
const tags = (random: Random, first: string): string => {
  const all = [
    first,
    `a=${random.pick(algorithms)}`,
    `c=${random.pick(['relaxed/relaxed', 'simple', 'relaxed/__proto__', '/'])}`,
    `d=${domainOf(random)}`,
    `s=${random.pick(['s1', 's1', '__proto__', 'toString', `n${random.between(0, 999_999)}`, `${'a.'.repeat(130)}b`])}`,
    `h=${rarely(random, names, largeNames)}`,
    `bh=${rarely(random, base64, largeBase64)}`,
    `b=${rarely(random, base64, largeBase64)}`,
  ];
  const odd = [
    'l=0',
    'l=99999999999999999999',
    'l=-1',
    't=x',
    'x=1',
    'x=__proto__',
    'q=dns/txt',
    'i=@bank.test',
    'z=From:x|y',
    ';;;',
    '=',
  ];
  for (let count = rarely(random, [0, 0, 1, 1, 3], [40]); count > 0; count -= 1)
    all.splice(random.between(1, all.length), 0, random.chance(0.4) ? polluting(random) : random.pick(odd));
  if (random.chance(0.1)) all.push(random.pick(all));
  if (random.chance(0.1)) all.push(`${random.pick(['D', 'S', 'B'])}=x`, 'd(comment)=bank.test');
  return ` ${all.join(random.pick(['; ', ';', ';\r\n\t', ' ;(comment) ']))}`;
};

export const signatureFields = (random: Random): Field[] =>
  Array.from({length: rarely(random, [0, 0, 1, 1, 1, 2, 3], [12, 60])}, () => ['DKIM-Signature', tags(random, 'v=1')]);

/** What a server says that it found out about a mail. */
const results = (random: Random): string => {
  const server = random.pick(['mx.test', 'mx.example.org', '__proto__', '"mx.example.org" 1', '']);
  const facts = Array.from({length: rarely(random, [0, 1, 2, 5], [300])}, () =>
    random.pick([
      `spf=pass ${polluting(random)}`,
      polluting(random),
      `dkim=pass header.d=bank.test header.${polluting(random)}`,
      'dmarc=pass (p=reject) header.from=bank.test',
      'arc=pass (i=1) policy.__proto__=x',
      `__proto__=pass (${'('.repeat(50)}`,
    ]),
  );
  return ` ${[server, ...facts].join(';\r\n\t')}`;
};

export const arcFields = (random: Random): Field[] =>
  Array.from({length: rarely(random, [0, 0, 0, 1, 1, 2, 3], [60])}, (_, n): Field[] => {
    const instance = random.chance(0.9) ? n + 1 : random.pick([0, 1, 51, -1, 1e9, '__proto__', 'constructor', '']);
    const set: Field[] = [
      ['ARC-Seal', tags(random, `i=${instance}; cv=${random.pick(['none', 'pass', 'fail', '__proto__'])}`)],
      ['ARC-Message-Signature', tags(random, `i=${instance}`)],
      ['ARC-Authentication-Results', ` i=${instance};${results(random)}`],
    ];
    if (random.chance(0.1)) set.splice(random.between(0, 2), 1);
    return set;
  }).flat();

export const resultsFields = (random: Random): Field[] =>
  Array.from({length: rarely(random, [0, 0, 0, 1, 1, 2], [20])}, () => ['Authentication-Results', results(random)]);

const contentTypes = [
  'text/plain',
  'multipart/mixed; boundary=x',
  "multipart/mixed; boundary=x; __proto__*0*=utf-8''abc; __proto__*1=x",
  "multipart/mixed; boundary*0*=utf-8''x; boundary*999999999=y",
  'multipart/mixed; constructor*0=x; toString*=x',
  'multipart/mixed; __proto__=x; boundary="',
  "message/rfc822; __proto__*=utf-8''%ff%fe",
  '__proto__/constructor; charset=__proto__',
  'text/html; charset="utf-7"; name*0*=x; name*0*=y',
  `multipart/mixed; ${folded('name*1=x;', 500)} boundary=x`,
];

export const contentFields = (random: Random): Field[] => [
  ['MIME-Version', ' 1.0'],
  ['Content-Type', ` ${random.pick(contentTypes)}`],
  ['Content-Transfer-Encoding', ` ${random.pick(['7bit', 'base64', 'quoted-printable', '__proto__', 'x'])}`],
];

/** Up to what a node takes (256 KB), and one byte of each line is content. */
export const floodField = (random: Random): Field => [
  random.pick(['X-Flood', 'From', 'Subject', 'DKIM-Signature', 'ARC-Seal', 'Authentication-Results', 'Content-Type']),
  folded(random.pick(['', 'x', ';', 'a=b;', '(', ',', '"', 'from:']), random.pick([1000, 5000, 30_000, 50_000])),
];

export const otherFields = (random: Random): Field[] => {
  const all: Field[] = [
    [
      'Subject',
      ` ${random.pick(['hi', '=?utf-8?Q?__proto__?=', '=?utf-8?B?////?= '.repeat(40), '__proto__', `\xff\u0001 ${polluting(random)}`])}`,
    ],
    ['Message-ID', ` <${random.between(0, 1e9)}@${random.pick(['evil.test', '__proto__', 'a>b'])}>`],
    ['X-Spam-Score', ` ${random.pick(['-99', '1e999', 'NaN', '__proto__'])}`],
    ['Received', ' from __proto__ by constructor; Thu, 1 Jan 1970 00:00:00 +0000'],
    ['__proto__', ' x'],
    ['constructor', ` ${polluting(random)}`],
    ['List-Unsubscribe', ` <https://${domainOf(random)}/${polluting(random)}>`],
  ];
  return all.filter(() => random.chance(0.4));
};
