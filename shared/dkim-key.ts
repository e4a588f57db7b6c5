import {z} from 'zod';
import {dkimAlgorithms, maxSelectorChars, selectorShape} from './field-rules.ts';
import {id, timestamp} from './fields.ts';

const selector = z
  .string()
  .max(maxSelectorChars, `must be at most ${maxSelectorChars} characters`)
  .regex(selectorShape, 'must be lower-case letters, digits and hyphens, such as mfd2026');

export const dkimKeySchema = z
  .strictObject({
    id,
    domain_id: id,
    selector: z.string(),
    algorithm: z.enum(dkimAlgorithms),
    dns_name: z.string().meta({description: 'Name of the record in DNS', example: 'mfd2026._domainkey.example.com'}),
    dns_record: z.string().meta({description: 'The value of the TXT record, as one string', example: 'v=DKIM1; k=rsa; p=MIIB…'}),
    created_at: timestamp,
  })
  .meta({id: 'DkimKey', description: 'A DKIM key of a domain. The private key never leaves the cluster'});
export type DkimKey = z.infer<typeof dkimKeySchema>;

export const createDkimKeySchema = z
  .strictObject({selector, algorithm: z.enum(dkimAlgorithms).default('rsa-2048')})
  .meta({id: 'CreateDkimKey'});
export type CreateDkimKey = z.infer<typeof createDkimKeySchema>;
