// Query for held mail, from flags or from a line (query-line.ts), as parameters of the API and in words.

import {type Command, InvalidArgumentError, Option} from 'commander';
import type {HoldFilter} from '../../shared/hold-filter.ts';
import {type Reason, reasons} from '../../shared/reason.ts';
import {quoted} from '../../shared/shell-word.ts';
import {endMoment, isoMomentBefore, parseDuration, pastMoment} from '../command-line/moment.ts';
import {decimal} from '../command-line/option-values.ts';
import {usageError} from '../errors.ts';

interface ScoreBound {
  score: number;
  isIncluded: boolean;
}

/** As typed, so that `since` of `2h` stays two hours before now; `{}` means all held mail. */
export interface HoldQuery {
  domain?: string;
  sender?: string;
  /** In the header From. */
  from?: string;
  /** Sender, From or recipient. */
  address?: string;
  recipient?: string;
  subject?: string;
  since?: string;
  until?: string;
  least?: ScoreBound;
  most?: ScoreBound;
  reason?: Reason;
  node?: string;
  requested?: typeof requestedWord;
}

/** Of the filter for what recipients have asked for. */
export const requestedWord = 'yes';

export const isEmptyQuery = (query: HoldQuery): boolean => Object.keys(query).length === 0;

/** The parameters of the API. */
export type QueryParameters = {[Name in keyof HoldFilter]?: string | undefined};

/** Durations count back from `nowMs`. */
export const parametersOf = (query: HoldQuery, nowMs: number): QueryParameters => {
  const {domain, sender, from, address, recipient, subject, since, until, least, most, reason, node, requested} = query;
  return {
    domain,
    sender,
    from,
    address,
    recipient,
    subject,
    since: since && momentOf(since, nowMs),
    until: until && momentOf(until, nowMs),
    min_score: least && bound(least, 1),
    max_score: most && bound(most, -1),
    reason,
    node,
    requested: requested && 'true',
  };
};

/** An invalid time is sent, and the API refuses it. Without it more mail than intended would match. */
const momentOf = (text: string, nowMs: number): string => isoMomentBefore(text, nowMs) ?? text;

/** The bounds of the API are inclusive. Scores have a few decimals, so none lies within a billionth of a bound. */
const bound = ({score, isIncluded}: ScoreBound, direction: 1 | -1): string =>
  isIncluded ? String(score) : (score + direction * 1e-9).toFixed(9);

/** For a question: `sender news@x.org, in the last 2h, score at least 8 and below 15`. */
export const queryWords = (query: HoldQuery): string => {
  if (isEmptyQuery(query)) return 'all held mail';
  const {domain, sender, from, address, recipient, subject, since, until, least, most, reason, node, requested} = query;
  const scores = [
    least && `${least.isIncluded ? 'at least' : 'above'} ${least.score}`,
    most && `${most.isIncluded ? 'at most' : 'below'} ${most.score}`,
  ].filter(Boolean);
  return [
    domain !== undefined && `of ${domain}`,
    sender !== undefined && (sender === '<>' ? 'bounces' : `sender ${sender}`),
    from !== undefined && `from ${from}`,
    address !== undefined && `from or to ${address}`,
    recipient !== undefined && `to ${recipient}`,
    subject !== undefined && `subject with ${JSON.stringify(subject)}`,
    since !== undefined && (parseDuration(since) === undefined ? `since ${since}` : `in the last ${since}`),
    until !== undefined && (parseDuration(until) === undefined ? `before ${until}` : `more than ${until} ago`),
    scores.length > 0 && `score ${scores.join(' and ')}`,
    reason !== undefined && `held for ${reason}`,
    node !== undefined && `on ${node}`,
    requested !== undefined && 'asked for by a recipient',
  ]
    .filter(Boolean)
    .join(', ');
};

export interface QueryFlags extends Omit<HoldQuery, 'least' | 'most' | 'requested'> {
  requested?: true;
  minScore?: number;
  maxScore?: number;
}

export const addQueryOptions = (command: Command): Command =>
  addMailOptions(command)
    .option('--min-score <score>', 'with at least this score', decimal)
    .option('--max-score <score>', 'with at most this score', decimal)
    .addOption(new Option('--reason <reason>', 'held for this reason').choices(reasons))
    .option('--node <node>', 'held by this node')
    .option('--requested', 'that a recipient has asked for, by the link of a digest');

/** What any mail is found by, held or not. */
export const addMailOptions = (command: Command): Command =>
  command
    .option('--domain <domain>', 'of this domain', plainAddress)
    .option('--from <author>', 'with this address or domain in the header From', plainAddress)
    .option('--sender <sender>', "with this address or domain as envelope sender; '<>' for bounces", plainAddress)
    .option('--recipient <address>', 'to this address', addressValue)
    .option('--address <address>', 'with this address as sender, in the header From, or as recipient', addressValue)
    .option('--subject <text>', 'with this text in the subject')
    .option('--since <time>', "at or after this time: 12:30, yesterday, '2026-03-01 12:30', or 2h and 3d before now", pastMoment)
    .option('--until <time>', 'before this time, in the same forms', endMoment);

export const queryOf = ({minScore, maxScore, requested, ...query}: QueryFlags): HoldQuery => {
  if (minScore !== undefined && maxScore !== undefined && minScore > maxScore)
    throw usageError(`--min-score ${minScore} is above --max-score ${maxScore}: no mail has such a score`);
  checkTimes(query, 'no mail arrived then');
  return {
    ...query,
    ...(requested && {requested: requestedWord}),
    ...(minScore !== undefined && {least: {score: minScore, isIncluded: true}}),
    ...(maxScore !== undefined && {most: {score: maxScore, isIncluded: true}}),
  };
};

/** Throws where the end is not after the beginning. */
export const checkTimes = ({since, until}: Pick<QueryFlags, 'since' | 'until'>, consequence: string): void => {
  if (since !== undefined && until !== undefined && since >= until)
    throw usageError(`--since ${since} is not before --until ${until}: ${consequence}`);
};

/**
 * Why a text that may be an address or a domain cannot be meant. An asterisk is a character of addresses, though nobody has one that begins
 * so; quotation marks around the whole come from a page or a script, as an address has them around its local part only.
 */
export const addressFault = (text: string): string | undefined => {
  const bare = text.replace(
    /^["'\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb\s]+|["'\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb\s]+$/g,
    '',
  );
  if (bare !== '' && text.trim() !== text) return `there is a blank before or after it; give ${bare}`;
  if (
    bare !== '' &&
    /^(["'].*["']|[\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb].*|.*[\u201c\u201d\u2018\u2019\u00ab\u00bb])$/s.test(text)
  )
    return `the quotation marks are a part of it; give ${bare}`;
  if (!/^\*|@\*/.test(text)) return undefined;
  const domain = text.replace(/^.*@/s, '').replace(/^(\*\.?)+/, '');
  return `there are no wildcards here${domain === '' ? '; leave it out for all' : `; for all of a domain give ${domain}`}`;
};

const plainAddress = (text: string): string => {
  const fault = addressFault(text);
  if (fault === undefined) return text;
  throw new InvalidArgumentError(
    `${fault.charAt(0).toUpperCase()}${fault.slice(1).replace('leave it out', 'leave the option out')}.`,
  );
};

const addressValue = (text: string): string => {
  if (!text.includes('@')) throw new InvalidArgumentError('Must be a mail address such as ceo@example.com.');
  return plainAddress(text);
};

/** The flags as typed: `--domain example.com --min-score 10`. */
export const flagsText = (flags: QueryFlags): string => {
  const words = Object.entries(flags).flatMap(([name, value]) => [
    `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`,
    ...(value === true ? [] : [quoted(String(value))]),
  ]);
  return words.join(' ');
};
