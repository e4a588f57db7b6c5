import {Readable} from 'node:stream';
import test from 'ava';
import {readMail} from '../../../cli/quarantine/mail-reader.ts';

const read = (...parts: (string | Buffer)[]) => readMail(Readable.from([Buffer.concat(parts.map(part => Buffer.from(part)))]));

const headerOf = (headers: {name: string; value: string}[], wanted: string) => headers.find(({name}) => name === wanted)?.value;

test('headers are decoded, whatever their charset, and keep name and order', async t => {
  const {headers} = await read(
    'Subject: =?iso-8859-1?Q?caf=E9?= =?utf-8?B?8J+Zgg==?=\r\n',
    'X-Folded: one\r\n two\r\n',
    'X-Raw: größe\r\n',
    'X-Koi: =?koi8-r?B?8NLJ18XU?=\r\n',
    '\r\ntext\r\n',
  );

  t.deepEqual(
    headers.map(({name}) => name),
    ['Subject', 'X-Folded', 'X-Raw', 'X-Koi'],
  );
  t.is(headerOf(headers, 'Subject'), 'café🙂');
  t.regex(headerOf(headers, 'X-Folded') ?? '', /^one\s+two$/);
  t.is(headerOf(headers, 'X-Raw'), 'größe');
  t.is(headerOf(headers, 'X-Koi'), 'Привет');
});

test('attachments are named with their type and decoded size', async t => {
  const {attachments, preview, limitation} = await read(
    'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
    '--b\r\nContent-Type: text/plain\r\n\r\nHello there\r\n',
    '--b\r\nContent-Type: application/pdf; name="=?utf-8?Q?r=C3=A9sum=C3=A9.pdf?="\r\n',
    'Content-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\nAAECAwQ=\r\n--b--\r\n',
  );

  t.deepEqual(attachments, [{filename: 'résumé.pdf', content_type: 'application/pdf', size_bytes: 5}]);
  t.is(preview, 'Hello there');
  t.is(limitation, undefined);
});

test('the text of a mail that has only HTML is shown without its markup', async t => {
  const {preview} = await read(
    'Content-Type: text/html; charset=utf-8\r\n\r\n',
    '<html><head><title>no</title><style>p {}</style></head><body><p>Dear&nbsp;customer,</p><p>pay &#8364;5 <a href="https://x.example">here</a></p></body>',
  );

  t.regex(preview, /^Dear customer,\n+pay €5 here → https:\/\/x\.example\/$/);
});

test('HTML that says its charset itself is decoded by it, and the header field of the part goes before', async t => {
  const koi = Buffer.from([0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4]);
  const meta = '<html><head><meta charset="koi8-r"></head><body>';
  const httpEquiv = "<!-- x --><META content='text/html; charset = KOI8-R' HTTP-EQUIV=Content-Type>";
  const html = 'Content-Type: text/html\r\n\r\n';

  t.is((await read(html, meta, koi)).preview, 'Привет');
  t.is((await read(html, httpEquiv, koi)).preview, 'Привет');
  t.is((await read('Content-Type: text/html; charset=koi8-r\r\n\r\n', '<meta charset=utf-8>', koi)).preview, 'Привет');
  t.is((await read(html, '<meta charset="utf-16">', 'größe')).preview, 'größe');
  t.is((await read(html, '<meta charset="x-none"><meta charset="koi8-r">', koi)).preview, 'Привет');
  const late = `${' '.repeat(1100)}${meta}`;
  t.notRegex((await read(html, late, koi)).preview, /Привет/, 'browsers look at the beginning only');
});

test('a part in a mail of several, and a mail within the mail, have the charset that they say', async t => {
  const koi = Buffer.from([0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4]);

  const {preview} = await read(
    'Content-Type: multipart/mixed; boundary=b\r\n\r\n',
    ...['--b\r\nContent-Type: text/html\r\n\r\n<meta charset="koi8-r"><p>', koi],
    '\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nContent-Type: text/html\r\n\r\n<p>inner <a href="https://in.example">x</a>',
    '\r\n--b--\r\n',
  );

  t.regex(preview, /^Привет\n\s*inner x → https:\/\/in\.example\/$/);
});

test('beside a text the links of the HTML are listed, each once, and of many the first twenty', async t => {
  const many = Array.from({length: 30}, (_, n) => `<a href="https://${n % 25}.example">one ${n}</a>`).join('');
  const {preview, links} = await read(
    'Content-Type: multipart/alternative; boundary=b\r\n\r\n',
    '--b\r\nContent-Type: text/plain\r\n\r\nHello\r\n',
    `--b\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>${many}\r\n--b--\r\n`,
  );

  t.is(preview, 'Hello');
  t.is(links.length, 21);
  t.deepEqual([links[0], links[19], links[20]], ['one 0 → https://0.example/', 'one 19 → https://19.example/', '… and 5 more']);
});

test('links behind more HTML than is read are said to be missing', async t => {
  const {limitation} = await read(
    'Content-Type: text/html\r\n\r\n',
    `${' '.repeat(2 ** 18)}<a href="https://evil.example">x</a>`,
  );

  t.regex(limitation ?? '', /longer than 256 KiB: links/);
});

test('links that the text shows are listed no second time, and those beyond its end are', async t => {
  const html = `<a href="https://first.example">first</a>${'<p>line</p>'.repeat(50)}<a href="https://last.example">last</a>`;

  const {links} = await read('Content-Type: text/html\r\n\r\n', html);

  t.deepEqual(links, ['last → https://last.example/']);
});

test('a long text is cut', async t => {
  const {preview} = await read('Subject: x\r\n\r\n', 'line\r\n'.repeat(500));

  t.is(preview.split('\n').length, 21);
  t.true(preview.endsWith('\n…'));
});

const hostile: [string, () => Buffer][] = [
  [
    '100,000 parts',
    () => Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\nSubject: x\r\n\r\n${'--b\r\n\r\n'.repeat(100_000)}`),
  ],
  ['16 million lines', () => Buffer.concat([Buffer.from('Subject: x\n\n'), Buffer.alloc(16_000_000, '\n')])],
  ['33 MiB', () => Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(33 * 1024 * 1024, 'a')])],
  ['nesting without end', () => Buffer.from(nested(900))],
  ['a header of 4 MB', () => Buffer.from(`Subject: x\r\nTo: ${'a:b,'.repeat(1_000_000)}\r\n\r\ntext`)],
  ['400,000 headers', () => Buffer.from(`Subject: x\r\n${'A: b\r\n'.repeat(400_000)}\r\ntext`)],
];

const nested = (depth: number) =>
  `Subject: x\r\n${Array.from({length: depth}, (_, at) => `Content-Type: multipart/mixed; boundary=x${at}\r\n\r\n--x${at}\r\n`).join('')}`;

for (const [what, mail] of hostile) {
  test.serial(`a mail of ${what} is shown by its headers, in little memory`, async t => {
    const bytes = mail();
    const before = process.memoryUsage().rss;

    const {headers, limitation} = await read(bytes);

    t.is(headerOf(headers, 'Subject'), 'x');
    t.regex(limitation ?? '', /only its headers are shown/);
    t.true(process.memoryUsage().rss - before < 250_000_000);
  });
}

test('a mail without headers, without text and without anything is read', async t => {
  for (const text of ['', '\r\n', 'Subject: x', 'Subject: x\r\n', '\r\n\r\n\r\n'])
    await t.notThrowsAsync(read(text), JSON.stringify(text));
});

test('an entity with the name of something that every object has is text', async t => {
  const {preview} = await read('Content-Type: text/html\r\n\r\n<p>a &amp; b &constructor; &valueOf;</p>\r\n');

  t.is(preview?.trim(), 'a & b &constructor; &valueOf;');
});
