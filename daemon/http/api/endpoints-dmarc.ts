// Endpoints of DMARC: what was received for a domain, and reports to others.
import {dmarcReportSchema, dmarcSummarySchema, reportPreviewSchema} from '../../../shared/dmarc-report.ts';
import {dmarcSourcesQuerySchema, dmarcSummaryQuerySchema, pageQuerySchema} from '../../../shared/hold-filter.ts';
import {reportedSourcesSchema} from '../../../shared/reported-source.ts';
import {reportSubjectSchema} from '../../services/dmarc/dmarc-questions.ts';
import {validateParameters} from '../../services/validate.ts';
import {endpoint, gathered, gatheredPage} from './endpoint.ts';
import {replyGathered, replyPage, search} from './gathered-answer.ts';

const usualDays = 30;

const firstDay = (since = new Date(Date.now() - usualDays * 86_400_000).toISOString()): string => since.slice(0, 10);

export const dmarcEndpoints = [
  endpoint({
    method: 'get',
    path: '/dmarc/summary',
    permission: 'domains:read',
    operationId: 'getDmarcSummary',
    tag: 'DMARC',
    summary: 'What was received for one domain, by source address',
    query: dmarcSummaryQuerySchema,
    answer: () => gathered(dmarcSummarySchema, 'Nodes whose counts are missing here'),
    failures: [404],
    async run(ctx, {dmarc, keySearches}, {domain, since}) {
      const filter = {domain, since: firstDay(since)};
      const {result, unreachable} = await search(ctx, keySearches, filter, async actor => dmarc.view.summary(actor, filter));
      replyGathered(ctx, result, unreachable);
    },
  }),
  endpoint({
    method: 'get',
    path: '/dmarc/sources',
    permission: 'domains:read',
    operationId: 'getDmarcSources',
    tag: 'DMARC',
    summary: 'Who sends mail as one domain, as the reports of other receivers claim',
    query: dmarcSourcesQuerySchema,
    answer: () => gathered(reportedSourcesSchema, 'Nodes whose reports are missing here'),
    failures: [404],
    async run(ctx, {dmarc, keySearches}, {domain, since, verified}) {
      const filter = {domain, since: firstDay(since)};
      const {result, unreachable} = await search(ctx, keySearches, filter, async actor =>
        dmarc.view.sources(actor, {...filter, isVerified: verified}),
      );
      replyGathered(ctx, result, unreachable);
    },
  }),
  endpoint({
    method: 'get',
    path: '/dmarc/reports',
    permission: 'audit:read',
    operationId: 'listDmarcReports',
    tag: 'DMARC',
    summary: 'Aggregate reports to the owners of other domains, newest first',
    query: pageQuerySchema,
    answer: () => gatheredPage(dmarcReportSchema, {total: 'All reports', missing: 'Nodes whose reports are missing here'}),
    async run(ctx, {dmarc}, page) {
      const {result, unreachable} = await dmarc.view.reports(ctx.state.actor, page);
      replyPage(ctx, page, {total: result.total, entries: result.reports, unreachable});
    },
  }),
  endpoint({
    method: 'get',
    path: '/dmarc/reports/{day}/{policy_domain}',
    permission: 'audit:read',
    operationId: 'previewDmarcReport',
    tag: 'DMARC',
    summary: 'One report on what all nodes have counted about one policy domain and UTC day; nothing is sent',
    params: () => reportSubjectSchema.shape,
    answer: () => gathered(reportPreviewSchema, 'Nodes whose counts are missing here'),
    failures: [404, 409],
    async run(ctx, {dmarc}) {
      const subject = validateParameters(reportSubjectSchema, ctx.params);
      const {result, unreachable} = await dmarc.view.preview(ctx.state.actor, subject);
      replyGathered(ctx, result, unreachable);
    },
  }),
];
