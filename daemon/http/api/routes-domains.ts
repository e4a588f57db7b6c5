import type Router from '@koa/router';
import type {DomainParts} from '../../services/domains/domain-parts.ts';
import {type Domains, etagOf} from '../../services/domains/domains.ts';
import {reply} from '../answer.ts';
import type {Ctx, RequestState} from '../observe.ts';
import {idOf, jsonBody, noQuery} from '../request-input.ts';
import {needs} from './guard.ts';

export const routeDomains = (router: Router<RequestState>, domains: Domains, parts: DomainParts): void => {
  router.get('/domains', needs('domains:read'), noQuery, async ctx => reply(ctx, domains.list(ctx.state.actor)));

  router.post('/domains', needs('domains:create'), jsonBody, noQuery, async ctx => {
    const domain = await domains.create(ctx.state.actor, ctx.state.body);
    ctx.set({ETag: etagOf(domain), Location: `/api/v1/domains/${domain.id}`});
    reply(ctx, domain, 'Created');
  });

  router.get('/domains/:id', needs('domains:read'), noQuery, async ctx => {
    const domain = domains.get(ctx.state.actor, idOf(ctx));
    ctx.set('ETag', etagOf(domain));
    reply(ctx, domain);
  });

  router.put('/domains/:id', needs('domains:write'), jsonBody, noQuery, async ctx => {
    const domain = await domains.update(ctx.state.actor, idOf(ctx), ctx.state.body, ifMatchOf(ctx));
    ctx.set('ETag', etagOf(domain));
    reply(ctx, domain);
  });

  router.delete('/domains/:id', needs('domains:write'), noQuery, async ctx => {
    await domains.remove(ctx.state.actor, idOf(ctx), ifMatchOf(ctx));
    reply(ctx, null);
  });

  router.get('/domains/:id/filters', needs('domains:read'), noQuery, async ctx =>
    reply(ctx, await parts.filters(ctx.state.actor, idOf(ctx))),
  );

  router.post('/domains/:id/filters', needs('domains:write'), jsonBody, noQuery, async ctx =>
    reply(ctx, await parts.addFilter(ctx.state.actor, idOf(ctx), ctx.state.body), 'Created'),
  );

  router.delete('/domains/:id/filters/:filter_id', needs('domains:write'), noQuery, async ctx => {
    await parts.removeFilter(ctx.state.actor, idOf(ctx), idOf(ctx, 'filter_id'));
    reply(ctx, null);
  });

  router.get('/domains/:id/dkim-keys', needs('domains:read'), noQuery, async ctx =>
    reply(ctx, await parts.dkimKeys(ctx.state.actor, idOf(ctx))),
  );

  router.post('/domains/:id/dkim-keys', needs('domains:write'), jsonBody, noQuery, async ctx =>
    reply(ctx, await parts.addDkimKey(ctx.state.actor, idOf(ctx), ctx.state.body), 'Created'),
  );

  router.delete('/domains/:id/dkim-keys/:selector', needs('domains:write'), noQuery, async ctx => {
    await parts.removeDkimKey(ctx.state.actor, idOf(ctx), ctx.params.selector ?? '');
    reply(ctx, null);
  });
};

/** Read from the raw headers: an empty header is a condition that always fails, and differs from no header. */
const ifMatchOf = (ctx: Ctx): string | undefined => ctx.req.headers['if-match'];
