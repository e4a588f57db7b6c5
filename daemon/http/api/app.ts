// Public API: guards, then routes.
import type {IncomingMessage} from 'node:http';
import Router from '@koa/router';
import Koa, {type Middleware} from 'koa';
import type {Logger} from 'pino';
import type {ClusterDrift} from '../../../shared/cluster-drift.ts';
import {Fault} from '../../../shared/fault.ts';
import type {KeyFailures} from '../../services/access/key-failures.ts';
import type {Keys} from '../../services/access/keys.ts';
import type {ClusterRateLimits} from '../../services/access/rate-limit.ts';
import type {Audit} from '../../services/audit/audit.ts';
import type {Cluster} from '../../services/cluster/cluster.ts';
import type {JoinTokens} from '../../services/cluster/join-tokens.ts';
import type {Membership} from '../../services/cluster/membership.ts';
import type {Removal} from '../../services/cluster/removal.ts';
import type {DmarcView} from '../../services/dmarc/dmarc-view.ts';
import type {ReportedView} from '../../services/dmarc/reported-view.ts';
import type {DnsView} from '../../services/dns/domain-dns.ts';
import type {DomainParts} from '../../services/domains/domain-parts.ts';
import type {Domains} from '../../services/domains/domains.ts';
import type {GlobalFilters} from '../../services/domains/mail-filters.ts';
import type {Events} from '../../services/events/events.ts';
import type {Quarantine} from '../../services/quarantine/quarantine.ts';
import type {KeySearches} from '../../services/quarantine/search-limits.ts';
import {answerErrors} from '../answer.ts';
import {setMatchedRoute} from '../matched-route.ts';
import type {Metrics} from '../metrics.ts';
import {observe, type RequestState} from '../observe.ts';
import {announceDeprecations, type DeprecatedOperation} from './announce-deprecations.ts';
import {authenticate, countKeyFailures} from './guard.ts';
import {adminText, curatedText} from './openapi-text.ts';
import {routeCluster, routeClusterNodes} from './routes-cluster.ts';
import {routeDmarc} from './routes-dmarc.ts';
import {routeDns} from './routes-dns.ts';
import {routeDomains} from './routes-domains.ts';
import {routeEvents} from './routes-events.ts';
import {routeFilters} from './routes-filters.ts';
import {routeKeys} from './routes-keys.ts';
import {routeQuarantine} from './routes-quarantine.ts';

export interface ApiNeeds {
  keys: Keys;
  limits: ClusterRateLimits;
  keyFailures: KeyFailures;
  domains: Domains;
  domainParts: DomainParts;
  globalFilters: GlobalFilters;
  dns: DnsView;
  quarantine: Quarantine;
  keySearches: KeySearches;
  cluster: Cluster;
  audit: Audit;
  dmarc: {view: DmarcView & ReportedView};
  events: Events;
  /** Throws on a node that was removed from the cluster. */
  membership: Pick<Membership, 'requireMember'>;
  explainDrift(): Promise<ClusterDrift>;
  /** Called for each request with a valid key that the rate limit permits. */
  noteKeyShown(request: IncomingMessage): void;
  joinTokens: JoinTokens;
  removal: Removal;
  deprecations: readonly DeprecatedOperation[];
  metrics: Metrics;
  log: Logger;
}

const prefix = '/api/v1';
/** The interface descriptions, which need no key. */
const descriptions = new Map([
  [`${prefix}/openapi.yaml`, curatedText],
  [`${prefix}/openapi-admin.yaml`, adminText],
]);

export const createApi = (needs: ApiNeeds): Koa<RequestState> => {
  const router = new Router<RequestState>({prefix, sensitive: true});
  routeKeys(router, needs.keys);
  routeDomains(router, needs.domains, needs.domainParts);
  routeFilters(router, needs.globalFilters);
  routeDns(router, needs.dns);
  routeQuarantine(router, needs.quarantine, needs.keySearches);
  routeCluster(router, needs);
  routeClusterNodes(router, needs.joinTokens, needs.removal);
  routeDmarc(router, needs.dmarc.view, needs.keySearches);
  routeEvents(router, needs.events);

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
  app.use(announceDeprecations({...needs, prefix}));
  app.use(router.routes());
  app.use(refuseOtherMethods(router));
  app.use(async () => {
    throw new Fault('not_found', 'there is nothing at this path; GET /api/v1/openapi.yaml describes the interface');
  });
  app.on('error', error => needs.log.debug({err: error as Error}, 'response aborted'));
  return app;
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
