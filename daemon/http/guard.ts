// The way in: who asks, how often, and whether they may. One function decides what a key may do (shared/scopes.ts).
import type {RouterMiddleware} from '@koa/router';
import type {Middleware as KoaMiddleware} from 'koa';
import {Fault} from '../../shared/fault.ts';
import {type Permission, permissionsOf, scopesWith} from '../../shared/scopes.ts';
import type {Keys} from '../services/keys.ts';
import type {PatientLimits} from '../services/patient-limits.ts';
import type {RequestState} from './state.ts';

/** Authenticates and counts the request; the limit's headers go on every answer, refusals included. */
export const authenticate =
  (keys: Keys, limits: PatientLimits): KoaMiddleware<RequestState> =>
  async (ctx, next) => {
    const key = await keys.identify(ctx.get('X-API-Key') || undefined);
    const {isAllowed, awaitsPeers, limit, remaining, resetSeconds} = await limits.take(key.id, key.rate_limit_per_minute);
    ctx.set({'RateLimit-Policy': `"minute";q=${limit};w=60`, RateLimit: `"minute";r=${remaining};t=${resetSeconds}`});
    const reach = keys.admit(key);
    if (!isAllowed) {
      const why = awaitsPeers
        ? 'other nodes have yet to hear of the latest requests of the key'
        : `the key's ${limit} requests of the last minute are used up`;
      throw new Fault('rate_limited', `${why}; wait ${resetSeconds} s`, {retryAfterSeconds: resetSeconds});
    }
    ctx.state.actor = {keyId: key.id, scope: key.scope, reach, remoteAddress: ctx.req.socket.remoteAddress ?? null};
    await next();
  };

/** Lets through only keys whose scope grants `permission`. Every route names one. */
export const needs = (permission: Permission): RouterMiddleware<RequestState> => needsOneOf([permission]);

/** The same for a route that has something for whoever may do any of these. */
export const needsOneOf =
  (permissions: Permission[]): RouterMiddleware<RequestState> =>
  async (ctx, next) => {
    const {scope, reach} = ctx.state.actor;
    if (!permissionsOf(scope, reach).some(permission => permissions.includes(permission))) {
      const requiredScopes = [...new Set(permissions.flatMap(scopesWith))];
      const why = reach.kind === 'none' ? 'the domain this key is bound to is gone' : `the scope ${scope} does not permit this`;
      throw new Fault('insufficient_scope', `${why}; it takes a key of scope ${requiredScopes.join(' or ')}`, {requiredScopes});
    }
    await next();
  };
