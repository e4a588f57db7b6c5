// Routes of the filters for all domains. Reading them takes the same permission: they may name what concerns other tenants.
import type Router from '@koa/router';
import type {GlobalFilters} from '../../services/domains/mail-filters.ts';
import {reply} from '../answer.ts';
import type {RequestState} from '../observe.ts';
import {idOf, jsonBody, noQuery} from '../request-input.ts';
import {needs} from './guard.ts';

export const routeFilters = (router: Router<RequestState>, filters: GlobalFilters): void => {
  router.get('/filters', needs('cluster:write'), noQuery, async ctx => reply(ctx, await filters.list()));

  router.post('/filters', needs('cluster:write'), jsonBody, noQuery, async ctx =>
    reply(ctx, await filters.add(ctx.state.actor, ctx.state.body), 'Created'),
  );

  router.delete('/filters/:id', needs('cluster:write'), noQuery, async ctx => {
    await filters.remove(ctx.state.actor, idOf(ctx));
    reply(ctx, null);
  });
};
