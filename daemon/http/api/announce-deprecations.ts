// Announcement of deprecated parts of the API to callers that use them, and a count of such requests. Every answer to them, also to a
// failed request, has the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), and `X-Deprecated` names the parts.
import type {Middleware} from 'koa';
import {groupBy} from '../../../shared/group-by.ts';
import {matchedRoute} from '../matched-route.ts';
import type {Metrics} from '../metrics.ts';
import type {DeprecatedPart, DeprecatedUse} from './deprecations.ts';
import type {RequestState} from './state.ts';

interface Needs {
  /** The deprecated parts of the description. */
  deprecations: readonly DeprecatedUse[];
  /** The router's prefix before the paths of the description. */
  prefix: string;
  metrics: Pick<Metrics, 'deprecatedRequest'>;
}

/** Middleware before the router: when the router is done, the route and the body are known. */
export const announceDeprecations = ({deprecations, prefix, metrics}: Needs): Middleware<RequestState> => {
  const byRoute = groupBy(deprecations, ({method, path}) => `${method} ${prefix}${path.replace(/\{(\w+)\}/g, ':$1')}`);
  // An unused part counts 0 instead of being absent.
  for (const {operation, part} of deprecations) metrics.deprecatedRequest({operation, part: partName(part)}, 0);

  return async (ctx, next) => {
    try {
      await next();
    } finally {
      const method = ctx.method === 'HEAD' ? 'GET' : ctx.method;
      const used = (byRoute.get(`${method} ${matchedRoute(ctx)}`) ?? []).filter(({part}) => isUsed(part, ctx));
      const {Link, ...headers} = deprecationHeaders(used);
      ctx.set(headers);
      if (Link !== undefined) ctx.append('Link', Link);
      for (const {operation, part} of used) metrics.deprecatedRequest({operation, part: partName(part)});
    }
  };
};

/** Of several parts the earliest dates count; no headers without parts. */
export const deprecationHeaders = (used: readonly DeprecatedUse[]): Record<string, string> => {
  const [since] = used.map(({deprecation}) => deprecation.since).sort();
  const [sunset] = used.map(({deprecation}) => deprecation.sunset).sort();
  if (since === undefined || sunset === undefined) return {};
  const pages = new Set(used.flatMap(({deprecation: {page}}) => page ?? []));
  return {
    Deprecation: `@${Date.parse(since) / 1000}`,
    Sunset: new Date(sunset).toUTCString(),
    'X-Deprecated': used.map(nameOf).join(', '),
    ...(pages.size > 0 && {Link: [...pages].map(page => `<${page}>; rel="deprecation"; type="text/html"`).join(', ')}),
  };
};

/** `GET /domains`, `parameter node of GET /mail/quarantine`, `field tenant_id of POST /domains`. */
const nameOf = ({method, path, part}: DeprecatedUse): string => {
  const operation = `${method} ${path}`;
  switch (part.in) {
    case 'operation':
      return operation;
    case 'query':
      return `parameter ${part.name} of ${operation}`;
    case 'header':
      return `header ${part.name} of ${operation}`;
    case 'body':
      return `field ${fieldName(part.path)} of ${operation}`;
    default:
      return part satisfies never;
  }
};

/** The name of a part in a metric label, which has one value for each deprecated part. */
const partName = (part: DeprecatedPart): string => {
  if (part.in === 'operation') return 'operation';
  return part.in === 'body' ? `body ${fieldName(part.path)}` : `${part.in} ${part.name}`;
};

const fieldName = (path: readonly string[]): string => path.filter(step => step !== '*').join('.');

interface Asked {
  querystring: string;
  headers: NodeJS.Dict<string | string[]>;
  state: Partial<RequestState>;
}

const isUsed = (part: DeprecatedPart, {querystring, headers, state}: Asked): boolean => {
  switch (part.in) {
    case 'operation':
      return true;
    case 'query':
      return new URLSearchParams(querystring).has(part.name);
    case 'header':
      return headers[part.name.toLowerCase()] !== undefined;
    case 'body':
      return has(state.body, part.path);
    default:
      return part satisfies never;
  }
};

/** Whether a member exists, with any value. */
const has = (value: unknown, [step, ...rest]: readonly string[]): boolean => {
  if (step === undefined) return true;
  if (typeof value !== 'object' || value === null) return false;
  if (step === '*') return Array.isArray(value) && value.some(entry => has(entry, rest));
  return Object.hasOwn(value, step) && has((value as Record<string, unknown>)[step], rest);
};
