import type Router from '@koa/router';
import {bulkRequestSchema, holdActions} from '../../../shared/held-mail.ts';
import {holdListQuerySchema, holdSummaryQuerySchema} from '../../../shared/hold-filter.ts';
import type {Quarantine} from '../../services/quarantine/quarantine.ts';
import type {KeySearches} from '../../services/quarantine/search-limits.ts';
import {validate} from '../../services/validate.ts';
import {reply} from '../answer.ts';
import type {RequestState} from '../observe.ts';
import {bulkJsonBody, mailOf, noQuery, queryOf} from '../request-input.ts';
import {complete, replyGathered, setPaging} from './gathered-answer.ts';
import {goneOf} from './gone.ts';
import {needs} from './guard.ts';

export const routeQuarantine = (router: Router<RequestState>, quarantine: Quarantine, searches: KeySearches): void => {
  router.get('/mail/quarantine', needs('quarantine:read'), async ctx => {
    const {limit, offset, strict, ...filter} = queryOf(ctx, holdListQuerySchema);
    const {actor} = ctx.state;
    const gathered = await searches.run({keyId: actor.keyId, filter, gone: goneOf(ctx)}, async () =>
      quarantine.list(actor, filter, {limit, offset}),
    );
    const {result, unreachable} = complete(gathered, strict);
    setPaging(ctx, {limit, offset}, result.total);
    replyGathered(ctx, result.mails, unreachable);
  });

  router.get('/mail/quarantine/summary', needs('quarantine:read'), async ctx => {
    const {strict, ...filter} = queryOf(ctx, holdSummaryQuerySchema);
    const {actor} = ctx.state;
    const gathered = await searches.run({keyId: actor.keyId, filter, gone: goneOf(ctx)}, async () =>
      quarantine.summary(actor, filter),
    );
    const {result, unreachable} = complete(gathered, strict);
    replyGathered(ctx, result, unreachable);
  });

  for (const action of holdActions) {
    router.post(`/mail/quarantine/${action}`, needs('quarantine:act'), bulkJsonBody, noQuery, async ctx => {
      const {items} = validate(bulkRequestSchema, ctx.state.body);
      reply(ctx, await quarantine.actOnAll(ctx.state.actor, action, items));
    });

    router.post(`/mail/quarantine/:node_id/:queue_id/${action}`, needs('quarantine:act'), noQuery, async ctx =>
      reply(ctx, await quarantine.act(ctx.state.actor, action, mailOf(ctx))),
    );
  }

  router.get('/mail/quarantine/:node_id/:queue_id', needs('quarantine:read'), noQuery, async ctx =>
    reply(ctx, await quarantine.get(ctx.state.actor, mailOf(ctx))),
  );

  router.get('/mail/quarantine/:node_id/:queue_id/body', needs('quarantine:read'), noQuery, async ctx => {
    const mail = mailOf(ctx);
    const {sizeBytes, stream} = await quarantine.body(ctx.state.actor, mail);
    ctx.status = 200;
    ctx.body = stream;
    ctx.set({
      'Content-Type': 'text/rfc822',
      'Content-Length': String(sizeBytes),
      'Content-Disposition': `attachment; filename="${mail.queue_id}.eml"`,
      'Content-Security-Policy': "default-src 'none'; sandbox",
    });
  });
};
