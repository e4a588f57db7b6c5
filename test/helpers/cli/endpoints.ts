// Operations of the administrators' API description, by method and path.
import {adminOperations} from '../../../daemon/http/api/operations-admin.ts';
import {curatedOperations} from '../../../daemon/http/api/operations-curated.ts';

export const operations = [...curatedOperations, ...adminOperations].map(({method, path}) => ({
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
