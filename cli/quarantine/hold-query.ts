// Query for held mail, from flags (query-flags.ts) or a line (query-line.ts), as parameters of the API and in words.
import type {HoldFilter} from '../../shared/hold-filter.ts';
import type {Reason} from '../../shared/reason.ts';
import {isoMomentBefore, parseDuration} from '../command-line/time-text.ts';

interface ScoreBound {
  score: number;
  isIncluded: boolean;
}

/** As typed, so that `since` of `2h` stays two hours before now; `{}` means all held mail. */
export interface HoldQuery {
  domain?: string;
  sender?: string;
  recipient?: string;
  subject?: string;
  since?: string;
  until?: string;
  least?: ScoreBound;
  most?: ScoreBound;
  reason?: Reason;
  node?: string;
}

export const isEmptyQuery = (query: HoldQuery): boolean => Object.keys(query).length === 0;

/** The parameters of the API. */
export type QueryParameters = {[Name in keyof HoldFilter]?: string | undefined};

/** Durations count back from `nowMs`. */
export const parametersOf = (query: HoldQuery, nowMs: number): QueryParameters => {
  const {domain, sender, recipient, subject, since, until, least, most, reason, node} = query;
  return {
    domain,
    sender,
    recipient,
    subject,
    since: since && momentOf(since, nowMs),
    until: until && momentOf(until, nowMs),
    min_score: least && bound(least, 1),
    max_score: most && bound(most, -1),
    reason,
    node,
  };
};

/** An invalid time is sent, and the API refuses it. Without it more mail than intended would match. */
const momentOf = (text: string, nowMs: number): string => isoMomentBefore(text, nowMs) ?? text;

/** The bounds of the API are inclusive. Scores have a few decimals, so none lies within a billionth of a bound. */
const bound = ({score, isIncluded}: ScoreBound, direction: 1 | -1): string =>
  isIncluded ? String(score) : (score + direction * 1e-9).toFixed(9);

/** For a question: `from news@x.org, in the last 2h, score at least 8 and below 15`. */
export const queryWords = (query: HoldQuery): string => {
  if (isEmptyQuery(query)) return 'all held mail';
  const {domain, sender, recipient, subject, since, until, least, most, reason, node} = query;
  const scores = [
    least && `${least.isIncluded ? 'at least' : 'above'} ${least.score}`,
    most && `${most.isIncluded ? 'at most' : 'below'} ${most.score}`,
  ].filter(Boolean);
  return [
    domain !== undefined && `of ${domain}`,
    sender !== undefined && (sender === '<>' ? 'bounces' : `from ${sender}`),
    recipient !== undefined && `to ${recipient}`,
    subject !== undefined && `subject with ${JSON.stringify(subject)}`,
    since !== undefined && (parseDuration(since) === undefined ? `since ${since}` : `in the last ${since}`),
    until !== undefined && (parseDuration(until) === undefined ? `before ${until}` : `more than ${until} ago`),
    scores.length > 0 && `score ${scores.join(' and ')}`,
    reason !== undefined && `held for ${reason}`,
    node !== undefined && `on ${node}`,
  ]
    .filter(Boolean)
    .join(', ');
};
