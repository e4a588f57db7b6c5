// Digests: mail to the recipients of a domain about what is held for them.
import {z} from 'zod';
import {
  canonicalException,
  digestActions,
  digestDefaults,
  digestLanguages,
  isTimeZone,
  maxExceptions,
  timeOfDay,
} from './digest-rules.ts';
import {type Reason, reasons} from './reason.ts';

const ofReasons = <T extends z.ZodType>(schema: T) =>
  Object.fromEntries(reasons.map(reason => [reason, schema])) as Record<Reason, T>;

const exception = z
  .string()
  .refine(text => canonicalException(text) !== undefined, 'must be an address such as info@example.com, or *@ and a domain')
  .overwrite(text => canonicalException(text) ?? text);

const settings = {
  enabled: z.boolean().meta({description: 'Whether its recipients get digests'}),
  at: z
    .string()
    .regex(timeOfDay, 'must be a time of the day such as 07:00')
    .meta({description: 'When they are sent, by the clock of `timezone`', example: digestDefaults.at}),
  timezone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
    .meta({description: 'Of the IANA time zone database', example: 'Europe/Berlin'}),
  language: z.enum(digestLanguages).meta({description: 'Of digests and of the pages that they lead to'}),
  actions: z.strictObject(ofReasons(z.enum(digestActions))).meta({
    description:
      'What a recipient may do, by the reason that mail is held for: `release` it, `request` an administrator to, or `none`: then it is not listed',
  }),
  except: z
    .array(exception)
    .max(maxExceptions, `must have at most ${maxExceptions} entries`)
    .overwrite(all => [...new Set(all)])
    .meta({description: 'Recipients who get none: addresses, or `*@` and a domain'}),
};

export const digestSettingsSchema = z.strictObject(settings);
export type DigestSettings = z.infer<typeof digestSettingsSchema>;

export const digestPatchSchema = z
  .strictObject({...settings, actions: z.strictObject(ofReasons(z.enum(digestActions).optional()))})
  .partial()
  .meta({id: 'DigestPatch', description: 'The members to change (JSON merge patch, RFC 7396)'});
export type DigestPatch = z.infer<typeof digestPatchSchema>;

export const domainDigestSchema = z.strictObject({domain: z.string(), ...settings}).meta({
  id: 'DomainDigest',
  description: 'Whether, when and how recipients of a domain are told of the mail that is held for them',
});
export type DomainDigest = z.infer<typeof domainDigestSchema>;

export const digestPreviewSchema = z
  .strictObject({
    ...{from: z.string(), to: z.string(), subject: z.string()},
    text: z.string().meta({description: 'The part of plain text. Its links open nothing'}),
    html: z.string(),
    mails: z.int().min(0).meta({description: 'How many are listed; with none no digest is sent'}),
  })
  .meta({id: 'DigestPreview', description: 'A digest as it would be sent now'});
export type DigestPreview = z.infer<typeof digestPreviewSchema>;

export const sentDigestsSchema = z
  .strictObject({
    domain: z.string(),
    sent: z.int().min(0),
    refused: z.int().min(0).meta({description: 'Recipients whose backend takes no digest for them'}),
    is_waiting: z.boolean().meta({description: 'Whether there are others, whose mail is in the next digest'}),
    failure: z.string().nullable().meta({description: 'What the backend said last, where it did not take one'}),
  })
  .meta({id: 'SentDigests', description: 'What became of digests that were sent now'});
export type SentDigests = z.infer<typeof sentDigestsSchema>;
