// Questions between nodes about what they counted and reported, and counts that nodes of 0.8 give to others.
import {z} from 'zod';
import {maxReports, maxSources} from '../../../shared/dmarc-lists.ts';
import {dmarcReportSchema, dmarcSourceSchema} from '../../../shared/dmarc-report.ts';
import {canonicalMailDomain} from '../../../shared/domain-name.ts';
import {mailAuthenticationSchema} from '../../../shared/mail-authentication.ts';
import {domainReporterSchema, maxDomainReporters, reportedSourceSchema} from '../../../shared/reported-source.ts';
import {type AskedNode, question} from '../peers/question.ts';
import type {NodeCount} from './dmarc-store.ts';
import type {DmarcNode} from './dmarc-view.ts';
import type {ReportedNode} from './reported-view.ts';

const name = z.string().max(255);
const domain = name.refine(text => canonicalMailDomain(text) === text, 'must be a domain in lower case, with A-labels');
const day = z.iso.date();
const policy = z.enum(['none', 'quarantine', 'reject']);
const {dkim, spf} = mailAuthenticationSchema.shape;

const source_ip = z.union([z.ipv4(), z.ipv6()]);

const policySchema = z.object({
  domain: name,
  record: z.object({
    p: policy,
    sp: policy.optional(),
    np: policy.optional(),
    isDkimStrict: z.boolean(),
    isSpfStrict: z.boolean(),
    psd: z.enum(['y', 'n', 'u']),
    isTesting: z.boolean(),
    reportTo: z.array(z.string().max(600)).max(10),
    fo: z.string().max(10).optional(),
  }),
});

const countSchema = z.object({
  day,
  domain: name,
  policy_domain: name,
  source_ip,
  disposition: z.enum(['none', 'pass', 'quarantine', 'reject']),
  dkim_aligned: z.boolean(),
  spf_aligned: z.boolean(),
  details: z.object({
    header_from: name,
    envelope_from: name,
    dkim: dkim.max(10),
    spf,
    override: z.enum(['local_policy', 'policy_test_mode', 'other']).nullable(),
  }),
  digest: z.string().max(50),
  count: z.int().min(1),
  policy: policySchema.nullable(),
  seen_at: z.iso.datetime(),
});

/** Nodes of 0.8 give what they counted for a report to one node of the cluster, and report themselves only what no other one can have got. */
export const givenBatchSchema = z.object({
  batch: z.string().min(1).max(100),
  day,
  policy_domain: domain,
  counts: z.array(countSchema).max(1000),
});
export type GivenBatch = z.output<typeof givenBatchSchema>;

/** Of the node `origin`, whatever it says of itself; counts of another subject are left out. */
export const fromGiven = ({day: of, policy_domain, counts, batch}: GivenBatch, origin: number): NodeCount[] =>
  counts
    .filter(count => count.day === of && count.policy_domain === policy_domain && count.policy?.domain === policy_domain)
    .map(count => ({...withAllTags(count), origin, batch}));

/** JSON leaves out what is undefined. */
const withAllTags = <C extends z.output<typeof countSchema>>({policy, ...count}: C) => ({
  ...count,
  policy: policy && {...policy, record: {...policy.record, sp: policy.record.sp, np: policy.record.np, fo: policy.record.fo}},
});

const about = {day, policy_domain: name.toLowerCase()};
/** Of a report, as in the path of a request. */
export const reportSubjectSchema = z.object(about);

const digest = z.string().max(50);

const counted = {count: z.int().min(0), passed: z.int().min(0), source_count: z.int().min(0)};

/** Strict: ignoring a part of a request would show the caller too much. */
export const dmarcQuestions = {
  summary: question({
    path: 'dmarc/summary',
    permission: 'domains:read',
    request: z.strictObject({domain: name, since: day}),
    answer: () => z.object({...counted, sources: z.array(z.object(dmarcSourceSchema.shape)).max(maxSources)}),
    run: async (node: DmarcNode, choice, actor) => node.summary(choice, actor),
  }),
  reports: question({
    path: 'dmarc/reports',
    permission: 'audit:read',
    request: z.strictObject({limit: z.int().min(1).max(maxReports)}),
    answer(owner) {
      const reports = z.array(z.object({...dmarcReportSchema.shape, node_id: z.literal(owner)}));
      return z.object({reports, total: z.int().min(0)});
    },
    run: async (node: DmarcNode, {limit}, actor) => node.reports(limit, actor),
  }),
  counts: question({
    path: 'dmarc/preview',
    permission: 'audit:read',
    request: z.strictObject(about),
    answer: () => z.array(countSchema.extend({batch: z.string().max(100)})),
    run: async (node: DmarcNode, subject, actor) => node.counts(subject, actor),
  }),
};

export const reportedQuestion = question({
  path: 'dmarc/reported',
  permission: 'domains:read',
  request: z.strictObject({domain: name, since: day, isVerified: z.boolean(), without: z.array(digest)}),
  answer: () =>
    z.object({
      ...{digests: z.array(digest), ...counted},
      // Nodes of 0.8 do not tell.
      reporters: z.array(z.object(domainReporterSchema.shape)).max(maxDomainReporters).default([]),
      sources: z.array(z.object({...reportedSourceSchema.omit({name: true, network: true}).shape, source_ip})).max(maxSources),
    }),
  run: async (node: ReportedNode, choice, actor) => node.reported(choice, actor),
});

export const remoteDmarc = (nodeNo: number, {nodeId, ask}: AskedNode): DmarcNode & ReportedNode => ({
  nodeId,
  summary: async (choice, actor) => ask(dmarcQuestions.summary, choice, actor),
  reports: async (limit, actor) => ask(dmarcQuestions.reports, {limit}, actor),
  reported: async (choice, actor) => ask(reportedQuestion, {...choice, without: [...choice.without]}, actor),
  async counts(subject, actor) {
    const counts = await ask(dmarcQuestions.counts, subject, actor);
    return counts.map(count => ({...withAllTags(count), origin: nodeNo}));
  },
});
