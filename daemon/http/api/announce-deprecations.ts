// Announcement of deprecated operations of the API to their callers, and a count of such requests. Every answer to them, also to a
// failed request, has the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), and `X-Deprecated` names the operation.
import type {Middleware} from 'koa';
import {matchedRoute} from '../matched-route.ts';
import type {Metrics} from '../metrics.ts';
import type {RequestState} from '../observe.ts';
import {type Deprecation, type Endpoint, routePath} from './endpoint.ts';

interface Needs {
  endpoints: readonly Endpoint[];
  /** The router's prefix before their paths. */
  prefix: string;
  metrics: Pick<Metrics, 'deprecatedRequest'>;
}

/** Middleware before the router: when the router is done, the route is known. */
export const announceDeprecations = ({endpoints, prefix, metrics}: Needs): Middleware<RequestState> => {
  const byRoute = new Map<string, {operationId: string; headers: Record<string, string>}>();
  for (const {operationId, method, path, deprecated} of endpoints)
    if (deprecated) {
      byRoute.set(`${method} ${prefix}${routePath(path)}`, {
        operationId,
        headers: deprecationHeaders(`${method.toUpperCase()} ${path}`, deprecated),
      });
      // An unused operation counts 0 instead of being absent.
      metrics.deprecatedRequest(operationId, 0);
    }

  return async (ctx, next) => {
    try {
      await next();
    } finally {
      const method = ctx.method === 'HEAD' ? 'get' : ctx.method.toLowerCase();
      const used = byRoute.get(`${method} ${matchedRoute(ctx)}`);
      if (used) {
        const {Link, ...headers} = used.headers;
        ctx.set(headers);
        if (Link !== undefined) ctx.append('Link', Link);
        metrics.deprecatedRequest(used.operationId);
      }
    }
  };
};

/** `operation` is its method and path: `GET /domains/{id}`. */
export const deprecationHeaders = (operation: string, {since, sunset, page}: Deprecation): Record<string, string> => ({
  Deprecation: `@${Date.parse(since) / 1000}`,
  Sunset: new Date(sunset).toUTCString(),
  'X-Deprecated': operation,
  ...(page !== undefined && {Link: `<${page}>; rel="deprecation"; type="text/html"`}),
});
