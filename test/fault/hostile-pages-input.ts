// Requests for the pages for recipients, by clients who want more than a link gives. None is what the button of a page sends.
import {httpBytes} from './hostile-http-bytes.ts';
import type {Random} from './random.ts';

export interface Link {
  token: string;
  /** Of its mail: the only one whose text an answer may have. */
  number: number;
  /** What the button on its page asks for; `none` where there is no button. */
  action: 'release' | 'request' | 'none';
}

export interface Known {
  /** Opened much more often than its limit permits. */
  opened: Link;
  links: readonly Link[];
  /** Tokens of links of another cluster. */
  foreign: readonly string[];
}

/** `named`: by the proxy, each time another one. `misnamed`: the proxy names none. `stranger`: no proxy, so what it says of others counts for nothing. */
type Client = 'named' | 'misnamed' | 'stranger';

export interface PageInput {
  client: Client;
  bytes: Buffer;
  /** Sent again and again until the node ends the connection. */
  more?: string;
  inputs: number;
  /** Each one that is right. Empty: any that is documented, or none. */
  statuses: readonly number[];
  /** Tokens that are none, in the right form. */
  isGuess: boolean;
  link?: Link;
}

const methods = [...'GET GET HEAD OPTIONS PUT DELETE PATCH TRACE'.split(' '), 'POST', 'POST', 'POST', 'POST'];
/** Of base64url. */
const chars = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
const typed = 'Content-Type: application/x-www-form-urlencoded';
const own = ['Sec-Fetch-Site: same-origin', 'Origin: null'];

export const pageInput = (random: Random, known: Known): PageInput => {
  const kind = random.next();
  if (kind < 0.12) return rawInput(random, known);
  if (kind < 0.13) return bomb(random, known);
  if (kind < 0.13 + endlessShare) return endless(random, known);
  if (kind < 0.27) return openedInput(random, known);
  if (kind < 0.45) return linkInput(random, known);
  if (kind < 0.6) return pathInput(random, known);
  if (kind < 0.75) return strangersGuess(random, known);
  return guessInput(random, known);
};

/** Each takes as long as the node waits for a form. */
const endlessShare = 0.003;

interface Request {
  method: string;
  path: string;
  headers?: readonly string[];
  body?: string;
  isChunked?: boolean;
}

const inputOf = (
  random: Random,
  {method, path, headers = [], body, isChunked = false}: Request,
  {isGuess = false, client = random.pick(usually), ...rest}: Pick<PageInput, 'statuses'> & Partial<PageInput>,
): PageInput => {
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body?.length}`;
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: pages.test', forwarded(random, client), ...headers];
  if (body !== undefined) lines.push(length);
  if (random.chance(0.2)) lines.push(random.pick(oddHeaders));
  const sent = isChunked && body !== undefined ? chunked(body) : (body ?? '');
  return {...rest, client, isGuess, inputs: 1, bytes: Buffer.from(`${lines.join('\r\n')}\r\n\r\n${sent}`, 'latin1')};
};

const usually = ['named', 'named', 'named', 'named', 'named', 'named', 'named', 'misnamed', 'stranger'] as const;

const forwarded = (random: Random, client: Client): string => {
  if (client === 'misnamed') return `X-Forwarded-For: ${random.pick(noAddresses)}`;
  const four = () => `198.18.${random.between(0, 255)}.${random.between(1, 254)}`;
  const group = () => random.between(1, 65_000).toString(16);
  const named = random.chance(0.2) ? `2001:db8:${group()}:${group()}::1` : four();
  return `X-Forwarded-For: ${random.chance(0.2) ? `${four()}, 127.0.0.1, ` : ''}${named}`;
};

const noAddresses = [
  'unknown',
  '',
  ',',
  '198.18.0.1, x',
  '198.18.0.1:80',
  '[2001:db8::1]',
  '1.2.3',
  '\u00ff',
  `${'9'.repeat(3000)}`,
  "' OR 1=1 --",
];

const oddHeaders = [
  'Cookie: a=b',
  'X-HTTP-Method-Override: POST',
  'X-Method-Override: DELETE',
  'X-API-Key: mfk_x',
  'Accept-Language: de;q=9,\u00ff',
  `Accept-Language: ${'a,'.repeat(2000)}`,
  'Accept: application/json',
  'Range: bytes=0-0,-1',
  'If-None-Match: *',
  'Expect: 100-continue',
  'Expect: 200-maybe',
  'Connection: keep-alive',
  'Purpose: prefetch',
  'Forwarded: for=198.18.0.1',
  '__proto__: x',
];

const postHead = {headers: [typed, ...own]};

/** Each is answered with 400: no field, another field, a field twice, no form, a form of another site, or too much. */
const wrongForms = (random: Random): Pick<Request, 'headers' | 'body' | 'isChunked'> => {
  const act = random.pick(['do=release', 'do=request']);
  switch (random.between(0, 4)) {
    case 0:
      return {...postHead, body: random.pick(noFields)};
    case 1:
      return {...postHead, body: random.pick([`${act}&${act}`, `do=release&do=request`, `do=none&${act}`, `${act}&do=`])};
    case 2:
      return {headers: [...random.pick(noFormTypes), ...own], body: random.pick([act, `{"do":"release"}`, multipart])};
    case 3:
      return {headers: [typed, ...random.pick(otherSites)], body: act};
    default:
      return {...postHead, body: `${act}&x=${'x'.repeat(random.pick([1000, 20_000, 300_000]))}`, isChunked: random.chance(0.5)};
  }
};

const noFields = [
  ...'x=y do do= do=Release do=discard do=none do=release%00 do[]=release DO=release %64o%3Drelease do=release;x x&do=%ff'.split(
    ' ',
  ),
  ...['', ' do=release', 'do=release ', '\u0000do=release', '__proto__=release', '\u00ff'],
];
const multipart = '--x\r\nContent-Disposition: form-data; name="do"\r\n\r\nrelease\r\n--x--\r\n';
const noFormTypes = [
  [],
  ['Content-Type:'],
  ['Content-Type: text/plain'],
  ['Content-Type: multipart/form-data; boundary=x'],
  ['Content-Type: application/json'],
  ['Content-Type: application/x-www-form-urlencodedx'],
  ['Content-Type: text/plain; application/x-www-form-urlencoded'],
];
const otherSites = [
  ['Sec-Fetch-Site: cross-site', 'Origin: https://evil.test'],
  ['Sec-Fetch-Site: cross-site', 'Origin: null'],
  ['Sec-Fetch-Site: same-site'],
  ['Sec-Fetch-Site: none'],
  ['Sec-Fetch-Site: same-origin, cross-site'],
  ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site'],
  ['Origin: https://evil.test'],
  ['Origin: https://pages.test.evil.test'],
  ['Origin: https://pages.test:1'],
];

/** What is right for these methods, whatever the token. */
const withoutLook = {OPTIONS: 204, PUT: 405, DELETE: 405, PATCH: 405, TRACE: 405} as const;

/** A request of a token in the right form. `page`: what is right where its page is looked for. */
const tokenRequest = (random: Random, path: string, page: {shown: number; acted: number; harmless: readonly string[]}) => {
  const method = random.pick(methods);
  if (method !== 'POST') return {request: {method, path}, status: withoutLook[method as keyof typeof withoutLook] ?? page.shown};
  if (random.chance(0.5)) return {request: {method, path, ...wrongForms(random)}, status: 400};
  return {request: {method, path, ...postHead, body: random.pick(page.harmless)}, status: page.acted};
};

const openedInput = (random: Random, {opened}: Known): PageInput => {
  const method = random.pick(['GET', 'HEAD', 'OPTIONS'] as const);
  return inputOf(random, {method, path: `/m/${opened.token}`}, {statuses: [method === 'OPTIONS' ? 204 : 200, 429], link: opened});
};

/** A button that the page does not have does nothing: it shows what there is. */
const linkInput = (random: Random, {links}: Known): PageInput => {
  const link = random.pick(links);
  const harmless = ['release', 'request'].filter(action => action !== link.action).map(action => `do=${action}`);
  const path = random.pick([`/m/${link.token}`, `/m/${link.token}?do=release`, `https://evil.test/m/${link.token}`]);
  const {request, status} = tokenRequest(random, path, {shown: 200, acted: 303, harmless});
  return inputOf(random, request, {statuses: [status, 429], link});
};

const guessInput = (random: Random, known: Known): PageInput => {
  const token = guess(random, known);
  const {request, status} = tokenRequest(random, `/m/${token}`, {shown: 404, acted: 404, harmless: ['do=release', 'do=request']});
  const input = inputOf(random, request, {statuses: [status], isGuess: true});
  // A link of another cluster has a limit, as any token. The other node may not answer in time on a busy machine.
  const more = [
    ...(input.client !== 'named' || known.foreign.includes(token) ? [429] : []),
    ...(token.startsWith('2-') ? [503] : []),
  ];
  return {...input, statuses: [...input.statuses, ...more]};
};

/** Of one that names others in vain. */
const strangersGuess = (random: Random, known: Known): PageInput =>
  inputOf(
    random,
    {method: 'GET', path: `/m/${guess(random, known)}`},
    {statuses: [404, 429, 503], isGuess: true, client: 'stranger'},
  );

const guess = (random: Random, known: Known): string => {
  const [, no = '', secret = ''] = /^(\w+)-(.+)$/.exec(issued(random, known)) ?? [];
  const at = random.between(0, secret.length - 1);
  switch (random.between(0, 4)) {
    case 0:
      return random.pick(known.foreign);
    case 1:
      // The last one of the 22 has bits without a meaning.
      return `${no}-${random.chance(0.5) ? changed(random, secret, at) : changed(random, secret, secret.length - 1)}`;
    case 2:
      return `${random.pick(['3', 'zzzz', `${no}0`, no === '1' ? '2' : '1'])}-${secret}`;
    default:
      return `${random.pick(['1', '1', '2', '3', 'a0'])}-${random.bytes(16).toString('base64url')}`;
  }
};

const issued = (random: Random, {opened, links}: Known): string => random.pick([opened, ...links]).token;

const changed = (random: Random, secret: string, at: number): string =>
  `${secret.slice(0, at)}${random.pick(chars.filter(char => char !== secret[at]))}${secret.slice(at + 1)}`;

/** Paths that are no link, made of one. */
const pathInput = (random: Random, known: Known): PageInput => {
  const token = issued(random, known);
  const path = random.pick([
    () => `/m/${token.slice(0, -random.between(1, token.length))}`,
    () => `/m/${token.slice(random.between(1, token.length))}`,
    () => `/m/${token}${random.pick(chars).repeat(random.pick([1, 2, 5000]))}`,
    () => `/m/${token}${random.pick(ends)}`,
    () => `/m/${random.pick(beginnings)}${token}`,
    () => `/m/%${token.charCodeAt(0).toString(16)}${token.slice(1)}`,
    () => `/m/${[...token].map(char => `%${char.charCodeAt(0).toString(16)}`).join('')}`,
    () => `${random.pick(elsewhere)}${token}`,
    () => random.pick(otherPaths),
  ])();
  const method = random.pick(methods);
  const form = method === 'POST' ? {...postHead, body: random.pick(['do=release', 'do=request', 'x'.repeat(2000)])} : {};
  return inputOf(random, {method, path, ...form}, {statuses: [404, 400]});
};

const ends = [
  '/',
  '/.',
  '/..',
  '\u0000',
  '%00',
  '%20',
  ';x',
  '#x',
  '\\',
  '%0d%0aX:%20y',
  ',',
  '.',
  '%',
  '%ff',
  '\u00e9',
  '+',
  '=',
  '/do/release',
];
const beginnings = ['/', './', '../m/', '..%2fm%2f', '%2e%2e/m/', '..\\', '\u0000', '%00', '0', '-', '//evil.test/', 'm/'];
const elsewhere = ['/M/', '//m/', '/m', '/', '/./m/', '/x/../m/', '/%6d/', '/m%2f', 'm/', '/api/v1/m/', '\\m\\', '*/m/'];
const otherPaths = [
  '/',
  '*',
  '/m',
  '/m/',
  '/m/..',
  '/api/v1/mail/quarantine',
  '/metrics',
  '/peer/v1/digests',
  '/robots.txt',
  '/m/1-',
  '/m/__proto__',
];

/** A form that does not end: more of it comes all the time, or nothing. */
const endless = (random: Random, {links}: Known): PageInput => {
  const link = random.pick(links);
  const isSilent = random.chance(0.5);
  const isChunked = random.chance(0.5);
  const headers = [typed, ...own, isChunked ? 'Transfer-Encoding: chunked' : 'Content-Length: 100000000'];
  const begun = isChunked ? chunked('do=release&').slice(0, -'0\r\n\r\n'.length) : 'do=release&';
  const input = inputOf(random, {method: 'POST', path: `/m/${link.token}`, headers}, {statuses: [400, 429], link});
  const more = isChunked ? '400\r\n'.concat('x'.repeat(1024), '\r\n') : 'x'.repeat(1024);
  return {...input, bytes: Buffer.concat([input.bytes, Buffer.from(begun)]), ...(!isSilent && {more})};
};

const bomb = (random: Random, known: Known): PageInput => {
  const headers = random.pick([
    Array.from({length: 3000}, (_, n) => `X-${n}: y`),
    [`X: ${'y'.repeat(100_000)}`],
    Array.from({length: 1500}, () => `Cookie: ${'z'.repeat(20)}`),
    Array.from({length: 500}, () => `X-Forwarded-For: ${Array(20).fill('198.18.0.1').join(', ')}`),
  ]);
  return inputOf(random, {method: 'GET', path: `/m/${issued(random, known)}`, headers}, {statuses: [400]});
};

const rawInput = (random: Random, {links}: Known): PageInput => {
  const link = random.pick(links);
  const {bytes, inputs} = httpBytes(random, 'mfk_x');
  const text = bytes.toString('latin1').replaceAll(/\/api\/v1\/(?:auth\/me|domains)/g, `/m/${link.token}`);
  return {client: 'stranger', bytes: Buffer.from(text, 'latin1'), inputs, statuses: [], isGuess: false, link};
};

const chunked = (body: string): string =>
  `${(body.match(/[\s\S]{1,5000}/g) ?? []).map(part => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;
