// The Authentication-Results header field (RFC 8601).
import type {MailAuthentication} from '../../../shared/mail-authentication.ts';
import type {HeaderField, ReceivedMail} from '../../services/intake/mail.ts';
import {foldWords} from '../trace-header.ts';

const fieldName = 'Authentication-Results';

/** The field that this node puts under its trace header, folded, with its CRLF. */
export const resultsField = (
  {spf, dkim, dmarc, arc}: MailAuthentication,
  {envelope: {sender}}: Pick<ReceivedMail, 'envelope'>,
  fqdn: string,
): Buffer => {
  const signatures = dkim.length > 0 ? dkim : [{result: 'none', domain: '', selector: ''}];
  const results = [
    [`spf=${spf.result}`, ...property(sender === '' ? 'smtp.helo' : 'smtp.mailfrom', spf.domain)],
    ...signatures.map(({result, domain, selector}) => [
      `dkim=${result}`,
      ...property('header.d', domain),
      ...property('header.s', selector),
    ]),
    [
      `dmarc=${dmarc.result}`,
      ...(dmarc.policy === null ? [] : [`(p=${dmarc.policy})`]),
      ...property('header.from', dmarc.domain),
    ],
    ...(arc.result === 'none' ? [] : [[`arc=${arc.result}`]]),
  ];
  const parts = [[`${fieldName}:`, fqdn], ...results];
  const words = parts.flatMap((part, n) => (n < parts.length - 1 ? [...part.slice(0, -1), `${part.at(-1)};`] : part));
  return Buffer.from(`${foldWords(words)}\r\n`, 'latin1');
};

/** Empty for a value that would need quotes: no domain and no selector of honest mail does. */
const property = (name: string, value: string): string[] => (/^[a-z0-9._-]{1,253}$/i.test(value) ? [`${name}=${value}`] : []);

/** Whether a field claims to be written by one of our hosts. `isOurs` is asked for names in lower case. */
export const claimsToBeOurs = ({name, value}: HeaderField, isOurs: (host: string) => boolean): boolean =>
  name.toLowerCase() === fieldName.toLowerCase() && isOurs(serverIn(value));

/** The first word of the field, in lower case, without quotes and the comments before it (RFC 8601 section 2.2). */
const serverIn = (value: string): string => {
  const rest = value.slice(startOfWord(value));
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(rest)?.[1]?.replace(/\\(.)/gs, '$1');
  const word = quoted ?? /^[^\s;()"]*/.exec(rest)?.[0] ?? '';
  return word.trim().toLowerCase().replace(/\.$/, '');
};

const startOfWord = (value: string): number => {
  let depth = 0;
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at] ?? '';
    if (character === '(') depth += 1;
    else if (character === ')' && depth > 0) depth -= 1;
    else if (character === '\\' && depth > 0) at += 1;
    else if (depth === 0 && !/\s/.test(character)) return at;
  }
  return value.length;
};
