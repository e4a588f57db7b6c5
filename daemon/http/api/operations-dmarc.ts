// Operations about DMARC in the administrators' API description.
import {dmarcReportSchema, dmarcSummarySchema, reportPreviewSchema} from '../../../shared/dmarc-report.ts';
import {dmarcSourcesQuerySchema, dmarcSummaryQuerySchema, pageQuerySchema} from '../../../shared/hold-filter.ts';
import {reportedSourcesSchema} from '../../../shared/reported-source.ts';
import {reportSubjectSchema} from '../../services/dmarc/peer-dmarc-protocol.ts';
import {gathered, gatheredPage, type Operation} from './operation.ts';

export const dmarcOperations: Operation[] = [
  {
    method: 'get',
    path: '/dmarc/summary',
    operationId: 'getDmarcSummary',
    tag: 'DMARC',
    summary: 'What was received for one domain, by source address',
    request: {query: dmarcSummaryQuerySchema},
    success: gathered(dmarcSummarySchema, 'Nodes whose counts are missing here'),
    failures: [404],
  },
  {
    method: 'get',
    path: '/dmarc/sources',
    operationId: 'getDmarcSources',
    tag: 'DMARC',
    summary: 'Who sends mail as one domain, as the reports of other receivers claim',
    request: {query: dmarcSourcesQuerySchema},
    success: gathered(reportedSourcesSchema, 'Nodes whose reports are missing here'),
    failures: [404],
  },
  {
    method: 'get',
    path: '/dmarc/reports',
    operationId: 'listDmarcReports',
    tag: 'DMARC',
    summary: 'Aggregate reports to the owners of other domains, newest first',
    request: {query: pageQuerySchema},
    success: gatheredPage(dmarcReportSchema, {total: 'All reports', missing: 'Nodes whose reports are missing here'}),
  },
  {
    method: 'get',
    path: '/dmarc/reports/{day}/{policy_domain}',
    operationId: 'previewDmarcReport',
    tag: 'DMARC',
    summary: 'The report about one policy domain and UTC day as it would be now; nothing is sent',
    request: {params: reportSubjectSchema},
    success: gathered(reportPreviewSchema, 'Nodes whose counts are missing here'),
    failures: [404, 409],
  },
];
