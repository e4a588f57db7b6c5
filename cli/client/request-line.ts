// The URL of a request, and its line in the output of --verbose.
import {usageError} from '../errors.ts';
import type {Incoming} from './exchange.ts';

export interface RequestTarget {
  /** Below `/api/v1/`. */
  path: string;
  /** Members that are undefined are left out. */
  query?: Record<string, string | number | boolean | undefined> | undefined;
}

/** `api` takes a path from the command line: it must not lead the key to another host or out of the API. */
export const requestUrl = (baseUrl: URL, {path, query = {}}: RequestTarget): URL => {
  const url = new URL(baseUrl.href + path.replace(/^\/+/, ''));
  if (url.origin !== baseUrl.origin || !url.pathname.startsWith(baseUrl.pathname))
    throw usageError(`${JSON.stringify(path)} leads out of ${baseUrl.pathname}`);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
};

export const describe = (method: string, url: URL, {status, headers, ms}: Omit<Incoming, 'body'>): string =>
  `${method} ${url.pathname}${url.search} ${status} ${Math.round(ms)} ms, request ${headers['x-request-id'] ?? '-'}`;
