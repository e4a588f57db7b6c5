// Which nodes belong to the cluster.
import type Router from '@koa/router';
import type {JoinTokens} from '../services/join-tokens.ts';
import {reply} from './answer.ts';
import {needs} from './guard.ts';
import {optionalJsonBody} from './json-body.ts';
import {requireNoQuery} from './parameters.ts';
import type {RequestState} from './state.ts';

export const routeClusterNodes = (router: Router<RequestState>, joinTokens: JoinTokens): void => {
  router.post('/cluster/tokens', needs('cluster:write'), optionalJsonBody, async ctx => {
    requireNoQuery(ctx);
    reply(ctx, await joinTokens.create(ctx.state.actor, ctx.state.body), 'Created');
  });
};
