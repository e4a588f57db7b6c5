import type Router from '@koa/router';
import {forceQuerySchema} from '../../../shared/hold-filter.ts';
import type {Keys} from '../../services/access/keys.ts';
import {nameUnreachable, reply} from '../answer.ts';
import type {RequestState} from '../observe.ts';
import {idOf, jsonBody, noQuery, optionalJsonBody, queryOf} from '../request-input.ts';
import {needs} from './guard.ts';

export const routeKeys = (router: Router<RequestState>, keys: Keys): void => {
  router.get('/auth/me', needs('me:read'), noQuery, async ctx => reply(ctx, await keys.me(ctx.state.actor.keyId)));

  router.get('/auth/api-keys', needs('keys:read'), noQuery, async ctx => reply(ctx, await keys.list()));

  router.post('/auth/api-keys', needs('keys:write'), jsonBody, noQuery, async ctx =>
    reply(ctx, await keys.create(ctx.state.actor, ctx.state.body), 'Created'),
  );

  router.post('/auth/api-keys/:id/revoke', needs('keys:write'), optionalJsonBody, async ctx => {
    const {force} = queryOf(ctx, forceQuerySchema);
    const {key, unreachable} = await keys.revoke(ctx.state.actor, idOf(ctx), {body: ctx.state.body, isForced: force});
    nameUnreachable(ctx, unreachable);
    reply(ctx, key);
  });

  router.delete('/auth/api-keys/:id', needs('keys:write'), async ctx => {
    const {force} = queryOf(ctx, forceQuerySchema);
    const {unreachable} = await keys.remove(ctx.state.actor, idOf(ctx), force);
    nameUnreachable(ctx, unreachable);
    reply(ctx, null);
  });
};
