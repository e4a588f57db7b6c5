import {gzipSync} from 'node:zlib';
import test from 'ava';
import {unpackReport} from '../../../../daemon/mail/readers/report-attachment.ts';
import {parseReport} from '../../../../daemon/mail/readers/report-parser.ts';
import {mailWith, receivedXml} from '../../../helpers/received-report.ts';
import {archiveOf} from '../../../helpers/zip-archive.ts';

const xml = Buffer.from(receivedXml({id: 'one'}));
const html = Buffer.from('<?xml version="1.0"?><!DOCTYPE html><html><body>A report.</body></html>');

const idIn = async (mail: Buffer, maxUnpackedBytes = 1_000_000): Promise<string> =>
  (await parseReport(unpackReport(mail, {maxUnpackedBytes}))).report_id;

/** One mail with all of these attached. */
const mailWithAll = (...attachments: Uint8Array[]): Buffer =>
  Buffer.from(
    [
      ...['From: a@receiver.test', 'Content-Type: multipart/mixed; boundary=part', ''],
      ...attachments.flatMap(one => [
        ...['--part', 'Content-Type: application/octet-stream', 'Content-Transfer-Encoding: base64', ''],
        Buffer.from(one).toString('base64'),
      ]),
      '--part--',
    ].join('\r\n'),
  );

/** The fields that a gzip file may begin with (RFC 1952 section 2.3), all of them. */
const withAllFields = (packed: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 0x1f, 0, 0, 0, 0, 0, 3, 3, 0, 1, 0, 2]),
    Buffer.from('report.xml\0a comment\0\x12\x34'),
    packed.subarray(10),
  ]);

test('a gzip file is read whatever stands behind its end, in several members, and with all fields at its beginning', async t => {
  const packed = gzipSync(xml);
  const halves = [gzipSync(xml.subarray(0, 500)), gzipSync(xml.subarray(500))];
  const files = {
    'bytes behind it': Buffer.concat([packed, Buffer.from('\r\n-- \r\nMimecast')]),
    'zeros behind it': Buffer.concat([packed, Buffer.alloc(512)]),
    'two members': Buffer.concat(halves),
    'all fields': withAllFields(packed),
  };

  for (const [what, file] of Object.entries(files)) t.is(await idIn(mailWith(file)), 'one', what);
});

test('a gzip file that is cut off, or whose name has no end, is refused', async t => {
  const packed = gzipSync(xml);

  await t.throwsAsync(idIn(mailWith(packed.subarray(0, 100))), {message: 'unexpected end of file'});
  await t.throwsAsync(idIn(mailWith(Buffer.from('\x1f\x8b\x08\x08\0\0\0\0\0\x03name', 'latin1'))), {message: /invalid/});
});

test('the report in an archive is found behind other files', async t => {
  const archive = archiveOf([
    {path: 'README.txt', content: Buffer.from('A report.')},
    {path: '__MACOSX/', content: Buffer.alloc(0)},
    {path: '__MACOSX/._report.xml', content: Buffer.from([0, 5, 0x16, 7, 0, 2])},
    {path: 'damaged.xml', content: xml, claimed: 7},
    {path: 'about.html', content: html},
    {path: 'report.xml', content: xml},
  ]);

  t.is(await idIn(mailWith(archive)), 'one');
});

test('the report of a mail is found behind other parts, and behind what only looks like one', async t => {
  const before = {
    'a page': html,
    'a packed picture': gzipSync(Buffer.from('GIF89a')),
    'an archive without a report': archiveOf([{path: 'README.txt', content: Buffer.from('A report.')}]),
    'a broken archive': Buffer.from('PK\x03\x04'),
    'a broken gzip file': gzipSync(xml).subarray(0, 100),
    'half a report': xml.subarray(0, 300),
    'a part that is too large': Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(11 * 1024 * 1024)]),
  };

  for (const [what, part] of Object.entries(before)) t.is(await idIn(mailWithAll(part, gzipSync(xml))), 'one', what);
});

test('the reason is that of the last one when nothing in a mail is a report', async t => {
  await t.throwsAsync(idIn(mailWithAll(Buffer.from('hello'))), {message: 'it has no report attached'});
  await t.throwsAsync(idIn(mailWithAll(html, gzipSync(receivedXml({id: ' '})))), {message: 'the report has no report_id'});
  const large = Buffer.concat([gzipSync(xml), Buffer.alloc(10 * 1024 * 1024)]);
  await t.throwsAsync(idIn(mailWith(large)), {message: 'its report is larger than 10485760 bytes'});
  await t.throwsAsync(idIn(mailWithAll(html, Buffer.from('PK\x03\x04'))), {message: /end of central directory/i});
});

test('a report in UTF-16 and one with a document type are found as they are', async t => {
  const wide = Buffer.from(`\ufeff${xml.toString().replace('UTF-8', 'UTF-16')}`, 'utf16le');
  const typed = Buffer.from(xml.toString().replace(/<\?xml.*?\?>/, '<!DOCTYPE feedback>'));

  t.deepEqual([await idIn(mailWith(wide)), await idIn(mailWith(typed))], ['one', 'one']);
});

test('ten files of a mail are tried, and no more', async t => {
  const readmes = (count: number) => {
    const first = Array.from({length: count}, () => ({path: 'README', content: Buffer.from('A report.')}));
    return archiveOf([...first, {path: 'a.xml', content: xml}]);
  };

  t.is(await idIn(mailWith(readmes(9))), 'one');
  await t.throwsAsync(idIn(mailWith(readmes(10))), {message: /it is no XML/});
  await t.throwsAsync(idIn(mailWithAll(readmes(10), gzipSync(xml))), {message: /it is no XML/});
});

test('a gzip file of more than a hundred members is not read to its end', async t => {
  const members = (count: number) => Buffer.concat([...Array<Buffer>(count).fill(gzipSync('')), gzipSync(xml)]);

  t.is(await idIn(mailWith(members(99))), 'one');
  await t.throwsAsync(idIn(mailWith(members(100))), {message: /no report_id/});
});

test('all that a mail has unpacked counts for what it may unpack to', async t => {
  const page = gzipSync(`<html>${' '.repeat(600)}</html>`);
  const size = xml.length;

  t.is(await idIn(mailWithAll(page, gzipSync(xml)), size + 613), 'one');
  await t.throwsAsync(idIn(mailWithAll(page, gzipSync(xml)), size + 612), {message: /larger than \d+ bytes when unpacked/});
  await t.throwsAsync(idIn(mailWith(gzipSync(xml)), size - 1), {message: /larger than \d+ bytes when unpacked/});
  await t.throwsAsync(idIn(mailWith(archiveOf([{path: 'a.xml', content: xml}])), size - 1), {message: /when unpacked/});
});
