// Public API: guards, then routes.
import type {IncomingMessage} from 'node:http';
import Router from '@koa/router';
import Koa, {type Middleware} from 'koa';
import type {Logger} from 'pino';
import {Fault} from '../../../shared/fault.ts';
import {noQuerySchema} from '../../../shared/hold-filter.ts';
import type {KeyFailures} from '../../services/access/key-failures.ts';
import type {ClusterRateLimits} from '../../services/access/rate-limit.ts';
import type {Membership} from '../../services/cluster/membership.ts';
import {answerErrors} from '../answer.ts';
import {setMatchedRoute} from '../matched-route.ts';
import type {Metrics} from '../metrics.ts';
import {observe, type RequestState} from '../observe.ts';
import {jsonBodyOf, queryOf, refuseBody} from '../request-input.ts';
import {announceDeprecations} from './announce-deprecations.ts';
import {type ApiServices, type Endpoint, routePath} from './endpoint.ts';
import {endpoints} from './endpoints.ts';
import {authenticate, countKeyFailures, needs} from './guard.ts';
import {adminText, curatedText} from './openapi-text.ts';

export interface ApiNeeds extends ApiServices {
  limits: ClusterRateLimits;
  keyFailures: KeyFailures;
  /** Throws on a node that was removed from the cluster. */
  membership: Pick<Membership, 'requireMember'>;
  /** Called for each request with a valid key that the rate limit permits. */
  noteKeyShown(request: IncomingMessage): void;
  metrics: Metrics;
  log: Logger;
}

const prefix = '/api/v1';
/** The interface descriptions, which need no key. */
const descriptions = new Map([
  [`${prefix}/openapi.yaml`, curatedText],
  [`${prefix}/openapi-admin.yaml`, adminText],
]);

export const createApi = (needs: ApiNeeds, served = endpoints): Koa<RequestState> => {
  const router = createRouter(needs, served);
  const app = new Koa<RequestState>();
  app.use(observe(needs.metrics, needs.log));
  app.use(answerErrors(needs.log));
  app.use(describeInterface);
  app.use(async (_ctx, next) => {
    needs.membership.requireMember();
    await next();
  });
  // An unknown path requires a key too, so that strangers do not learn which paths exist.
  app.use(countKeyFailures(needs.keyFailures));
  app.use(authenticate(needs));
  app.use(announceDeprecations({endpoints: served, prefix, metrics: needs.metrics}));
  app.use(router.routes());
  app.use(refuseOtherMethods(router));
  app.use(async () => {
    throw new Fault('not_found', 'there is nothing at this path; GET /api/v1/openapi.yaml describes the interface');
  });
  app.on('error', error => needs.log.debug({err: error as Error}, 'response aborted'));
  return app;
};

/** Each route begins with its guard. */
const createRouter = (services: ApiServices, served: readonly Endpoint[]): Router<RequestState> => {
  const router = new Router<RequestState>({prefix, sensitive: true});
  for (const {method, path, permission, query = noQuerySchema, body, run} of served)
    router[method](routePath(path), needs(permission), async ctx => {
      if (body) ctx.state.body = await jsonBodyOf(ctx.req, body);
      else await refuseBody(ctx.req);
      await run(ctx, services, queryOf(ctx, query));
    });
  return router;
};

const describeInterface: Middleware<RequestState> = async (ctx, next) => {
  const description = descriptions.get(ctx.path);
  if (description === undefined) return next();
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
    throw new Fault('method_not_allowed', `${ctx.method} is not possible here`, {allow: ['GET', 'HEAD']});
  setMatchedRoute(ctx, ctx.path);
  ctx.set('Content-Type', 'application/yaml; charset=utf-8');
  ctx.body = description;
};

/** Answers requests that no route of `router` handled, for a known path with a method that it does not have. */
const refuseOtherMethods =
  (router: Router<RequestState>): Middleware<RequestState> =>
  async (ctx, next) => {
    const methods = router.match(ctx.path, ctx.method).path.flatMap(layer => layer.methods);
    if (methods.length > 0)
      throw new Fault('method_not_allowed', `${ctx.method} is not possible here`, {allow: [...new Set(methods)].sort()});
    await next();
  };
