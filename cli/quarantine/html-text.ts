// Text of an HTML mail, with where its links go. Nothing is fetched or run; the result is still hostile text.
import {hasOwn} from '../../shared/has-own.ts';
import {type Hidden, hiddenTags, htmlTokens, type Tag} from './html-tokens.ts';

interface HtmlText {
  /** `click → https://example.com/`: only a link has such an arrow. */
  text: string;
  /**
   * The links in it, each address once, and after them those in what is not shown: programs do not agree on where a comment or a style
   * sheet ends, and Outlook shows some comments.
   */
  links: string[];
  /** The HTML goes on behind what was read. */
  isCut: boolean;
}

const maxCharacters = 256 * 1024;
const maxUrlCharacters = 300;
const maxLabelCharacters = 60;

const breaks = new Set(['br', '/p', '/div', '/tr', '/li', '/h1', '/h2', '/h3', '/h4', '/h5', '/h6']);
/** Within a word they are no gap. */
const inline = new Set(['a', 'b', 'big', 'code', 'em', 'font', 'i', 's', 'small', 'span', 'strong', 'sub', 'sup', 'u', 'wbr']);
/** Elements that lead somewhere. All but `a` have no text of their own that says so. */
const addresses = new Map([
  ['a', ['href', 'xlink:href']],
  ['area', ['href']],
  ['base', ['href']],
  ['form', ['action']],
  ['button', ['formaction']],
  ['input', ['formaction']],
]);

export const htmlText = (html: string): HtmlText => {
  const links = new Map<string, string>();
  const hidden: string[] = [];
  const parts = partsOf(htmlTokens(html.slice(0, maxCharacters)), links, hidden);
  for (const text of hidden) partsOf(hiddenTags(text), links);
  return {
    text: parts
      .join('')
      .replace(/ +/g, ' ')
      .replace(/ ?\n ?/g, '\n'),
    links: [...links.values()],
    isCut: html.length > maxCharacters,
  };
};

/** The text in pieces. `links` and `hidden` get what else is found. */
const partsOf = (tokens: Iterable<string | Tag | Hidden>, links: Map<string, string>, hidden: string[] = []): string[] => {
  const parts: string[] = [];
  let open: {url: string; from: number} | undefined;

  const add = (label: string, url: string): void => {
    if (!links.has(url)) links.set(url, `${label.slice(0, maxLabelCharacters)} → ${url}`.trimStart());
  };
  const endLink = (): void => {
    if (!open) return;
    const {url, from} = open;
    open = undefined;
    const label = collapsed(parts.slice(from).join('')).trim();
    add(label, url);
    if (label !== url && `${label}/` !== url) parts.push(` → ${url} `);
  };
  const startLink = ({name, attributes}: Tag): void => {
    const address = addresses.get(name)?.find(attribute => attributes.has(attribute));
    const url = urlOf(attributes.get(address ?? '') ?? '');
    if (url === undefined) return;
    if (name === 'a') open = {url, from: parts.length};
    else {
      add(name, url);
      parts.push(`${name} → ${url} `);
    }
  };
  const onTag = (tag: Tag): void => {
    const {name, isEnd} = tag;
    // A link within a link ends it.
    if (name === 'a') endLink();
    if (!inline.has(name)) parts.push(breaks.has(isEnd ? `/${name}` : name) ? '\n' : ' ');
    if (!isEnd) startLink(tag);
  };

  for (const token of tokens) {
    if (typeof token === 'string') parts.push(token.replaceAll('→', '->').replace(/[\t\n\f\r]+/g, ' '));
    else if (hasOwn(token, 'hidden')) hidden.push(token.hidden);
    else onTag(token);
  }
  endLink();
  return parts;
};

const collapsed = (text: string): string => text.replace(/[ \n]+/g, ' ');

/** What a browser opens; undefined for a place in the mail itself. Without user name and password, which hide where it goes. */
const urlOf = (address: string): string | undefined => {
  const given = address.slice(0, 4096).trim();
  if (given === '' || given.startsWith('#')) return undefined;
  const shown = parsed(given) ?? given.replace(/[\t\n\r]/g, '');
  const line = shown.replaceAll(' ', '%20').replaceAll('→', '%E2%86%92');
  return line.length > maxUrlCharacters ? `${line.slice(0, maxUrlCharacters)}…` : line;
};

const parsed = (address: string): string | undefined => {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (url.host !== '') {
    url.username = '';
    url.password = '';
  }
  return url.href;
};
