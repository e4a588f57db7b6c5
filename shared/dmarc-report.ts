// DMARC counts of nodes, and the reports that they send.
import {z} from 'zod';
import {maxSources} from './dmarc-lists.ts';
import {nodeId, timestamp} from './fields.ts';

const mails = z.int().min(0);
const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a day such as 2026-03-01');

export const dmarcSourceSchema = z
  .object({
    source_ip: z.string(),
    count: mails.meta({description: 'Mails from this address'}),
    spf_aligned: mails.meta({description: 'Those that SPF authenticates as from the domain in From'}),
    dkim_aligned: mails.meta({description: 'Those that DKIM authenticates as from the domain in From'}),
    passed: mails.meta({description: 'Those that pass DMARC, by one or both'}),
    held: mails.meta({description: 'Those that fail a policy and were held'}),
    rejected: mails.meta({description: 'Those that fail a policy and were rejected'}),
  })
  .meta({id: 'DmarcSource', description: 'A source of mail for one domain'});
export type DmarcSource = z.infer<typeof dmarcSourceSchema>;

export const dmarcSummarySchema = z
  .object({
    domain: z.string(),
    since: day,
    count: mails.meta({description: 'Mails that were received for the domain'}),
    passed: mails,
    source_count: z.int().min(0).meta({description: 'Sources in all; at least that many, where several nodes count'}),
    sources: z.array(dmarcSourceSchema).max(maxSources).meta({description: 'Those with the most mails first'}),
  })
  .meta({id: 'DmarcSummary', description: 'What was received for one domain, by source'});
export type DmarcSummary = z.infer<typeof dmarcSummarySchema>;

const reportStates = ['waiting', 'sent', 'refused', 'given up'] as const;

export const dmarcReportSchema = z
  .object({
    node_id: nodeId.meta({description: 'The node that sends it'}),
    id: z.string(),
    day,
    policy_domain: z.string(),
    state: z.enum(reportStates).meta({
      description:
        '`sent`: to one address at least. `refused`: no address takes it. `given up`: none could be reached in 24 hours',
    }),
    count: mails.meta({description: 'Mails in the report'}),
    addresses: z.array(
      z.object({
        address: z.string(),
        state: z.enum(['waiting', 'sent', 'refused', 'left out']),
        detail: z.string().meta({description: 'What the server said, or why the address is left out'}),
      }),
    ),
    created_at: timestamp,
    attempts: z.int().min(0),
    next_at: timestamp.nullable().meta({description: 'When it is tried again'}),
    ended_at: timestamp.nullable(),
  })
  .meta({id: 'DmarcReport', description: 'An aggregate report to the owner of a domain'});
export type DmarcReport = z.infer<typeof dmarcReportSchema>;

export const reportPreviewSchema = z
  .object({
    day,
    policy_domain: z.string(),
    count: mails.meta({description: 'Mails that the nodes have counted, all nodes together'}),
    addresses: z.array(z.string()).meta({description: 'Where the policy of the domain wants reports'}),
    xml: z.string().meta({
      description:
        'One report on all of them (RFC 9990). Nodes without a common PostgreSQL each send one on what they counted themselves',
    }),
  })
  .meta({id: 'DmarcReportPreview'});
export type ReportPreview = z.infer<typeof reportPreviewSchema>;
