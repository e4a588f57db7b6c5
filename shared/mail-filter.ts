import {z} from 'zod';
import {canonicalDomain} from './domain-name.ts';
import {id, isObject, label, timestamp} from './fields.ts';
import {isGlob} from './glob.ts';
import {comparableAddress, parseMailAddress} from './mail-address.ts';

export const filterActions = ['allow', 'block', 'score'] as const;
export const filterMatches = ['sender', 'sender_domain', 'subject', 'header'] as const;

const fields = {
  action: z
    .enum(filterActions)
    .meta({description: '`allow` delivers, `block` refuses, `score` adds `score` to the mail’s score'}),
  match: z.enum(filterMatches).meta({description: 'What `pattern` is compared with'}),
  header: z
    .string()
    .regex(/^[!-9;-~]{1,76}$/, 'must be a header name such as List-Id')
    .nullable()
    .meta({description: 'With match `header`: the name of the header'}),
  pattern: label(255).meta({
    description:
      'An address for `sender`, a domain (with all below it) for `sender_domain`, else a pattern in which * stands for any text and ? for one character; \\ takes the next character literally',
  }),
  score: z
    .number()
    .min(-1000)
    .max(1000)
    .nullable()
    .meta({description: 'With action `score`: what is added, negative to lower it'}),
  comment: label(200).nullable(),
};

export const mailFilterSchema = z
  .strictObject({id, domain_id: id, ...fields, created_at: timestamp})
  .meta({id: 'MailFilter', description: 'A rule for mail of one domain'});
export type MailFilter = z.infer<typeof mailFilterSchema>;

export const createMailFilterSchema = z
  .strictObject({
    ...fields,
    header: fields.header.default(null),
    score: fields.score.default(null),
    comment: fields.comment.default(null),
  })
  .refine(({action, score}) => action !== 'score' || score !== null, {
    path: ['score'],
    error: 'is required with action score',
    when: isObject,
  })
  .refine(({action, score}) => action === 'score' || score === null || score === undefined, {
    path: ['score'],
    error: 'belongs to action score only; remove it',
    when: isObject,
  })
  .refine(({match, header}) => match !== 'header' || header !== null, {
    path: ['header'],
    error: 'is required with match header',
    when: isObject,
  })
  .refine(({match, header}) => match === 'header' || header === null || header === undefined, {
    path: ['header'],
    error: 'belongs to match header only; remove it',
    when: isObject,
  })
  .refine(filter => patternFault(filter) === undefined, {
    path: ['pattern'],
    error: ({input}) => patternFault(input as Partial<MailFilter>),
    when: isObject,
  })
  .transform(filter => ({...filter, pattern: canonicalPattern(filter.match, filter.pattern)}))
  .meta({id: 'CreateMailFilter'});
export type CreateMailFilter = z.infer<typeof createMailFilterSchema>;

/** Undefined too for what is of a wrong type, and told as such. */
const patternFault = ({match, pattern}: Partial<MailFilter>): string | undefined => {
  if (typeof pattern !== 'string') return undefined;
  switch (match) {
    case 'sender':
      if (pattern.includes('*')) return 'must be one address; match sender_domain for all of a domain';
      return parseMailAddress(pattern) ? undefined : 'must be a mail address such as news@example.com';
    case 'sender_domain':
      return canonicalDomain(pattern.replace(/^@/, '')) ? undefined : 'must be a domain such as example.com';
    case 'subject':
    case 'header':
      return isGlob(pattern) ? undefined : 'ends in a lone \\; write \\\\ for a backslash';
    default:
      return undefined;
  }
};

const canonicalPattern = (match: MailFilter['match'], pattern: string): string => {
  if (match === 'sender') return comparableAddress(pattern);
  if (match === 'sender_domain') return canonicalDomain(pattern.replace(/^@/, '')) ?? pattern;
  return pattern;
};
