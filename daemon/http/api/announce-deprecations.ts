// Announcement of deprecated operations of the API to their callers, and a count of such requests. Every answer to them, also to a
// failed request, has the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), and `X-Deprecated` names the operation.
import type {Middleware} from 'koa';
import {matchedRoute} from '../matched-route.ts';
import type {Metrics} from '../metrics.ts';
import type {RequestState} from '../observe.ts';
import type {Deprecation} from './operation.ts';

export interface DeprecatedOperation {
  operationId: string;
  /** In capital letters. */
  method: string;
  /** Path of the operation below the API's prefix: `/domains/{id}`. */
  path: string;
  deprecation: Deprecation;
}

interface Needs {
  deprecations: readonly DeprecatedOperation[];
  /** The router's prefix before the paths of the description. */
  prefix: string;
  metrics: Pick<Metrics, 'deprecatedRequest'>;
}

/** Middleware before the router: when the router is done, the route is known. */
export const announceDeprecations = ({deprecations, prefix, metrics}: Needs): Middleware<RequestState> => {
  const byRoute = new Map(deprecations.map(each => [`${each.method} ${prefix}${each.path.replace(/\{(\w+)\}/g, ':$1')}`, each]));
  // An unused operation counts 0 instead of being absent.
  for (const {operationId} of deprecations) metrics.deprecatedRequest(operationId, 0);

  return async (ctx, next) => {
    try {
      await next();
    } finally {
      const method = ctx.method === 'HEAD' ? 'GET' : ctx.method;
      const used = byRoute.get(`${method} ${matchedRoute(ctx)}`);
      if (used) {
        const {Link, ...headers} = deprecationHeaders(used);
        ctx.set(headers);
        if (Link !== undefined) ctx.append('Link', Link);
        metrics.deprecatedRequest(used.operationId);
      }
    }
  };
};

export const deprecationHeaders = ({method, path, deprecation}: DeprecatedOperation): Record<string, string> => {
  const {since, sunset, page} = deprecation;
  return {
    Deprecation: `@${Date.parse(since) / 1000}`,
    Sunset: new Date(sunset).toUTCString(),
    'X-Deprecated': `${method} ${path}`,
    ...(page !== undefined && {Link: `<${page}>; rel="deprecation"; type="text/html"`}),
  };
};
