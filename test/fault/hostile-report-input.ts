// Aggregate reports that no receiver would send: bombs, archives with odd names, floods of elements, entities.
import {gzipSync} from 'node:zlib';
import {mailWith, receivedXml} from '../helpers/received-report.ts';
import {archiveOf} from '../helpers/zip-archive.ts';
import type {Random} from './random.ts';

/** The header block of a report mail, without its last line end, and its body. */
export const reportOf = (random: Random): {head: string; body: string} => {
  const {attachment, type, name} = random.pick(reports)(random);
  const mail = mailWith(attachment, {
    from: random.pick(['noreply@good.test', 'noreply@evil.test', '__proto__@__proto__']),
    to: 'dmarc@example.com',
    type: random.chance(0.2) ? `${type}; __proto__*0*=utf-8''x` : type,
    name: name ?? random.pick(['report.xml.gz', '__proto__', '../../x.xml', 'x'.repeat(500)]),
  }).toString('latin1');
  const end = mail.indexOf('\r\n\r\n');
  const body = mail.slice(end + 4);
  return {head: mail.slice(0, end), body: random.chance(0.1) ? body.slice(0, random.between(0, body.length)) : body};
};

interface Attachment {
  attachment: Buffer;
  type: string;
  name?: string;
}

const gzip = (content: string | Buffer): Attachment => ({attachment: gzipSync(content), type: 'application/gzip'});
const zip = (files: Parameters<typeof archiveOf>[0]): Attachment => ({attachment: archiveOf(files), type: 'application/zip'});
const plain = (content: string | Buffer): Attachment => ({
  attachment: Buffer.from(content as string),
  type: 'text/xml',
  name: 'r.xml',
});

/** Packing takes longer than sending: what is large is packed once. */
const once = (make: () => Attachment): (() => Attachment) => {
  let made: Attachment | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

const bombBytes = 4_000_000;
const good = receivedXml();
const inside = (more: string): string => good.replace('</report_metadata>', `${more}</report_metadata>`);

const reports: readonly ((random: Random) => Attachment)[] = [
  random => gzip(receivedXml({id: `r${random.between(0, 999_999)}`, organisation: random.pick(['__proto__', 'Receiver'])})),
  random => gzip(receivedXml({id: '__proto__', rows: [{ip: random.pick(['192.0.2.1', '__proto__', '::1', '']), count: 1e15}]})),
  random => gzip(receivedXml({id: `r${random.between(0, 999_999)}`, begin: random.pick(['1337270400.0', '-1', '1e400', 'x'])})),
  random => gzip(receivedXml({domain: random.pick(['__proto__', 'bank.test', 'a'.repeat(300)])})),
  once(() => gzip(receivedXml({id: 'many', rows: Array.from({length: 2000}, (_, n) => ({ip: `192.0.${n >> 8}.${n & 255}`}))}))),
  once(() => gzip(Buffer.alloc(bombBytes, ' '))),
  once(() => gzip(inside('<a/>'.repeat(bombBytes / 4)))),
  once(() => gzip(inside('<a>'.repeat(bombBytes / 3)))),
  once(() => gzip(inside(`<a ${'b="c" '.repeat(bombBytes / 6)}/>`))),
  once(() => gzip(inside('&amp;'.repeat(bombBytes / 5)))),
  once(() => gzip(inside(`<!--${'-'.repeat(bombBytes)}`))),
  once(() => gzip(gzipSync(gzipSync(Buffer.alloc(bombBytes))))),
  once(() => zip([{path: 'bomb.xml', content: Buffer.alloc(bombBytes, ' ')}])),
  once(() => zip(Array.from({length: 500}, (_, n) => ({path: `__MACOSX/${n}.xml`, content: Buffer.from('x')})))),
  () => zip([{path: '../../../etc/passwd', content: Buffer.from(good)}]),
  () =>
    zip([
      {path: '__proto__', content: Buffer.from('')},
      {path: '\0\xff.xml', content: Buffer.from(good), claimed: 0xffffffff},
    ]),
  random => {
    const {attachment} = zip([{path: 'r.xml', content: Buffer.from(good)}]);
    attachment[random.between(0, attachment.length - 1)] = random.between(0, 255);
    return {attachment, type: 'application/zip'};
  },
  random => ({attachment: gzipSync(good).subarray(0, random.between(0, 300)), type: 'application/gzip'}),
  () => ({attachment: Buffer.concat([gzipSync(good), Buffer.alloc(500, 'x')]), type: 'application/gzip'}),
  () => plain(`<!DOCTYPE x [<!ENTITY a "${'b'.repeat(500)}"><!ENTITY c "${'&a;'.repeat(500)}">]>${inside('&c;'.repeat(500))}`),
  () => plain(`<!DOCTYPE x SYSTEM "file:///etc/passwd" [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x">%p;]>${good}`),
  () => plain(inside('<__proto__><x>1</x><get>1</get></__proto__><constructor><prototype><x>1</x></prototype></constructor>')),
  () => plain(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(good, 'utf16le')])),
  random => plain(random.bytes(random.between(0, 500))),
];
