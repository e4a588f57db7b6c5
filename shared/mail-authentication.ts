// Results of the authentication of one mail (RFC 8601), as they are stored and shown.
import {z} from 'zod';

const spfResults = ['none', 'neutral', 'pass', 'fail', 'softfail', 'temperror', 'permerror'] as const;
export type SpfResult = (typeof spfResults)[number];

const dkimResults = ['none', 'pass', 'fail', 'policy', 'neutral', 'temperror', 'permerror'] as const;
export type DkimResult = (typeof dkimResults)[number];

const dmarcResults = ['none', 'pass', 'fail', 'temperror'] as const;
export type DmarcResult = (typeof dmarcResults)[number];

export const dmarcPolicies = ['none', 'quarantine', 'reject'] as const;
export type DmarcPolicy = (typeof dmarcPolicies)[number];

const arcResults = ['none', 'pass', 'fail'] as const;

export const mailAuthenticationSchema = z
  .object({
    spf: z.object({
      result: z.enum(spfResults),
      domain: z.string().meta({description: 'Domain of the envelope sender, or of the greeting for a bounce'}),
    }),
    dkim: z
      .array(z.object({result: z.enum(dkimResults), domain: z.string(), selector: z.string()}))
      .meta({description: 'One entry per signature, ten at most'}),
    dmarc: z.object({
      result: z.enum(dmarcResults),
      policy: z.enum(dmarcPolicies).nullable().meta({description: 'What the domain wants done with mail that fails'}),
      domain: z.string().meta({description: 'Domain of the address in From; empty when there is none'}),
    }),
    arc: z.object({result: z.enum(arcResults)}),
  })
  .meta({id: 'MailAuthentication', description: 'Results of SPF, DKIM, DMARC and ARC'});
export type MailAuthentication = z.infer<typeof mailAuthenticationSchema>;
