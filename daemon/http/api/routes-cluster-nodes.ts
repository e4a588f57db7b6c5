// Routes for the nodes of the cluster.
import type Router from '@koa/router';
import {removeNodeQuerySchema} from '../../../shared/hold-filter.ts';
import type {JoinTokens} from '../../services/cluster/join-tokens.ts';
import type {Removal} from '../../services/cluster/removal.ts';
import {nameUnreachable, reply} from '../answer.ts';
import {optionalJsonBody} from '../json-body.ts';
import {nodeIdOf, queryOf, requireNoQuery} from '../parameters.ts';
import {needs} from './guard.ts';
import type {RequestState} from './state.ts';

export const routeClusterNodes = (router: Router<RequestState>, joinTokens: JoinTokens, removal: Removal): void => {
  router.post('/cluster/tokens', needs('cluster:write'), optionalJsonBody, async ctx => {
    requireNoQuery(ctx);
    reply(ctx, await joinTokens.create(ctx.state.actor, ctx.state.body), 'Created');
  });

  router.get('/cluster/nodes/:node_id', needs('cluster:write'), async ctx => {
    requireNoQuery(ctx);
    reply(ctx, await removal.describe(nodeIdOf(ctx)));
  });

  router.delete('/cluster/nodes/:node_id', needs('cluster:write'), async ctx => {
    const {force, revoke_keys} = queryOf(ctx, removeNodeQuerySchema);
    const options = {isForced: force, revokesKeys: revoke_keys};
    const {unreachable, removed} = await removal.remove(ctx.state.actor, nodeIdOf(ctx), options);
    nameUnreachable(ctx, unreachable);
    reply(ctx, removed);
  });
};
