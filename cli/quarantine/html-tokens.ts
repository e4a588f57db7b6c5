// Reader of HTML, as far as its text and its links go. Browsers read attributes in quotes past `>`, and a mail may count on a reader that
// does not: so tags are read as the HTML standard says (section 13.2.5). One pass, linear in the size.
import {hasOwn} from '../../shared/has-own.ts';

export interface Tag {
  /** In lower case. */
  name: string;
  isEnd: boolean;
  /** Decoded, names in lower case; of several of one name the first. */
  attributes: ReadonlyMap<string, string>;
}

/** What is not shown: a comment, or the content of an element such as `style`. */
export interface Hidden {
  hidden: string;
}

/** Elements whose content is no markup, and no text that is shown. */
const rawElements = ['style', 'script', 'title', 'xmp', 'iframe', 'noembed', 'noframes'];

/** Text, decoded, tags, and what is not shown, in their order. A tag that does not end is left out, as browsers do. */
export function* htmlTokens(html: string): Generator<string | Tag | Hidden> {
  // Only ASCII: other capitals may become two letters, and then the places would differ.
  const lower = html.replace(/[A-Z]+/g, letters => letters.toLowerCase());
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at);
    const textEnd = open === -1 ? html.length : open;
    if (textEnd > at) yield decoded(html.slice(at, textEnd));
    if (open === -1) return;
    const {token, end} = markupAt(html, open);
    if (token !== undefined) yield token;
    const isRaw = typeof token === 'object' && hasOwn(token, 'name') && !token.isEnd && rawElements.includes(token.name);
    at = isRaw ? before(lower, `</${token.name}`, end) : end;
    if (at > end) yield {hidden: html.slice(end, at)};
  }
}

/** The tags in what is not shown, wherever they are. */
export function* hiddenTags(html: string): Generator<string | Tag> {
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at);
    const textEnd = open === -1 ? html.length : open;
    if (textEnd > at) yield decoded(html.slice(at, textEnd));
    if (open === -1) return;
    const isTag = tagStart.test(html.slice(open, open + 3));
    const {token, end} = isTag ? tagAt(html, open) : {token: undefined, end: open + 1};
    if (token !== undefined) yield token;
    at = end;
  }
}

const tagStart = /^<\/?[a-z]/i;

/** What begins with `<`. */
const markupAt = (html: string, open: number): {token?: string | Tag | Hidden; end: number} => {
  const start = html.slice(open, open + 4);
  if (start === '<!--') return commentAt(html, open);
  if (tagStart.test(start)) return tagAt(html, open);
  // Comments of other kinds.
  if (/^<[!?/]/.test(start)) return {end: after(html, '>', open)};
  return {token: '<', end: open + 1};
};

/** Browsers take `--!>` for an end as well. */
const commentAt = (html: string, open: number): {token: Hidden; end: number} => {
  const ends = /--!?>/g;
  ends.lastIndex = open + 2;
  const end = ends.exec(html) ? ends.lastIndex : html.length;
  return {token: {hidden: html.slice(open + 4, end)}, end};
};

const after = (text: string, end: string, from: number): number => {
  const found = text.indexOf(end, from);
  return found === -1 ? text.length : found + end.length;
};

const before = (text: string, end: string, from: number): number => {
  const found = text.indexOf(end, from);
  return found === -1 ? text.length : found;
};

const tagAt = (html: string, open: number): {token?: Tag; end: number} => {
  const isEnd = html[open + 1] === '/';
  const reader = readerOf(html, open + (isEnd ? 2 : 1));
  const name = reader.take(/[^\t\n\f\r />]*/y).toLowerCase();
  const attributes = new Map<string, string>();
  for (;;) {
    reader.take(/[\t\n\f\r /]*/y);
    const next = reader.peek();
    if (next === '') return {end: html.length};
    if (next === '>') return {token: {name, isEnd, attributes}, end: reader.at() + 1};
    const attribute = reader.take(/=?[^\t\n\f\r />=]*/y).toLowerCase();
    const value = valueAt(reader);
    if (!attributes.has(attribute)) attributes.set(attribute, decoded(value));
  }
};

const valueAt = (reader: Reader): string => {
  if (reader.take(/[\t\n\f\r ]*=[\t\n\f\r ]*/y) === '') return '';
  const quote = reader.peek();
  if (quote === '"') return reader.take(/"[^"]*"?/y).replaceAll('"', '');
  if (quote === "'") return reader.take(/'[^']*'?/y).replaceAll("'", '');
  return reader.take(/[^\t\n\f\r >]*/y);
};

type Reader = ReturnType<typeof readerOf>;

const readerOf = (text: string, start: number) => {
  let at = start;
  return {
    at: () => at,
    /** Empty at the end. */
    peek: () => text.charAt(at),
    /** `pattern` is sticky. */
    take(pattern: RegExp): string {
      pattern.lastIndex = at;
      const found = pattern.exec(text)?.[0] ?? '';
      at += found.length;
      return found;
    },
  };
};

const entities = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
  ['colon', ':'],
  ['sol', '/'],
  ['period', '.'],
  ['commat', '@'],
  ['bsol', '\\'],
  ['num', '#'],
  ['quest', '?'],
  ['percnt', '%'],
  ['tab', '\t'],
  ['newline', '\n'],
]);

const decoded = (text: string): string =>
  text.replace(
    /&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{1,8});?/gi,
    (entity, name: string) => entities.get(name.toLowerCase()) ?? numbered(name) ?? entity,
  );

const numbered = (name: string): string | undefined => {
  if (!name.startsWith('#')) return undefined;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
};
