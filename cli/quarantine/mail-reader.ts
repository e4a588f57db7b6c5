// Reader of a held mail for display. Its author may want to exhaust the reader's memory, so it is measured
// before it is parsed: a parser's memory grows with parts and lines, of which a small mail can have a great many.

import PostalMime, {type Attachment, decodeWords} from 'postal-mime';
import {readUpTo} from '../command-line/read-up-to.ts';
import {htmlOf} from './html-charset.ts';
import {htmlText} from './html-text.ts';

export interface MailContents {
  /** As received and in that order, unfolded and decoded. Hostile text. */
  headers: {name: string; value: string}[];
  attachments: {filename: string | null; content_type: string; size_bytes: number}[];
  /** How the text begins. Hostile text, several lines. */
  preview: string;
  /** Links of HTML that the preview does not show, as `click → https://example.com/`. Hostile text. */
  links: string[];
  /** Why parts of the mail are missing here. */
  limitation?: string;
}

const maxBytes = 32 * 1024 * 1024;
const maxPartLines = 1000;
const maxHeaderBytes = 256 * 1024;
const previewLines = 20;
const previewCharacters = 2000;
const maxLinks = 20;

export const readMail = async (body: AsyncIterable<Buffer>): Promise<MailContents> => {
  const bytes = await readUpTo(body, maxBytes);
  const excess = excessOf(bytes);
  if (excess !== undefined) return readHeaders(bytes, `${excess}: only its headers are shown`);

  try {
    const parser = new PostalMime({maxNestingDepth: 50, maxRfc822NestingDepth: 3, maxHeadersSize: maxHeaderBytes});
    const mail = await parser.parse(bytes);
    const html = htmlText(htmlOf(parser) ?? mail.html ?? '');
    const preview = beginning(mail.text ?? html.text);
    return {
      headers: mail.headers.map(decoded),
      attachments: mail.attachments.map(described),
      preview,
      links: firstLinks(html.links.filter(link => !preview.includes(link))),
      ...(html.isCut && {limitation: 'the HTML is longer than 256 KiB: links behind that are not shown'}),
    };
  } catch {
    return readHeaders(bytes, 'the mail is built in a way that cannot be taken apart: only its headers are shown');
  }
};

const readHeaders = async (bytes: Buffer, limitation: string): Promise<MailContents> => {
  const {headers} = await PostalMime.parse(headerBlock(bytes));
  return {headers: headers.map(decoded), attachments: [], preview: '', links: [], limitation};
};

const excessOf = (bytes: Buffer): string | undefined => {
  if (bytes.length > maxBytes) return 'the mail is larger than 32 MiB';
  const maxLines = maxLinesOf(bytes.length);
  if (occurrences(bytes, '\n', maxLines) > maxLines) return 'the mail has more lines than a mail of its size should';
  return occurrences(bytes, '\n--', maxPartLines) > maxPartLines ? 'the mail has more than 1,000 part boundaries' : undefined;
};

/** Attachments may be as long as base64 makes them, at no less than 64 characters a line (RFC 2045 allows 76). */
const maxLinesOf = (bytes: number): number => Math.min(200_000, 50_000 + bytes / 64);

/** Stops counting one above `limit`. */
const occurrences = (bytes: Buffer, text: string, limit: number): number => {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1 && count <= limit; at = bytes.indexOf(text, at + text.length)) count += 1;
  return count;
};

/** Up to the first empty line, or as many whole lines as the limit allows. */
const headerBlock = (bytes: Buffer): Buffer => {
  const ends = [bytes.indexOf('\r\n\r\n'), bytes.indexOf('\n\n')].filter(at => at !== -1);
  const block = bytes.subarray(0, Math.min(bytes.length, ...ends));
  return block.length <= maxHeaderBytes ? block : block.subarray(0, block.lastIndexOf('\n', maxHeaderBytes) + 1);
};

/** Encoded words (RFC 2047) become text; raw UTF-8 (RFC 6532) is text already. */
const decoded = ({originalKey, value}: {originalKey: string; value: string}) => ({name: originalKey, value: decodeWords(value)});

const described = ({filename, mimeType, content}: Attachment) => ({
  filename,
  content_type: mimeType,
  size_bytes: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
});

const beginning = (text: string): string => {
  const lines = text
    .slice(0, previewCharacters)
    .replace(/\r\n?/g, '\n')
    .replace(/\n\s*\n\s*/g, '\n\n')
    .trim()
    .split('\n');
  const isWhole = text.length <= previewCharacters && lines.length <= previewLines;
  return [...lines.slice(0, previewLines), ...(isWhole ? [] : ['…'])].join('\n');
};

const firstLinks = (links: readonly string[]): string[] => {
  const rest = links.length - maxLinks;
  return [...links.slice(0, maxLinks), ...(rest > 0 ? [`… and ${rest} more`] : [])];
};
