import {Readable} from 'node:stream';
import test from 'ava';
import {parseFeedback} from '../../../../daemon/mail/readers/report-parser.ts';
import {receivedXml, yesterday} from '../../../helpers/received-report.ts';

/** In small pieces, which may end anywhere. */
const parse = async (xml: string) => {
  const bytes = Buffer.from(xml);
  const pieces = Array.from({length: Math.ceil(bytes.length / 97)}, (_, n) => bytes.subarray(n * 97, (n + 1) * 97));
  return parseFeedback(Readable.from(pieces));
};

test('a report in the form of RFC 7489 is summed up by address and domain in From', async t => {
  const report = await parse(
    receivedXml({
      rows: [
        {ip: '192.0.2.1', count: 3},
        {ip: '192.0.2.1', count: 2, spf: 'fail', spfResult: 'pass'},
        {ip: '192.0.2.1', count: 1, from: 'News.Example.com', dkim: 'fail'},
        {ip: '2001:DB8:0:0::1', count: 4, spf: 'fail', dkim: 'fail', dkimResult: 'neutral'},
      ],
    }),
  );

  t.deepEqual(report, {
    report_id: '1',
    policy_domain: 'example.com',
    begin: yesterday,
    end: yesterday + 86_399,
    bad_rows: 0,
    sources: [
      {
        ...{header_from: 'example.com', source_ip: '192.0.2.1', count: 5, passed: 5},
        ...{spf_passed: 5, spf_aligned: 3, dkim_passed: 5, dkim_aligned: 5},
      },
      {
        ...{header_from: 'example.com', source_ip: '2001:db8::1', count: 4, passed: 0},
        ...{spf_passed: 0, spf_aligned: 0, dkim_passed: 0, dkim_aligned: 0},
      },
      {
        ...{header_from: 'news.example.com', source_ip: '192.0.2.1', count: 1, passed: 1},
        ...{spf_passed: 1, spf_aligned: 1, dkim_passed: 0, dkim_aligned: 0},
      },
    ],
  });
});

/** Made by hand after the elements of RFC 9990: a namespace with a prefix, extensions, several results, reasons. */
const newForm = `<?xml version="1.0"?>
<!-- a comment -->
<d:feedback xmlns:d="urn:ietf:params:xml:ns:dmarc-2.0" xmlns:x="urn:example">
 <d:version>1.0</d:version>
 <d:report_metadata><d:org_name>Mail &amp; Sons</d:org_name><d:email>r@mail.test</d:email>
  <d:extra_contact_info>https://mail.test</d:extra_contact_info><d:report_id> 3v98abbp8ya9n3va8yr8oa3ya<![CDATA[ & more]]> </d:report_id>
  <d:date_range><d:begin>${yesterday}</d:begin><d:end>${yesterday + 86_399}</d:end></d:date_range>
  <d:generator>Example DMARC Aggregate Reporter v1.2</d:generator></d:report_metadata>
 <d:policy_published><d:domain>example.com</d:domain><d:p>quarantine</d:p><d:np>none</d:np><d:testing>n</d:testing>
  <d:discovery_method>treewalk</d:discovery_method></d:policy_published>
 <d:extension><x:p>feedback</x:p></d:extension>
 <d:record>
  <d:row><d:source_ip>192.0.2.123</d:source_ip><d:count>123</d:count>
   <d:policy_evaluated><d:disposition>pass</d:disposition><d:dkim>pass</d:dkim><d:spf>fail</d:spf>
    <d:reason><d:type>local_policy</d:type><d:comment>arc=pass</d:comment></d:reason></d:policy_evaluated></d:row>
  <d:identifiers><d:envelope_from>example.com</d:envelope_from><d:header_from>example.com</d:header_from></d:identifiers>
  <d:auth_results>
   <d:dkim><d:domain>list.test</d:domain><d:selector>a</d:selector><d:result>fail</d:result></d:dkim>
   <d:dkim><d:domain>example.com</d:domain><d:selector>b</d:selector><d:result>pass</d:result><d:human_result>fine</d:human_result></d:dkim>
   <d:spf><d:domain>list.test</d:domain><d:scope>mfrom</d:scope><d:result>pass</d:result></d:spf></d:auth_results>
 </d:record>
</d:feedback>`;

test('a report in the form of RFC 9990 is read, whatever it has beside what is needed', async t => {
  const {report_id, sources} = await parse(newForm);

  t.is(report_id, '3v98abbp8ya9n3va8yr8oa3ya & more');
  t.deepEqual(sources, [
    {
      ...{header_from: 'example.com', source_ip: '192.0.2.123', count: 123, passed: 123},
      ...{spf_passed: 123, spf_aligned: 0, dkim_passed: 123, dkim_aligned: 123},
    },
  ]);
});

const nested = `<feedback>${'<a>'.repeat(100_000)}`;
const manyAttributes = `<feedback ${Array.from({length: 1000}, (_, n) => `a${n}=""`).join(' ')}/>`;
const entities = '<!DOCTYPE feedback [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><feedback>&b;</feedback>';
const external = '<!DOCTYPE feedback SYSTEM "file:///etc/passwd"><feedback/>';
const hugeName = `<feedback><${'a'.repeat(200_000)}/></feedback>`;

const parameters = '<!DOCTYPE feedback [<!ELEMENT feedback ANY> %other;]><feedback/>';

const refused: [what: string, xml: string, why: RegExp][] = [
  ['entities that grow', entities, /document type/],
  ['a document type elsewhere', external, /document type/],
  ['a document type with a parameter', parameters, /document type/],
  ['an unknown entity', '<feedback>&unknown;</feedback>', /it is no XML/],
  ['deep nesting', nested, /nested too deeply/],
  ['many attributes', manyAttributes, /too many attributes/],
  ['a name without end', hugeName, /it is no XML/],
  ['half a report', receivedXml().slice(0, -20), /it is no XML/],
  ['no XML at all', 'hello', /it is no XML/],
  ['nothing', '', /has no report_id/],
  ['HTML', '<html><body>hello</body></html>', /another kind of XML/],
  ['no id', receivedXml({id: ' '}), /has no report_id/],
  ['no policy domain', receivedXml({domain: 'nothing'}), /no policy domain/],
  ['a date in words', receivedXml({begin: 'yesterday'}), /begin is not a whole number/],
  ['a negative count', receivedXml({rows: [{ip: '192.0.2.1', count: -1}]}), /count is not a whole number/],
  ['more mails than there are', receivedXml({rows: [{ip: '192.0.2.1', count: 999_999_999_999}]}), /counts more than/],
  ['an address that is none', receivedXml({rows: [{ip: '192.0.2.1/24'}]}), /no address in source_ip/],
];

test('a row whose From has no domain is left out, and the others are read', async t => {
  const rows = ['', 'localhost', 'a b', '<x>', 'example.com'].map(from => ({ip: '192.0.2.1', from: from.replace('<', '&lt;')}));

  const {sources} = await parse(receivedXml({rows}));

  t.deepEqual(
    sources.map(({header_from, count}) => [header_from, count]),
    [['example.com', 1]],
  );
});

/** Of nothing but `mark`, as large as a report of 20,000 rows. */
const floodOf = (mark: string): string =>
  receivedXml({rows: []}).replace('</feedback>', `${mark.repeat(Math.ceil(10_000_000 / mark.length))}</feedback>`);

for (const mark of ['<a/>', '<aaaaaaa/>', '<a b="" c="" d=""/>', '<?a?>', '<!-- -->', '<record/>'])
  test(`a report that is made of ${mark} again and again is refused long before its end`, async t => {
    let pieces = 0;
    const bytes = Buffer.from(floodOf(mark));
    const feed = async function* () {
      for (let at = 0; at < bytes.length; at += 10_000, pieces += 1) yield bytes.subarray(at, at + 10_000);
    };

    await t.throwsAsync(parseFeedback(feed()), {message: 'it is made of too many tags'});
    t.true(pieces < 100, String(pieces));
  });

test('a report of thousands of rows without a blank in it is not one of too many tags', async t => {
  const rows = Array.from({length: 10_000}, (_, n) => ({ip: `10.0.${n >> 8}.${n & 255}`, from: 'a.b'}));

  t.is((await parse(receivedXml({rows}).replace(/\s+</g, '<'))).sources.length, 10_000);
});

test('what is no report is refused at its first element', async t => {
  let pieces = 0;
  const feed = async function* () {
    for (; pieces < 100; pieces += 1) yield Buffer.from(pieces === 0 ? '<html>' : '<p>hello</p>');
  };

  await t.throwsAsync(parseFeedback(feed()), {message: 'it is another kind of XML'});
  t.is(pieces, 0);
});

test('rows that cannot be read are left out and counted, and the others are read', async t => {
  const bad = [{ip: '192.0.2.1/24'}, {ip: '192.0.2.1', count: -1}, {ip: '192.0.2.1', count: 999_999_999_999}, {ip: ''}];
  const rows = [...bad.slice(0, 2), {ip: '192.0.2.2', count: 3}, ...bad.slice(2), {ip: '192.0.2.3'}];

  const {sources, bad_rows} = await parse(receivedXml({rows}));

  t.deepEqual(
    sources.map(({source_ip, count}) => [source_ip, count]),
    [
      ['192.0.2.2', 3],
      ['192.0.2.3', 1],
    ],
  );
  t.is(bad_rows, 4);
});

test('a row with which a report counts more mails than there are is left out', async t => {
  const rows = [600_000_000, 600_000_000, 400_000_000].map(count => ({ip: '192.0.2.1', count}));

  const {sources, bad_rows} = await parse(receivedXml({rows}));

  t.deepEqual([sources[0]?.count, bad_rows], [1_000_000_000, 1]);
});

test('numbers may have a fraction of zero, and no other', async t => {
  const {begin, end, sources} = await parse(
    receivedXml({begin: `${yesterday}.0`, end: `${yesterday + 86_399}.000`}).replace('<count>1<', '<count>2.0<'),
  );

  t.deepEqual([begin, end, sources[0]?.count], [yesterday, yesterday + 86_399, 2]);
  await t.throwsAsync(parse(receivedXml({begin: `${yesterday}.5`})), {message: /begin is not a whole number/});
});

test('a document type without entities is no obstacle', async t => {
  const declared = (type: string) => receivedXml({id: 'one'}).replace('<feedback>', `${type}<feedback>`);

  for (const type of ['<!DOCTYPE feedback>', '<!DOCTYPE feedback [<!ELEMENT feedback ANY>]>'])
    t.is((await parse(declared(type))).report_id, 'one', type);
});

for (const [what, xml, why] of refused)
  test(`a report with ${what} is refused, with the reason`, async t => {
    await t.throwsAsync(parse(xml), {message: why});
  });

test('a report of more sources than fit is refused, however many rows each of them has', async t => {
  const rows = Array.from({length: 20}, (_, n) => ({ip: `192.0.2.${n % 10}`, from: n < 10 ? 'example.com' : 'other.test'}));
  const parseWithin = async (maxSources: number) =>
    parseFeedback(Readable.from([Buffer.from(receivedXml({rows: [...rows, ...rows]}))]), {maxSources});

  t.is((await parseWithin(20)).sources.length, 20);
  await t.throwsAsync(parseWithin(19), {message: 'it has more than 19 sources'});
});

const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const inEncoding = (encoding: string): string => receivedXml({id: 'Größe €'}).replace('UTF-8', encoding);

const encodings: [what: string, bytes: Buffer, id?: string][] = [
  ['UTF-16, the low byte first', Buffer.from(`\ufeff${inEncoding('UTF-16')}`, 'utf16le')],
  ['UTF-16, the high byte first', swapped(`\ufeff${inEncoding('utf-16')}`)],
  ['UTF-16 without a mark', Buffer.from(inEncoding('UTF-16'), 'utf16le')],
  ['UTF-16 without a mark, the high byte first', swapped(inEncoding('UTF-16'))],
  ['UTF-8 with a mark', Buffer.from(`\ufeff${inEncoding('UTF-8')}`)],
  ['UTF-8 that says it is UTF-16', Buffer.from(inEncoding('utf-16'))],
  ['ISO 8859-1', Buffer.from(inEncoding('ISO-8859-1').replace('€', '-'), 'latin1'), 'Größe -'],
  ['Windows-1252', Buffer.from(inEncoding('windows-1252').replace('€', '\x80'), 'latin1')],
  ['an encoding that nobody knows', Buffer.from(inEncoding('x-unknown').replace('Größe €', 'plain')), 'plain'],
];

for (const [what, bytes, id = 'Größe €'] of encodings)
  test(`a report in ${what} is read`, async t => {
    const odd = Array.from({length: Math.ceil(bytes.length / 401)}, (_, n) => bytes.subarray(n * 401, (n + 1) * 401));

    t.is((await parseFeedback(Readable.from(odd))).report_id, id);
  });
