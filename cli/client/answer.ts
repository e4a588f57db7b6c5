// Answers of the API: data, headers, and what is deprecated.

import type {IncomingHttpHeaders} from 'node:http';
import type {Envelope} from '../../shared/envelope.ts';
import {hasOwn} from '../../shared/has-own.ts';
import {CliError} from '../errors.ts';

export interface Answer<T> {
  data: T;
  etag: string | undefined;
  /** Lists only: the count of all matches, not only of this page. */
  totalCount: number | undefined;
  unreachableNodes: string[];
}

/** An unparsed answer with status 2xx, of any content type. */
export interface RawAnswer {
  body: Buffer;
  contentType: string;
  headers: IncomingHttpHeaders;
}

export interface Answered extends RawAnswer {
  /** The origin of the node that answered. */
  origin: string;
}

export const answerOf = <T>({body, headers, origin}: Answered): Answer<T> => {
  const {data} = parseEnvelope<T>(body, origin);
  const total = /^\d{1,15}$/.test(String(headers['x-total-count'])) ? Number(headers['x-total-count']) : undefined;
  return {data, etag: headers.etag, totalCount: total, unreachableNodes: listOf(headers['x-unreachable-nodes'])};
};

const parseEnvelope = <T>(body: Buffer, origin: string): Envelope<T> => {
  try {
    const envelope: unknown = JSON.parse(body.toString('utf8'));
    if (typeof envelope === 'object' && envelope !== null && hasOwn(envelope, 'data')) return envelope as Envelope<T>;
  } catch {}
  throw unexpectedAnswer(origin);
};

export const unexpectedAnswer = (origin: string): CliError =>
  new CliError('unexpected_answer', `${origin} answered, but not as mfd does`, {hint: 'check the address: mfctl context list'});

const listOf = (header: string | string[] | undefined): string[] =>
  [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');

/** Half a sentence for a person; undefined when nothing is deprecated. `asked` is used when the answer names no feature. */
export const deprecationIn = (headers: IncomingHttpHeaders, asked: string): string | undefined => {
  if (headers.deprecation === undefined) return undefined;
  const names = String(headers['x-deprecated'] ?? asked).split(', ');
  const since = dayOf(Number(/^@(\d{1,12})$/.exec(headers.deprecation as string)?.[1]) * 1000);
  const sunset = dayOf(Date.parse(String(headers.sunset)));
  const [is, goes] = names.length > 1 ? ['are', 'go'] : ['is', 'goes'];
  return [
    `${names.join(' and ')} ${is} deprecated`,
    ...(since === undefined ? [] : [` since ${since}`]),
    ...(sunset === undefined ? [] : [`, and ${goes} away on ${sunset}`]),
  ].join('');
};

/** The day in UTC, as in the API's description. Undefined for anything that is not a time, or is after the year 9999. */
const dayOf = (ms: number): string | undefined => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : /^\d{4}-\d\d-\d\d/.exec(date.toISOString())?.[0];
};
