// Routes of DMARC: what was received for a domain, and reports to others.
import type Router from '@koa/router';
import {dmarcSourcesQuerySchema, dmarcSummaryQuerySchema, pageQuerySchema} from '../../../shared/hold-filter.ts';
import type {DmarcView} from '../../services/dmarc/dmarc-view.ts';
import {reportSubjectSchema} from '../../services/dmarc/peer-dmarc-protocol.ts';
import type {ReportedView} from '../../services/dmarc/reported-view.ts';
import type {KeySearches} from '../../services/quarantine/search-limits.ts';
import {validateParameters} from '../../services/validate.ts';
import type {RequestState} from '../observe.ts';
import {noQuery, queryOf} from '../request-input.ts';
import {replyGathered, setPaging} from './gathered-answer.ts';
import {goneOf} from './gone.ts';
import {needs} from './guard.ts';

const usualDays = 30;

const firstDay = (since = new Date(Date.now() - usualDays * 86_400_000).toISOString()): string => since.slice(0, 10);

export const routeDmarc = (router: Router<RequestState>, dmarc: DmarcView & ReportedView, searches: KeySearches): void => {
  router.get('/dmarc/summary', needs('domains:read'), async ctx => {
    const {domain, since} = queryOf(ctx, dmarcSummaryQuerySchema);
    const choice = {domain, since: firstDay(since)};
    const {actor} = ctx.state;
    const {result, unreachable} = await searches.run({keyId: actor.keyId, filter: choice, gone: goneOf(ctx)}, async () =>
      dmarc.summary(actor, choice),
    );
    replyGathered(ctx, result, unreachable);
  });

  router.get('/dmarc/sources', needs('domains:read'), async ctx => {
    const {domain, since, verified} = queryOf(ctx, dmarcSourcesQuerySchema);
    const filter = {domain, since: firstDay(since)};
    const {actor} = ctx.state;
    const {result, unreachable} = await searches.run({keyId: actor.keyId, filter, gone: goneOf(ctx)}, async () =>
      dmarc.sources(actor, {...filter, isVerified: verified}),
    );
    replyGathered(ctx, result, unreachable);
  });

  router.get('/dmarc/reports', needs('audit:read'), async ctx => {
    const page = queryOf(ctx, pageQuerySchema);
    const {result, unreachable} = await dmarc.reports(ctx.state.actor, page);
    setPaging(ctx, page, result.total);
    replyGathered(ctx, result.reports, unreachable);
  });

  router.get('/dmarc/reports/:day/:policy_domain', needs('audit:read'), noQuery, async ctx => {
    const subject = validateParameters(reportSubjectSchema, ctx.params);
    const {result, unreachable} = await dmarc.preview(ctx.state.actor, subject);
    replyGathered(ctx, result, unreachable);
  });
};
