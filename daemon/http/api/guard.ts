// Guards of the API: authentication, rate limit, permission. One function decides what a key may do (shared/scopes.ts).
import type {IncomingMessage} from 'node:http';
import type {RouterMiddleware} from '@koa/router';
import type {Middleware as KoaMiddleware} from 'koa';
import {Fault} from '../../../shared/fault.ts';
import {permissionsOf, scopesWith} from '../../../shared/scopes.ts';
import {guessLimit, type KeyFailures} from '../../services/access/key-failures.ts';
import type {Keys} from '../../services/access/keys.ts';
import type {ClusterRateLimits, RateLimitState} from '../../services/access/rate-limit.ts';
import {type RequestState, remoteAddressOf} from '../observe.ts';
import type {Endpoint} from './endpoint.ts';

/** Counts requests whose key is refused. A client that has sent too many unknown keys gets 429 instead. */
export const countKeyFailures =
  (failures: KeyFailures): KoaMiddleware<RequestState> =>
  async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (!(error instanceof Fault) || !error.code.startsWith('key_')) throw error;
      const isGuess = error.code === 'key_invalid';
      const {isLogged, isAllowed, ...rest} = failures.note(remoteAddressOf(ctx.req), isGuess);
      ctx.state.isCounted = !isLogged;
      if (isGuess) ctx.set(rateLimitHeaders('address', {limit: guessLimit, ...rest}));
      throw isAllowed ? error : tooMany('too many unknown API keys have come from this address', rest);
    }
  };

interface AuthenticationNeeds {
  keys: Keys;
  limits: ClusterRateLimits;
  noteKeyShown(request: IncomingMessage): void;
}

/** Authenticates and counts the request. Every answer has the rate limit headers, including refusals. */
export const authenticate =
  ({keys, limits, noteKeyShown}: AuthenticationNeeds): KoaMiddleware<RequestState> =>
  async (ctx, next) => {
    const key = await keys.identify(ctx.get('X-API-Key') || undefined);
    const {isAllowed, awaitsPeers, ...state} = await limits.take(key.id, key.rate_limit_per_minute);
    ctx.set(rateLimitHeaders('minute', state));
    const reach = keys.admit(key);
    if (!isAllowed) {
      const why = awaitsPeers
        ? 'other nodes have yet to hear of the latest requests of the key'
        : `the key's ${state.limit} requests of the last minute are used up`;
      throw tooMany(why, state);
    }
    // Not before: the limit of the key then bounds the connections that it opens, too.
    noteKeyShown(ctx.req);
    ctx.state.actor = {keyId: key.id, scope: key.scope, reach, remoteAddress: remoteAddressOf(ctx.req)};
    await next();
  };

type LimitState = Pick<RateLimitState, 'limit' | 'remaining' | 'resetSeconds'>;

/** draft-ietf-httpapi-ratelimit-headers-08, sections 3 and 4. */
const rateLimitHeaders = (policy: string, {limit, remaining, resetSeconds}: LimitState): Record<string, string> => ({
  'RateLimit-Policy': `"${policy}";q=${limit};w=60`,
  RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
});

const tooMany = (why: string, {resetSeconds}: Pick<LimitState, 'resetSeconds'>): Fault =>
  new Fault('rate_limited', `${why}; wait ${resetSeconds} s`, {retryAfterSeconds: resetSeconds});

/** Admits only keys whose scope grants `permission`, or at least one of several. */
export const needs =
  (permission: Endpoint['permission']): RouterMiddleware<RequestState> =>
  async (ctx, next) => {
    const {scope, reach} = ctx.state.actor;
    if (!permissionsOf(scope, reach).some(granted => [permission].flat().includes(granted))) {
      const requiredScopes = scopesWith(permission);
      const why = reach.kind === 'none' ? 'every domain this key is bound to is gone' : `the scope ${scope} does not permit this`;
      throw new Fault('insufficient_scope', `${why}; it takes a key of scope ${requiredScopes.join(' or ')}`, {requiredScopes});
    }
    await next();
  };
