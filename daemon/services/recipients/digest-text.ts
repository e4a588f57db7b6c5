// Text of digests: the subject, a part of plain text and one of HTML. Everything from a mail is hostile: it may neither end a line, nor
// become markup, nor a link.

import {ascending} from '../../../shared/collections.ts';
import type {DigestSettings} from '../../../shared/digest.ts';
import type {DigestLanguage} from '../../../shared/digest-rules.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import type {Digest} from './digest-model.ts';
import type {RecipientText} from './recipient-text.ts';
import {german} from './text-de.ts';
import {english} from './text-en.ts';

export interface DigestParts {
  subject: string;
  text: string;
  html: string;
}

export const textIn: Record<DigestLanguage, RecipientText> = {en: english, de: german};

interface Shown {
  from: string;
  subject: string;
  held: string;
  action: string;
  url: string;
}

const maxChars = 200;

/** `url`: the base of the links. `isBare`: without texts of mails. */
export const digestParts = (digest: Digest, settings: DigestSettings, url: string, isBare = false): DigestParts => {
  const say = textIn[settings.language];
  const mails = digest.mails
    .toSorted((one, other) => ascending(other.arrived_at, one.arrived_at))
    .map((mail): Shown => {
      const {from, sender, subject, reason, arrived_at, action, token} = mail;
      return {
        from: isBare ? '' : unlinked(shown(from?.join(', ') || sender)) || say.nobody,
        subject: isBare ? say.notShown : unlinked(shown(subject)) || say.noSubject,
        held: say.held(say.moment(new Date(arrived_at), settings.timezone), reason),
        action: action === 'release' ? say.seeOrRelease : say.seeOrRequest,
        url: `${url}/m/${token}`,
      };
    });
  const words = {
    subject: say.digestSubject(mails.length),
    first: say.digestFirst(mails.length, shown(digest.mailbox)),
    last: digest.others > 0 ? `${say.digestOthers(digest.others)} ${say.digestLast}` : say.digestLast,
  };
  return {subject: words.subject, text: textPart(words, mails), html: htmlPart(words, mails, settings.language)};
};

type Words = Record<'subject' | 'first' | 'last', string>;

const textPart = ({first, last}: Words, mails: readonly Shown[]): string =>
  [
    first,
    ...mails.map(mail => [mail.subject, ...(mail.from ? [mail.from] : []), mail.held, `${mail.action}:`, mail.url].join('\n')),
    last,
  ]
    .join('\n\n')
    .concat('\n');

const htmlPart = ({subject, first, last}: Words, mails: readonly Shown[], language: DigestLanguage): string => `<!DOCTYPE html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font-family: sans-serif; line-height: 1.4; max-width: 40em">
<p>${escaped(first)}</p>
${mails.map(htmlOf).join('\n')}
<p>${escaped(last)}</p>
</body>
</html>
`;

const htmlOf = (mail: Shown): string => `<div style="border-top: 1px solid #767676; padding: 0.6em 0; overflow-wrap: anywhere">
<div><strong>${escaped(mail.subject)}</strong></div>
<div>${escaped(mail.from)}</div>
<div style="color: #595959">${escaped(mail.held)}</div>
<div><a href="${escaped(mail.url)}">${escaped(mail.action)}</a></div>
</div>`;

const escapes: Readonly<Record<string, string>> = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'};

export const escaped = (text: string): string => text.replace(/[&<>"']/g, char => escapes[char] ?? '');

/** One line of at most 200 characters. */
export const shown = (text: string): string => {
  const chars = [...safeLine(text).trim()];
  return chars.length > maxChars ? `${chars.slice(0, maxChars - 1).join('')}…` : chars.join('');
};

/**
 * Mail programs make links of addresses in a text, and these would seem to come from whoever sends the digest. A space of no width behind
 * each dot, slash, colon and at prevents that, and is not seen.
 */
const unlinked = (text: string): string => text.replace(/[.:/@\uff0e\u3002\uff61](?=\S)/g, '$&\u200b');
