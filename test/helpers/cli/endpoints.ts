// Endpoints of the API, by method and path.
import {endpoints} from '../../../daemon/http/api/endpoints.ts';

export const operations = endpoints.map(({method, path}) => ({
  method: method.toUpperCase(),
  segments: path.split('/'),
}));

/** `path` is relative to the API's prefix; a segment `{}` stands for any segment. Without a method, any method matches. */
export const isDescribed = (path: string, method?: string): boolean => {
  const segments = path.split('/');
  return operations.some(
    operation =>
      (method === undefined || operation.method === method) &&
      operation.segments.length === segments.length &&
      operation.segments.every((segment, n) => segment === segments[n] || segment.startsWith('{') || segments[n] === '{}'),
  );
};
