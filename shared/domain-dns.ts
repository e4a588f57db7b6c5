// The DNS records of a domain: as they should be, and as DNS has them.
import {z} from 'zod';

const dnsRecordKinds = ['mx', 'spf', 'dkim', 'dmarc', 'dmarc-consent', 'mta-sts', 'tls-rpt'] as const;

const dnsStates = ['right', 'missing', 'differs', 'unknown'] as const;
export type DnsState = (typeof dnsStates)[number];

/** DNS can have many long records; an answer contains a part of them. */
export const maxFound = 10;
export const maxFoundChars = 1000;

export const dnsRecordSchema = z
  .object({
    kind: z.enum(dnsRecordKinds),
    name: z.string().meta({description: 'Complete, without a dot at the end', example: '_dmarc.example.com'}),
    type: z.enum(['MX', 'TXT']),
    values: z.array(z.string()).meta({description: 'What should be there; a TXT record as one string'}),
    state: z
      .enum(dnsStates)
      .nullable()
      .meta({description: 'Null when DNS was not asked. `unknown`: the name servers did not answer'}),
    found: z
      .array(z.string().max(maxFoundChars))
      .max(maxFound)
      .meta({description: 'What is in DNS, shortened if there is much. The owner of the zone wrote it'}),
    detail: z.string().meta({description: 'What differs'}),
  })
  .meta({id: 'DnsRecord'});
export type DnsRecord = z.infer<typeof dnsRecordSchema>;

export const domainDnsSchema = z
  .object({
    domain: z.string(),
    records: z.array(dnsRecordSchema),
    mta_sts_policy: z
      .string()
      .nullable()
      .meta({description: 'The file to serve at `https://mta-sts.<domain>/.well-known/mta-sts.txt`; null without the record'}),
    advice: z.array(z.string()).meta({description: 'What to do next, as sentences'}),
  })
  .meta({id: 'DomainDns', description: 'The DNS records of a domain'});
export type DomainDns = z.infer<typeof domainDnsSchema>;
