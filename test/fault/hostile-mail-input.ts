// Mails of strangers who know how mail is read: each part of them is one that some parser has stumbled over.
import {gzipSync} from 'node:zlib';
import {
  arcFields,
  authorFields,
  contentFields,
  domainOf,
  type Field,
  fieldsIn,
  floodField,
  otherFields,
  resultsFields,
  signatureFields,
} from './hostile-mail-fields.ts';
import {reportOf} from './hostile-report-input.ts';
import type {Random} from './random.ts';

export interface HostileMail {
  sender: string;
  /** MAIL parameters. */
  parameters: string;
  /** Local part of the recipient. */
  recipient: string;
  fields: Field[];
  /** As Latin-1, so that every byte can be in it. */
  body: string;
}

const senders = [
  '',
  'a..b@docomo.test',
  'ab.@evil.test',
  '"odd user"@evil.test',
  '"a@b"@evil.test',
  'a@foo_bar.test',
  '__proto__@__proto__',
  'constructor@constructor.prototype',
  'SRS0=x=y=bank.test=a@evil.test',
  '<a@bank.test',
  'a@bank.test>,<b@evil.test',
  `${'a'.repeat(64)}@${'b.'.repeat(90)}test`,
  'a@[127.0.0.1]',
  '%{d}@%{i}.evil.test',
];

const recipients = ['ben', 'ben', 'ben', '"odd ben"', 'b..en', '__proto__', 'constructor', 'ben+tag', 'b%x'];
export const reportRecipient = 'dmarc';

export const hostileMail = (random: Random): HostileMail => {
  if (random.chance(0.06)) return reportMail(random);
  const groups: Field[][] = [resultsFields, arcFields, signatureFields, authorFields, otherFields, contentFields]
    .filter(() => random.chance(0.85))
    .map(fieldsOf => fieldsOf(random));
  if (random.chance(0.02)) groups.splice(random.between(0, groups.length), 0, [floodField(random)]);
  const fields = groups.flat();
  if (random.chance(0.005)) fields.push(...Array.from({length: 3000}, (_, n): Field => [`X-${n}`, ' x']));
  return {
    ...envelopeOf(random),
    recipient: random.pick(recipients),
    fields,
    body: bodyOf(random),
  };
};

const envelopeOf = (random: Random): Pick<HostileMail, 'sender' | 'parameters'> => ({
  sender: random.pick([() => 'x@good.test', () => `x@${domainOf(random)}`, () => random.pick(senders)])(),
  parameters: random.chance(0.9) ? '' : random.pick([' SMTPUTF8', ' BODY=8BITMIME SMTPUTF8', ' SIZE=1', ' __proto__=1']),
});

/** From a domain that is known and one that is not: they have other limits. */
const reportMail = (random: Random): HostileMail => {
  const {head, body} = reportOf(random);
  const fields = fieldsIn(head);
  return {
    ...envelopeOf(random),
    recipient: reportRecipient,
    fields: random.chance(0.3) ? [...arcFields(random), ...signatureFields(random), ...fields] : fields,
    body,
  };
};

const part = (head: string, content: string) => `--x\r\n${head}\r\n\r\n${content}\r\n`;
const packed = gzipSync('a packed text').toString('base64');

const bodyOf = (random: Random): string => {
  const kind = random.next();
  if (kind < 0.4) return 'hello\r\n';
  if (kind < 0.5)
    return part('Content-Type: text/html; charset=__proto__', `<meta charset="constructor"><a href="${'x'.repeat(900)}">`);
  if (kind < 0.6) return `${part('Content-Transfer-Encoding: base64', packed.slice(0, random.between(1, 20)))}--x--\r\n`;
  if (kind < 0.7)
    return part(
      "Content-Disposition: attachment; __proto__*0*=utf-8''x; filename*0*=utf-8''%ff",
      random.pick(['=', '=4', 'x=\r\n=']),
    );
  if (kind < 0.75) return tree(random.pick([10, 200]));
  if (kind < 0.77) return part('', 'x').repeat(random.pick([50, 3000]));
  if (kind < 0.8) return part('Content-Type: message/rfc822', 'Content-Type: message/rfc822\r\n\r\n'.repeat(200));
  if (kind < 0.81) return `${'x'.repeat(900)}\r\n`.repeat(500);
  if (kind < 0.9)
    return `${random
      .bytes(random.between(0, 300))
      .toString('latin1')
      .replace(/[\r\n\0]/g, ' ')}\r\n`;
  return '';
};

/** Parts within parts; the boundaries of the inner ones begin with those of the outer ones. */
const tree = (depth: number): string =>
  Array.from({length: depth}, (_, n) => `--x${n || ''}\r\nContent-Type: multipart/mixed; boundary=x${n + 1}\r\n\r\n`).join('');
