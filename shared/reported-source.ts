// Sources of mail from a domain here, as aggregate reports of other receivers list them.
import {z} from 'zod';
import {maxSources} from './dmarc-lists.ts';

const mails = z.int().min(0);

const reporterSchema = z.object({
  reporter: z.string().meta({description: 'Domain that the report came from'}),
  verified: z.boolean().meta({description: 'Whether SPF or DKIM shows that it really came from there'}),
  count: mails,
});

export const maxReporters = 10;
/** Of a domain. */
export const maxDomainReporters = 1000;

export const domainReporterSchema = reporterSchema
  .extend({passed: mails.meta({description: 'Mails that pass DMARC'})})
  .meta({id: 'DomainReporter', description: 'What one reporter says of the mail from one domain'});

export const reportedSourceSchema = z
  .object({
    source_ip: z
      .string()
      .meta({description: '`::` for sources that are not stored one by one, as there were too many on one day'}),
    name: z.string().nullable().meta({
      description: 'Name of the address that resolves back to it; only asked for with the sources of most mails',
    }),
    network: z.string().meta({description: 'The /24 of an IPv4 address, the /64 of an IPv6 address'}),
    count: mails.meta({description: 'Mails from this address'}),
    passed: mails.meta({description: 'Those that pass DMARC, by SPF, DKIM or both'}),
    spf_passed: mails.meta({description: 'Those that SPF authenticates, for any domain'}),
    spf_aligned: mails.meta({description: 'Those that SPF authenticates as from the domain in From'}),
    dkim_passed: mails,
    dkim_aligned: mails,
    reporters: z.array(reporterSchema).max(maxReporters).meta({description: 'Who says so, those with the most mails first'}),
  })
  .meta({id: 'ReportedSource', description: 'A source of mail from one domain, as others report it'});
export type ReportedSource = z.infer<typeof reportedSourceSchema>;

export const reportedSourcesSchema = z
  .object({
    domain: z.string(),
    since: z.string(),
    report_count: z.int().min(0).meta({description: 'Reports that this is taken from, each counted once'}),
    count: mails.meta({description: 'Mails in these reports'}),
    passed: mails,
    source_count: z.int().min(0).meta({description: 'Sources in all; at least that many, where several nodes received reports'}),
    reporters: z
      .array(domainReporterSchema)
      .max(maxDomainReporters)
      .meta({description: 'Those that report on the most days first'}),
    sources: z.array(reportedSourceSchema).max(maxSources).meta({description: 'Those with the most mails first'}),
  })
  .meta({id: 'ReportedSources', description: 'Who sends mail as one domain, as the reports of others claim'});
export type ReportedSources = z.infer<typeof reportedSourcesSchema>;
