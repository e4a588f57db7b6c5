// Reader of the header field From. Mail programs disagree about malformed fields, and show one address while another one is checked:
// this reader finds what any of them may show, and says where that cannot be told. One pass, linear in the size.
import {decodeWords} from 'postal-mime';
import {canonicalMailDomain} from '../../../shared/domain-name.ts';
import {comparableAddress} from '../../../shared/mail-address.ts';
import {headerValues, unfoldHeader} from './header-block.ts';
import type {HeaderField} from './mail.ts';

interface FieldAddress {
  /** In quotation marks where only a quoted string can say it, such as `"a b"` (RFC 5322 section 3.4.1). */
  local: string;
  /** As written, with blanks around dots taken out, and no name where it is quoted; undefined for a local user such as `root`. */
  domain: string | undefined;
}

export interface AuthorField {
  addresses: FieldAddress[];
  /** Domains that follow an `@` anywhere, in names and comments too, as written; each has a dot. */
  mentions: string[];
  /** Mail programs may show another author than this reader finds. */
  isUnclear: boolean;
}

/** Of a longer field the end may be cut by one program and shown by another. */
const maxAuthorChars = 8192;

/** One address, and words beside it, in which no program finds anything else. The whole reader takes a twentieth of all the checks of a mail. */
const plainField = (value: string): AuthorField | undefined => {
  if (!/^ ?[\w .+="<>-]{0,100}@[\w .+="<>-]{0,400}$/.test(value)) return undefined;
  const author = plainAuthor(value.trimStart());
  if (!author?.domain || !/^(?:[a-z\d-]+\.)+[a-z]{2,}$/i.test(author.domain)) return undefined;
  return {addresses: [author], mentions: [author.domain], isUnclear: false};
};

/** `value` is raw, see `HeaderField`. */
export const readAuthorField = (value: string): AuthorField => {
  const plain = plainField(value);
  if (plain) return plain;
  const raw = value.slice(0, maxAuthorChars);
  const text = unfoldHeader(raw);
  const {pieces, comments, isOpen} = split(text);
  const {addresses, isDamaged} = addressesOf(pieces);
  // Joined by commas, over which no encoded word joins the next one.
  const parts = [pieces.map(({outside}) => outside), pieces.flatMap(({angles}) => angles), comments].map(part => part.join(', '));
  const shown = parts.flatMap(part => [part, part.replaceAll(quote, ' ')]).flatMap(readings);
  // What is no UTF-8 is shown as Latin-1 by many programs.
  if (text.includes('\ufffd')) shown.push(raw);
  const isCut = value.length > maxAuthorChars;
  return {
    addresses,
    mentions: [...new Set(shown.flatMap(mentionsIn))],
    isUnclear: isCut || isOpen || isDamaged || addresses.length === 0 || hasControls(raw, text) || shown.some(isDisguised),
  };
};

const maxFields = 10;

/** The values of the fields to read. Several fields together take no more time than one. */
export const authorValues = (values: readonly string[]): string[] => {
  const read = values.slice(0, maxFields);
  return read.map(value => (read.length > 1 ? value.slice(0, maxAuthorChars / read.length) : value));
};

/** What is kept of a header with thousands of addresses, which no mail program shows either. */
const maxAuthors = 20;
/** Of the longest local part and the longest domain (RFC 5321 section 4.5.3.1). */
const maxAddressChars = 320;
/** Of all addresses together: each list and event has them. */
const maxTextChars = 2048;

/**
 * The addresses in the fields `From` as they are compared: lower case, domains canonical, each once. The first twenty of at most 320
 * characters each and 2,048 in all, in UTF-8; none when there is no such field, or nothing in it can be read as an address. Names beside
 * them do not count.
 */
export const authorAddresses = (headers: readonly HeaderField[]): string[] => {
  const fields = authorValues(headerValues(headers, 'from')).map(value => unfoldHeader(value.slice(0, maxAuthorChars)));
  const found = fields.flatMap(text => plainAuthor(text) ?? addressesOf(split(text).pieces).addresses).map(addressText);
  const authors: string[] = [];
  let room = maxTextChars;
  for (const text of new Set(found)) {
    if (authors.length === maxAuthors || text.length > room) break;
    if (text.length > maxAddressChars || text.includes('\ufffd')) continue;
    authors.push(text);
    room -= text.length;
  }
  return authors;
};

/** Most fields are one plain address, alone or after a name: the whole reader finds the same in them, and takes ten times as long. */
const plainAuthor = (text: string): FieldAddress | undefined => {
  const [, inAngle = text] = /^(?:[^"([<>,;:]|"[^"\\]*")*<([^<>]*)>$/.exec(text) ?? [];
  const [, local, domain] = /^([\w.+=-]+)@([\w.-]+)$/.exec(inAngle) ?? [];
  return local === undefined ? undefined : {local, domain};
};

const addressText = ({local, domain}: FieldAddress): string => {
  const text = domain === undefined ? local : `${local}@${canonicalMailDomain(domain) ?? domain}`;
  return comparableAddress(text.replace(/\p{Cc}/gu, ''));
};

/** As it stands, and decoded: most programs join encoded words, some do not. */
const readings = (part: string): string[] =>
  part.includes('=?') ? [part, decodeWords(part), decodeWords(part.replace(/\?=\s+/g, '?=, '))] : [part];

/** Control characters, and line ends that are not folding: some programs end or join words there. */
const hasControls = (raw: string, text: string): boolean =>
  /[^\P{Cc}\t]/u.test(text) || /\r(?!\n)|(?<!\r)\n|\r\n(?![ \t])/.test(raw);

/** The first two turn the direction of what is shown; UTF-7 is decoded by some programs only. */
const isDisguised = (text: string): boolean => /[\u202d\u202e]|=\?[^?\s]*utf-?7[*?]/i.test(text);

/** Stands for a quotation mark: some programs end a word there, others leave it out. */
const quote = '\x02';

/** What stands between two separators, without comments. */
interface Piece {
  /** Outside angle brackets. */
  outside: string;
  /** What each pair of angle brackets contains; an inner `<` begins another pair. */
  angles: string[];
  /** Where in `outside` the last pair ended; beyond it while none has. */
  endOfAngle: number;
}

const split = (field: string): {pieces: Piece[]; comments: string[]; isOpen: boolean} => {
  // What stands for a quoted string must not come from the sender.
  const text = field.replaceAll(whole, '\x01');
  const {pieces, add, mark} = createPieces();
  const comments: string[] = [];
  let isOpen = false;
  for (let at = 0; at < text.length; ) {
    const closed = closedAt(text, at);
    at += closed?.length ?? 1;
    if (!closed) {
      mark(text.charAt(at - 1));
      continue;
    }
    isOpen ||= closed.isOpen;
    if (closed.isComment) comments.push(closed.content);
    // A comment separates words, as a blank does (RFC 5322 section 3.2.2).
    add(closed.isComment ? ' ' : text[at - closed.length] === '"' ? `${quote}${closed.content}${quote}` : closed.content);
  }
  return {pieces, comments, isOpen};
};

const newPiece = (): Piece => ({outside: '', angles: [], endOfAngle: Infinity});

/** In angle brackets a line end stands for a separator. */
const createPieces = () => {
  let piece: Piece = newPiece();
  const pieces = [piece];
  let isInAngle = false;
  const add = (more: string) => {
    if (isInAngle) piece.angles.push(`${piece.angles.pop() ?? ''}${more}`);
    else piece.outside += more;
  };
  return {
    pieces,
    add,
    /** Takes a character that is in no quoted string, comment or literal. */
    mark(character: string) {
      const isSeparator = /[,;:]/.test(character);
      if (character === '<') {
        isInAngle = true;
        piece.outside += ' ';
        piece.angles.push('');
        piece.endOfAngle = Infinity;
      } else if (character === '>' && isInAngle) {
        isInAngle = false;
        piece.endOfAngle = piece.outside.length;
      } else if (isSeparator && !isInAngle) {
        piece = newPiece();
        pieces.push(piece);
      } else add(isSeparator ? '\n' : character);
    },
  };
};

interface Closed {
  content: string;
  /** In the field, with what encloses it. */
  length: number;
  /** Its end is missing. */
  isOpen: boolean;
  isComment: boolean;
}

const closedAt = (text: string, start: number): Closed | undefined => {
  if (text[start] === '"') return {...quotedAt(text, start), isComment: false};
  if (text[start] === '(') return {...commentAt(text, start), isComment: true};
  return literalAt(text, start);
};

const quotedAt = (text: string, start: number): Omit<Closed, 'isComment'> => {
  const parts: string[] = [];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '"') return {content: parts.join(''), length: at + 1 - start, isOpen: false};
    if (text[at] === '\\') at += 1;
    parts.push(text.charAt(at));
  }
  return {content: parts.join(''), length: text.length - start, isOpen: true};
};

const commentAt = (text: string, start: number): Omit<Closed, 'isComment'> => {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    if (depth === 0) return {content: text.slice(start + 1, at), length: at + 1 - start, isOpen: false};
  }
  return {content: text.slice(start + 1), length: text.length - start, isOpen: true};
};

/** An address literal, whose colons separate nothing. */
const literalAt = (text: string, start: number): Closed | undefined => {
  if (text[start] !== '[') return undefined;
  const content = text.slice(start, start + maxLiteralChars).match(/^\[[0-9a-z:.]*\]/i)?.[0];
  return content === undefined ? undefined : {content, length: content.length, isOpen: false, isComment: false};
};

const maxLiteralChars = 60;

const atSign = /[@\uff20\ufe6b]/;

const addressesOf = (pieces: readonly Piece[]): {addresses: FieldAddress[]; isDamaged: boolean} => {
  const inAngles = pieces.flatMap(({angles}) => angles.filter(text => atSign.test(text)));
  // Beside an address in angle brackets, `Support @ Acme` is a name.
  const bareAddress = inAngles.length > 0 ? /\S[@\uff20\ufe6b]\S/ : atSign;
  const bare = pieces.filter(({angles}) => !angles.some(text => atSign.test(text))).map(({outside}) => outside);
  const texts = [...inAngles, ...bare.filter(text => bareAddress.test(text))];
  if (texts.length === 0) return {addresses: localUser(pieces), isDamaged: false};

  const read = texts.flatMap(text => text.split('\n')).map(addressesIn);
  return {
    addresses: read.flatMap(({addresses}) => addresses),
    isDamaged: texts.some(text => text.includes('=?')) || read.some(({isTorn}) => isTorn) || pieces.some(isTornPiece),
  };
};

/** What follows an address and would complete its domain without the brackets: `<a@bank>.test`, `<a@bank<.test>>`, `a@bank<.test>`. */
const isTornPiece = ({outside, angles, endOfAngle}: Piece): boolean => {
  const filled = angles.filter(text => text.trim() !== '');
  const first = filled.findIndex(text => atSign.test(text));
  if (first < 0) return filled.length > 0 && atSign.test(outside);
  return filled.slice(first).some(text => !atSign.test(text)) || /^[^\s<>@\uff20\ufe6b]+(?:\s|$)/.test(outside.slice(endOfAngle));
};

/** One word without a domain, as old programs write it; none where there is more, or nothing. */
const localUser = ([piece, ...others]: readonly Piece[]): FieldAddress[] => {
  if (!piece || others.length > 0) return [];
  const word = (piece.angles.find(text => text.trim() !== '') ?? piece.outside).replaceAll(quote, '').trim();
  return /^[\w.+-]+$/.test(word) ? [{local: word, domain: undefined}] : [];
};

/** Stands around the number of a quoted string that is one word. */
const whole = '\x03';

/** `isTorn`: some programs read other words, such as one that they join with the domain before it. */
const addressesIn = (field: string): {addresses: FieldAddress[]; isTorn: boolean} => {
  // A quoted string in a local part is one word. Where it has an address among its words, some programs show that one: both count.
  const quoted: string[] = [];
  const words = field
    .replace(/\x02([^\x02]*)\x02(\s*[.@\uff20\ufe6b])?/g, (all, content: string, next?: string) =>
      next === undefined || (atSign.test(content) && /\s/.test(content))
        ? all
        : `${whole}${quoted.push(content) - 1}${whole}${next}`,
    )
    .replace(/[\uff20\ufe6b]/g, '@')
    .replace(/\s+/g, ' ')
    .replace(/ ?([.@]) ?/g, '$1')
    .trim()
    .split(' ');
  const restore = (part: string): string =>
    part.replace(/\x03(\d+)\x03/g, (_, n: string) => `${quote}${quoted[Number(n)] ?? ''}${quote}`);
  const addresses: FieldAddress[] = [];
  let isTorn = false;
  for (const marked of words) {
    const word = marked.includes('@') ? marked : restore(marked);
    const at = word.lastIndexOf('@');
    if (at < 0) {
      isTorn ||= addresses.length > 0;
      continue;
    }
    // Split at the blanks in it, a word may be another address, as `a@b` in `a@"b c"@d.test`, or follow one.
    const text = restore(word);
    isTorn ||= /\s/.test(text.slice(addresses.length > 0 ? 0 : text.search(atSign)));
    addresses.push({local: localPart(restore(word.slice(0, at))), domain: restore(word.slice(at + 1))});
  }
  return {addresses, isTorn};
};

const localPart = (marked: string): string => {
  const local = marked.replaceAll(quote, '');
  const needsQuotes = marked.includes(quote) && /[\s"(),:;<>@[\\\]]/.test(local);
  return needsQuotes ? `"${local.replace(/["\\]/g, '\\$&')}"` : local;
};

/** The last label has letters only, so that `@ 5.30pm` is none. */
const mention = /@ *((?:[\p{L}\p{N}\p{M}\p{So}_-]+\.)+(?:xn--[a-z0-9-]+|[\p{L}\p{M}]{2,}(?![\p{L}\p{M}\p{N}])))/giu;

/** Full-width letters and signs count as plain ones, and what is not shown is left out. */
const mentionsIn = (text: string): string[] => {
  const shown = text
    .normalize('NFKC')
    .replace(/[\u3002\uff61]/g, '.')
    .replace(/\p{DI}/gu, '')
    .replace(/\s+/g, ' ')
    .replace(/\p{Cc}/gu, '');
  return [...shown.matchAll(mention)].map(([, domain = '']) => domain);
};
