import type Router from '@koa/router';
import type {ClusterDrift} from '../../../shared/cluster-drift.ts';
import {auditQuerySchema} from '../../../shared/hold-filter.ts';
import type {Audit} from '../../services/audit/audit.ts';
import type {Cluster} from '../../services/cluster/cluster.ts';
import {reply} from '../answer.ts';
import {queryOf, requireNoQuery} from '../parameters.ts';
import {replyGathered} from './gathered-answer.ts';
import {needs} from './guard.ts';
import {setPaging} from './paging.ts';
import type {RequestState} from './state.ts';

interface Needs {
  cluster: Cluster;
  audit: Audit;
  explainDrift(): Promise<ClusterDrift>;
}

export const routeCluster = (router: Router<RequestState>, {cluster, audit, explainDrift}: Needs): void => {
  router.get('/cluster/status', needs('cluster:read'), async ctx => {
    requireNoQuery(ctx);
    reply(ctx, await cluster.status());
  });

  router.get('/cluster/drift', needs('cluster:read'), async ctx => {
    requireNoQuery(ctx);
    reply(ctx, await explainDrift());
  });

  router.get('/audit', needs('audit:read'), async ctx => {
    const query = queryOf(ctx, auditQuerySchema);
    const {result, unreachable} = await audit.list(ctx.state.actor, query);
    setPaging(ctx, query, result.total);
    replyGathered(ctx, result.entries, unreachable);
  });
};
