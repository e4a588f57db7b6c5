// Deprecation headers of an answer: RFC 9745 and RFC 8594, and mfd's own header that names the deprecated feature.
import type {IncomingHttpHeaders} from 'node:http';

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

/** The day in UTC, as in the API's description. Undefined for anything that is no time, or is after the year 9999. */
const dayOf = (ms: number): string | undefined => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : /^\d{4}-\d\d-\d\d/.exec(date.toISOString())?.[0];
};
