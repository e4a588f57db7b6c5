// HTML that says its charset itself, as `<meta charset="windows-1251">`. The parser of mails decodes by the header fields of a part alone,
// so such a part is decoded again, from the bytes that the parser keeps in members that it does not declare.
import type PostalMime from 'postal-mime';
import {hasOwn} from '../../shared/has-own.ts';
import {htmlTokens, type Tag} from './html-tokens.ts';

interface Part {
  childNodes: Part[];
  content: ArrayBuffer | null;
  contentType: {parsed: {value: string; params: Record<string, string>}};
  contentDisposition: {parsed: {value: string}};
  /** Of a mail within the mail. */
  subMessage?: {html?: string};
}

/** The HTML of a parsed mail; undefined when no part of it says its charset itself. */
export const htmlOf = (parser: PostalMime): string | undefined => {
  const {root} = parser as unknown as {root?: Part};
  const parts = root ? htmlParts(root) : [];
  return parts.some(({charset}) => charset !== undefined) ? parts.map(({html}) => html).join('<br>') : undefined;
};

/** `charset`: as the HTML says, where the header fields say nothing. */
interface HtmlPart {
  html: string;
  charset?: string | undefined;
}

const htmlParts = (part: Part): HtmlPart[] => [...ownHtml(part), ...part.childNodes.flatMap(htmlParts)];

const ownHtml = ({content, contentType, contentDisposition, subMessage}: Part): HtmlPart[] => {
  const {value, params} = contentType.parsed;
  if (subMessage?.html !== undefined) return [{html: subMessage.html}];
  if (!content || value !== 'text/html' || contentDisposition.parsed.value === 'attachment') return [];
  const bytes = Buffer.from(content);
  const given = Object.hasOwn(params, 'charset') ? params.charset : undefined;
  const charset = given === undefined ? charsetIn(bytes) : undefined;
  const decoder = decoderOf(given ?? charset ?? 'utf-8') ?? new TextDecoder('windows-1252');
  return [{html: decoder.decode(bytes), charset}];
};

/** HTML standard, section 13.2.3.2: within the first 1024 bytes. */
const charsetIn = (bytes: Buffer): string | undefined => {
  for (const token of htmlTokens(bytes.subarray(0, 1024).toString('latin1'))) {
    const isMeta = typeof token === 'object' && hasOwn(token, 'name') && token.name === 'meta';
    const label = isMeta ? charsetOf(token) : undefined;
    if (label !== undefined) return label;
  }
  return undefined;
};

const charsetOf = ({attributes}: Tag): string | undefined => {
  const charset = attributes.get('charset');
  if (charset !== undefined) return known(charset);
  if (attributes.get('http-equiv')?.toLowerCase() !== 'content-type') return undefined;
  return known(/charset[\t\n\f\r ]*=[\t\n\f\r "']*([^\t\n\f\r "';]+)/i.exec(attributes.get('content') ?? '')?.[1] ?? '');
};

/** UTF-16 cannot be meant by bytes in which this was found. Undefined for an unknown name. */
const known = (label: string): string | undefined => {
  const encoding = decoderOf(label)?.encoding;
  return encoding?.startsWith('utf-16') ? 'utf-8' : encoding;
};

const decoderOf = (label: string): InstanceType<typeof TextDecoder> | undefined => {
  try {
    return new TextDecoder(label.trim());
  } catch {
    return undefined;
  }
};
