// The operations of the administrators' description, by method and path.
import {adminOperations} from '../../../daemon/http/api/operations-admin.ts';
import {curatedOperations} from '../../../daemon/http/api/operations-curated.ts';

export const operations = [...curatedOperations, ...adminOperations].map(({method, path}) => ({
  method: method.toUpperCase(),
  segments: path.split('/'),
}));

/** `path` is below the API's prefix; a segment `{}` of it stands for any one. Without a method, it is any. */
export const isDescribed = (path: string, method?: string): boolean => {
  const segments = path.split('/');
  return operations.some(
    operation =>
      (method === undefined || operation.method === method) &&
      operation.segments.length === segments.length &&
      operation.segments.every((segment, n) => segment === segments[n] || segment.startsWith('{') || segments[n] === '{}'),
  );
};
