// Routes of the cluster: status, drift, tokens and nodes.
import type Router from '@koa/router';
import type {ClusterDrift} from '../../../shared/cluster-drift.ts';
import {auditQuerySchema, removeNodeQuerySchema} from '../../../shared/hold-filter.ts';
import type {Audit} from '../../services/audit/audit.ts';
import type {Cluster} from '../../services/cluster/cluster.ts';
import type {JoinTokens} from '../../services/cluster/join-tokens.ts';
import type {Removal} from '../../services/cluster/removal.ts';
import {nameUnreachable, reply} from '../answer.ts';
import type {RequestState} from '../observe.ts';
import {nodeIdOf, noQuery, optionalJsonBody, queryOf} from '../request-input.ts';
import {replyGathered, setPaging} from './gathered-answer.ts';
import {needs} from './guard.ts';

interface Needs {
  cluster: Cluster;
  audit: Audit;
  explainDrift(): Promise<ClusterDrift>;
}

export const routeCluster = (router: Router<RequestState>, {cluster, audit, explainDrift}: Needs): void => {
  router.get('/cluster/status', needs('cluster:read'), noQuery, async ctx => reply(ctx, await cluster.status()));

  router.get('/cluster/drift', needs('cluster:read'), noQuery, async ctx => reply(ctx, await explainDrift()));

  router.get('/audit', needs('audit:read'), async ctx => {
    const query = queryOf(ctx, auditQuerySchema);
    const {result, unreachable} = await audit.list(ctx.state.actor, query);
    setPaging(ctx, query, result.total);
    replyGathered(ctx, result.entries, unreachable);
  });
};

export const routeClusterNodes = (router: Router<RequestState>, joinTokens: JoinTokens, removal: Removal): void => {
  router.post('/cluster/tokens', needs('cluster:write'), optionalJsonBody, noQuery, async ctx =>
    reply(ctx, await joinTokens.create(ctx.state.actor, ctx.state.body), 'Created'),
  );

  router.get('/cluster/nodes/:node_id', needs('cluster:write'), noQuery, async ctx =>
    reply(ctx, await removal.describe(nodeIdOf(ctx))),
  );

  router.delete('/cluster/nodes/:node_id', needs('cluster:write'), async ctx => {
    const {force, revoke_keys} = queryOf(ctx, removeNodeQuerySchema);
    const options = {isForced: force, revokesKeys: revoke_keys};
    const {unreachable, removed} = await removal.remove(ctx.state.actor, nodeIdOf(ctx), options);
    nameUnreachable(ctx, unreachable);
    reply(ctx, removed);
  });
};
