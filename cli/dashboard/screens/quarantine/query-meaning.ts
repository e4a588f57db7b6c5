// Meaning of a query: as parameters of the API, and in words.
import type {Request} from '../../../client/client.ts';
import {isoMomentBefore, parseDuration} from '../../../command-line/time-text.ts';
import {type HoldQuery, isEmptyQuery, type ScoreBound} from './hold-query.ts';

export type QueryParameters = NonNullable<Request['query']>;

/** Durations are taken from `nowMs`. */
export const parametersOf = (query: HoldQuery, nowMs: number): QueryParameters => {
  const {since, until, least, most, ...others} = query;
  return {
    ...others,
    ...(since !== undefined && {since: isoMomentBefore(since, nowMs)}),
    ...(until !== undefined && {until: isoMomentBefore(until, nowMs)}),
    ...(least && {min_score: bound(least, 1)}),
    ...(most && {max_score: bound(most, -1)}),
  };
};

/** The API includes its bounds. Scores have a few decimals: a billionth beside a bound there is none. */
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
