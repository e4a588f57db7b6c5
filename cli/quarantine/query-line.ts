// Query for mail in one line, as in the dashboard: `domain:example.com since:2h score>=8 march invoice`. A mail has to match all
// parts; words that are not a filter are searched in the subject.
import {isIP} from 'node:net';

import {canonicalMailDomain} from '../../shared/domain-name.ts';
import {ownValue} from '../../shared/has-own.ts';
import {parseMailAddress} from '../../shared/mail-address.ts';
import {mailEvents} from '../../shared/mail-event-name.ts';
import {reasons} from '../../shared/reason.ts';
import {pastMomentFault} from '../command-line/moment.ts';
import {usageError} from '../errors.ts';
import {addressFault, type HoldQuery, requestedWord} from './hold-query.ts';

export interface LineQuery extends HoldQuery {
  messageId?: string;
  client?: string;
  /** With commas between them. */
  event?: string;
}
type Member = Exclude<keyof LineQuery, 'least' | 'most'>;

/** What may be looked for in one kind of list. */
export interface LineWords {
  /** Filters by their typed name, the short one first; the names of the API work too. */
  names: Readonly<Record<string, Member>>;
  hasScore: boolean;
  /** For completion. */
  offered: readonly string[];
}

const commonNames: LineWords['names'] = {
  domain: 'domain',
  from: 'from',
  sender: 'sender',
  to: 'recipient',
  recipient: 'recipient',
  address: 'address',
  subject: 'subject',
  since: 'since',
  until: 'until',
  node: 'node',
};

const commonOffers = ['domain:', 'from:', 'sender:', 'to:', 'address:', 'subject:', 'since:', 'until:'];

const holdWords: LineWords = {
  names: {...commonNames, reason: 'reason', requested: 'requested'},
  hasScore: true,
  offered: [...commonOffers, 'score>=', 'score<', 'reason:', 'node:', 'requested:'],
};

/** For the event log. */
export const traceWords: LineWords = {
  names: {...commonNames, event: 'event', client: 'client', id: 'messageId', message_id: 'messageId'},
  hasScore: false,
  offered: [...commonOffers, 'event:', 'client:', 'id:', 'node:'],
};

const quoted = /"((?:[^"\\]|\\.)*)"/g;
const part = /(?:[^\s"]|"(?:[^"\\]|\\.)*")+/y;
/** `name:value`, or a comparison such as `score>=8`. */
const filterPart = /^([A-Za-z_]+)(:|>=|<=|>|<|=)(.*)$/s;

/** Throws a CliError that names the wrong part. */
export const parseQuery = (text: string, line = holdWords): LineQuery => {
  const query: LineQuery = {};
  const words: string[] = [];
  for (const raw of partsOf(text)) {
    const [, name, sign, value] = filterPart.exec(raw) ?? [];
    if (name === undefined || sign === undefined || value === undefined) words.push(unquoted(raw));
    else addFilter(query, {name: name.toLowerCase(), sign, value: unquoted(value), raw}, line);
  }
  if (words.length > 0) addOnce(query, 'subject', words.join(' '), `the words ${JSON.stringify(words.join(' '))}`);
  const {subject, least, most} = query;
  if (least && most && (least.score > most.score || (least.score === most.score && !(least.isIncluded && most.isIncluded))))
    throw usageError(`${printQuery({least, most})}: no mail has such a score`);
  if (subject !== undefined && (subject.length > 200 || /[\x00-\x1f\x7f-\x9f]/.test(subject)))
    throw usageError('what is looked for in the subject must be at most 200 characters, without control characters');
  return query;
};

/**
 * The line with each bare address as a filter. An address is no word of a subject that anybody looks for; in quotation marks it is
 * one.
 */
export const withAddressFilters = (text: string, words = holdWords): string => {
  if (queryFault(text, words) !== undefined) return text;
  const parts = [...partsOf(text)].map(raw =>
    filterPart.test(raw) || parseMailAddress(raw) === undefined ? raw : `address:${raw}`,
  );
  const line = parts.join(' ');
  return line === text.trim() ? text : line;
};

/** Why the line cannot be parsed, or undefined. */
export const queryFault = (text: string, words = holdWords): string | undefined => {
  try {
    parseQuery(text, words);
    return undefined;
  } catch (error) {
    return (error as {detail?: string}).detail ?? String(error);
  }
};

/** The line that parses to this query. */
export const printQuery = (query: LineQuery): string => {
  const {domain, sender, from, address, recipient, subject, since, until, least, most, reason, node, requested} = query;
  const {event, client, messageId} = query;
  const parts = [
    domain !== undefined && `domain:${quotedIfNeeded(domain)}`,
    from !== undefined && `from:${quotedIfNeeded(from)}`,
    sender !== undefined && `sender:${quotedIfNeeded(sender)}`,
    recipient !== undefined && `to:${quotedIfNeeded(recipient)}`,
    address !== undefined && `address:${quotedIfNeeded(address)}`,
    since !== undefined && `since:${quotedIfNeeded(since)}`,
    until !== undefined && `until:${quotedIfNeeded(until)}`,
    least && `score${least.isIncluded ? '>=' : '>'}${least.score}`,
    most && `score${most.isIncluded ? '<=' : '<'}${most.score}`,
    reason !== undefined && `reason:${reason}`,
    event !== undefined && `event:${event}`,
    client !== undefined && `client:${client}`,
    messageId !== undefined && `id:${quotedIfNeeded(messageId)}`,
    node !== undefined && `node:${node}`,
    requested !== undefined && `requested:${requested}`,
    subject !== undefined && printedSubject(subject),
  ];
  return parts.filter(Boolean).join(' ');
};

function* partsOf(text: string): Generator<string> {
  let at = 0;
  for (;;) {
    while (/\s/.test(text[at] ?? '')) at += 1;
    if (at >= text.length) return;
    part.lastIndex = at;
    const found = part.exec(text)?.[0];
    const end = at + (found?.length ?? 0);
    if (text[end] === '"')
      throw usageError(`the quotation mark before ${JSON.stringify(text.slice(end + 1, end + 21))} has no end`);
    yield found ?? '';
    at = end;
  }
}

const unquoted = (raw: string): string => raw.replace(quoted, (_, inner: string) => inner.replace(/\\(.)/gs, '$1'));

const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

const quotedIfNeeded = (text: string): string => (/[\s"]/.test(text) ? quote(text) : text);

const printedSubject = (subject: string): string => {
  const isPlain = subject.split(' ').every(word => /^[^\s"]+$/.test(word) && !filterPart.test(word));
  return isPlain ? subject : quote(subject);
};

interface Filter {
  name: string;
  sign: string;
  value: string;
  /** As it was typed. */
  raw: string;
}

const addFilter = (query: LineQuery, filter: Filter, {names, hasScore}: LineWords): void => {
  const {name, sign, value, raw} = filter;
  if (hasScore && (name === 'score' || name === 'min_score' || name === 'max_score')) {
    addScore(query, filter);
    return;
  }
  const member = ownValue(names, name);
  if (member === undefined)
    throw usageError(`${raw}: there is no filter ${name}; to look for this in the subject, write ${quote(raw)}`);
  if (sign !== ':') throw usageError(`${raw}: write ${name}:${value}`);
  const fault = faultOf[member](value);
  if (fault !== undefined) throw usageError(`${raw}: ${fault}`);
  addOnce(query, member, value, raw);
};

const addOnce = (query: LineQuery, member: Member, value: string, raw: string): void => {
  if (query[member] !== undefined) throw usageError(`${raw}: there is another ${shortName(member)} filter already`);
  Object.assign(query, {[member]: value});
};

const shortName = (member: Member): string | undefined =>
  Object.entries({...holdWords.names, ...traceWords.names}).find(([, meant]) => meant === member)?.[0];

/** Operators by the end of the range that they set. The parameters of the API include their bound. */
const addScore = (query: HoldQuery, {name, sign, value, raw}: Filter): void => {
  const isLeast = name === 'min_score' || sign.startsWith('>');
  if (name === 'score' ? !/^[<>]=?$/.test(sign) : sign !== ':')
    throw usageError(`${raw}: write ${name === 'score' ? 'score>=8 or score<15' : `${name}:8`}`);
  if (!/^[+-]?\d{1,6}(\.\d{1,6})?$/.test(value)) throw usageError(`${raw}: ${JSON.stringify(value)} is not a score such as 6.5`);
  const end = isLeast ? 'least' : 'most';
  if (query[end]) throw usageError(`${raw}: there is another ${isLeast ? 'lowest' : 'highest'} score already`);
  // `+ 0`: there is no score of minus zero.
  query[end] = {score: Number(value) + 0, isIncluded: name !== 'score' || sign.endsWith('=')};
};

const timeFault = (value: string): string | undefined => {
  const fault = pastMomentFault(value, Date.now());
  return fault === undefined ? undefined : `${JSON.stringify(value)}: ${fault}`;
};

const isAuthor = (value: string): boolean =>
  parseMailAddress(value) !== undefined || canonicalMailDomain(value.replace(/^@/, '')) !== undefined;

/** A key of the dashboard filters by the sender of a mail, and a sender may begin with an asterisk. */
const typingFault = (value: string): string | undefined => (/^\*[^@]+@[^*]/.test(value) ? undefined : addressFault(value));

const wholeAddressFault = (value: string): string | undefined =>
  typingFault(value) ?? (parseMailAddress(value) ? undefined : `${JSON.stringify(value)} is not a mail address`);

export const eventsFault = (text: string): string | undefined =>
  text.split(',').every(name => (mailEvents as readonly string[]).includes(name))
    ? undefined
    : `must be some of ${mailEvents.join(', ')}, with commas between them`;

const faultOf: Record<Member, (value: string) => string | undefined> = {
  domain: value =>
    addressFault(value) ??
    (canonicalMailDomain(value) === undefined ? `${JSON.stringify(value)} is not a domain such as example.com` : undefined),
  sender: value =>
    typingFault(value) ??
    (value === '<>' || isAuthor(value) ? undefined : `${JSON.stringify(value)} is not an address, a domain, or <> for bounces`),
  from(value) {
    if (value === '<>') return 'bounces have an empty sender: write sender:<>';
    return typingFault(value) ?? (isAuthor(value) ? undefined : `${JSON.stringify(value)} is not an address or a domain`);
  },
  recipient: wholeAddressFault,
  address: wholeAddressFault,
  subject: value => (value === '' ? 'there is nothing to look for' : undefined),
  since: timeFault,
  until: timeFault,
  messageId: value => (/^[^\x00-\x20\x7f-\x9f]{1,998}$/.test(value) ? undefined : `${JSON.stringify(value)} is not a Message-ID`),
  client: value => (isIP(value) === 0 ? `${JSON.stringify(value)} is not an IP address` : undefined),
  event: eventsFault,
  reason: value => ((reasons as readonly string[]).includes(value) ? undefined : `the reasons are ${reasons.join(', ')}`),
  requested: value => (value === requestedWord ? undefined : `write requested:${requestedWord}`),
  node: value =>
    /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(value) ? undefined : `${JSON.stringify(value)} is not a node id`,
};

/** Known names of the cluster. */
export interface KnownNames {
  domains: readonly string[];
  nodes: readonly string[];
}

const durations = ['1h', '2h', '6h', '1d', '2d', '1w'];
const most = 50;

/** Completions of the last part of the line; each is a whole line. */
export const completeQuery = (text: string, known: KnownNames = {domains: [], nodes: []}, words = holdWords): string[] => {
  const [, before = '', last = ''] = /^(.*?)(\S*)$/s.exec(text) ?? [];
  const [, name, value] = /^([A-Za-z_]+):(.*)$/s.exec(last) ?? [];
  const found =
    name === undefined || value === undefined
      ? words.offered.filter(start => start.startsWith(last.toLowerCase()))
      : valuesOf(ownValue(words.names, name.toLowerCase()), value, known)
          .filter(each => each.startsWith(value.toLowerCase()) && each !== value)
          .map(each => `${name}:${each}`);
  return found.slice(0, most).map(each => before + each);
};

const valuesOf = (member: Member | undefined, typed: string, {domains, nodes}: KnownNames): readonly string[] => {
  switch (member) {
    case 'domain':
      return domains;
    case 'node':
      return nodes;
    case 'reason':
      return reasons;
    case 'requested':
      return [requestedWord];
    case 'event':
      return mailEvents.map(event => typed.slice(0, typed.lastIndexOf(',') + 1) + event);
    case 'since':
    case 'until':
      return durations;
    default:
      return [];
  }
};
