import {gzipSync} from 'node:zlib';
import test, {type ExecutionContext} from 'ava';
import type {ReadLimits, ReceivedReport, Unreadable} from '../../../../daemon/services/dmarc/received-report.ts';
import {startReaders} from '../../../helpers/readers.ts';
import {contentOf} from '../../../helpers/received-mail.ts';
import {mailWith, receivedXml, reportMailOf} from '../../../helpers/received-report.ts';
import {archiveOf, zipOf} from '../../../helpers/zip-archive.ts';

const limits = {maxUnpackedBytes: 100 * 1024 * 1024, maxCpuMs: 20_000};

/** Reads with the processes of the build that is tested. */
const start = async (t: ExecutionContext, needs: Parameters<typeof startReaders>[1] = {}) => {
  const {readReport} = await startReaders(t, needs);
  return async (mail: Buffer, change: Partial<ReadLimits> = {}) => readReport(contentOf(mail), {...limits, ...change});
};

const idOf = (answer: ReceivedReport | Unreadable): string => ('unreadable' in answer ? answer.unreadable : answer.report_id);

test('a report is read packed by gzip, in a zip archive, as it is, and as the mail itself', async t => {
  const read = await start(t);
  const xml = Buffer.from(receivedXml({id: 'one'}));
  const alone = (type: string, encoding: string, body: string) =>
    Buffer.from(
      `From: a@receiver.test\r\nMIME-Version: 1.0\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`,
    );
  const mails = {
    gzip: mailWith(gzipSync(xml)),
    zip: mailWith(zipOf(xml), {type: 'application/zip', name: 'report.zip'}),
    'a folder first': mailWith(
      archiveOf([
        {path: 'reports/', content: Buffer.alloc(0)},
        {path: 'reports/1.xml', content: xml},
      ]),
    ),
    'a wrong type': mailWith(zipOf(xml), {type: 'application/gzip', name: 'report.gz'}),
    xml: mailWith(xml, {type: 'text/xml', name: 'report.xml'}),
    'a mark of the byte order': mailWith(Buffer.concat([Buffer.from('\ufeff'), xml]), {type: 'text/xml', name: 'report.xml'}),
    'the mail itself': alone('application/gzip', 'base64', gzipSync(xml).toString('base64').replace(/.{76}/g, '$&\r\n')),
    'the text of the mail': alone('text/plain', '8bit', xml.toString()),
  };

  for (const [what, mail] of Object.entries(mails)) t.is(idOf(await read(mail)), 'one', what);
});

test('a mail without a report, or with a broken one, is not read, and it is said why', async t => {
  const read = await start(t);
  const xml = Buffer.from(receivedXml());
  const cases: [mail: Buffer, why: RegExp][] = [
    [Buffer.from('From: a@receiver.test\r\nSubject: hello\r\n\r\nhello\r\n'), /no report attached/],
    [Buffer.alloc(0), /no report attached/],
    [mailWith(gzipSync(xml).subarray(0, 100)), /unexpected end of file/],
    [mailWith(Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(100)])), /./],
    [mailWith(zipOf(xml).subarray(0, 200)), /./],
    [mailWith(zipOf(Buffer.alloc(0)).subarray(-22)), /no report attached/],
    [mailWith(Buffer.from('PK\x03\x04')), /./],
    [mailWith(zipOf(xml, 10)), /./],
  ];

  for (const [mail, why] of cases) t.regex(idOf(await read(mail)), why);
});

test('the reason quotes two hundred characters of a mail at most', async t => {
  const read = await start(t);
  const xml = Buffer.from(receivedXml());
  const reason = idOf(await read(mailWith(zipOf(xml, xml.length, `/${'b'.repeat(50_000)}`))));

  t.regex(reason, /^absolute path: /);
  t.is(reason.length, 200);
});

test('what unpacks to more than 100 MiB, or is packed larger than 10, is not read', async t => {
  const read = await start(t);
  const spaces = Buffer.from(`<feedback>${' '.repeat(110 * 1024 * 1024)}`);
  const packed = mailWith(Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(11 * 1024 * 1024)]));

  t.regex(idOf(await read(mailWith(gzipSync(spaces)))), /larger than \d+ bytes when unpacked/);
  t.regex(idOf(await read(mailWith(zipOf(spaces)))), /larger than \d+ bytes when unpacked/);
  t.regex(idOf(await read(packed)), /larger than 10485760 bytes$/);
  t.regex(idOf(await read(Buffer.alloc(17 * 1024 * 1024))), /^the mail is larger than/);
});

test('a report is read from a mail with more lines than fit into the memory of the process, were each kept by itself', async t => {
  const read = await start(t);
  const mail = reportMailOf({id: 'one'})
    .toString()
    .replace('A report.', `A report.${'\r\n'.repeat(2_000_000)}`);

  t.is(idOf(await read(Buffer.from(mail))), 'one');
});

test('a report that takes too long is given up, and the next one is read', async t => {
  const read = await start(t);
  const rows = Array.from({length: 150_000}, (_, n) => ({ip: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`}));

  t.is(idOf(await read(reportMailOf({rows}), {maxCpuMs: 1})), 'it took too long to read');
  t.is(idOf(await read(reportMailOf({id: 'next'}))), 'next');
});

test('many reports at once are all read, with all their sources', async t => {
  const read = await start(t);
  const rows = Array.from({length: 2500}, (_, n) => ({ip: `10.0.${n >> 8}.${n & 255}`}));

  const answers = await Promise.all(Array.from({length: 12}, async (_, n) => read(reportMailOf({id: `report ${n}`, rows}))));

  t.deepEqual(
    answers.map(answer => [idOf(answer), 'sources' in answer && answer.sources.length]),
    Array.from({length: 12}, (_, n) => [`report ${n}`, 2500]),
  );
});

test('a report that needs too much memory is not read, and the next one is', async t => {
  const read = await start(t, {heapMb: 16});
  const rows = Array.from({length: 60_000}, (_, n) => ({ip: `10.0.${n >> 8}.${n & 255}`}));

  t.is(idOf(await read(reportMailOf({rows}))), 'it needs too much memory to read');
  t.is(idOf(await read(reportMailOf({id: 'next'}))), 'next');
});
