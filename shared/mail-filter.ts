import {z} from 'zod';
import {id, isObject, label, timestamp} from './fields.ts';
import {
  canonicalPattern,
  filterActions,
  filterMatches,
  headerName,
  letsIn,
  maxCommentChars,
  maxPatternChars,
  maxPoints,
  newPatternFault,
  patternFault,
} from './filter-rules.ts';

const fields = {
  action: z
    .enum(filterActions)
    .meta({description: '`allow` delivers, `block` refuses, `score` adds `score` to the mail’s score'}),
  match: z.enum(filterMatches).meta({description: 'What `pattern` is compared with'}),
  header: z
    .string()
    .regex(headerName, 'must be a header name such as List-Id')
    .nullable()
    .meta({description: 'With match `header`: the name of the header'}),
  pattern: label(maxPatternChars).meta({
    description:
      'An address for `sender`, a domain (with all below it) for `sender_domain`, else a pattern in which * stands for any text and ? for one character; \\ takes the next character literally; at most 20 *, and at most 32 characters between two of them where there is a ? among these',
  }),
  score: z
    .number()
    .min(-maxPoints)
    .max(maxPoints)
    .nullable()
    .meta({description: 'With action `score`: what is added, negative to lower it'}),
  comment: label(maxCommentChars).nullable(),
};

const authenticated = z.boolean().meta({
  description:
    'With a filter that lets mail in (action `allow`, or a negative `score`): whether it matches only mail that really comes from the domain of its envelope sender, by SPF or DKIM',
});

export const mailFilterSchema = z
  .strictObject({id, domain_id: id, ...fields, authenticated, created_at: timestamp})
  .meta({id: 'MailFilter', description: 'A rule for mail of one domain'});
export type MailFilter = z.infer<typeof mailFilterSchema>;

export const globalFilterSchema = mailFilterSchema
  .omit({domain_id: true})
  .meta({id: 'GlobalFilter', description: 'A rule for mail of all domains'});
export type GlobalFilter = z.infer<typeof globalFilterSchema>;

const rules = z
  .strictObject({
    ...fields,
    header: fields.header.default(null),
    score: fields.score.default(null),
    comment: fields.comment.default(null),
    authenticated: authenticated.optional().meta({
      description:
        'Whether a filter that lets mail in matches authenticated mail only; without it: true. For other filters: false',
    }),
  })
  .refine(({authenticated: isAuthenticated, ...filter}) => isAuthenticated !== true || letsIn(filter), {
    path: ['authenticated'],
    error: 'belongs to filters that let mail in only (action allow, or a negative score); remove it',
    when: isObject,
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
  });

/** A filter that may be there already: its pattern may cost more than that of a new one, and `authenticated` may be left to it. */
export const filterRuleSchema = rules.transform(filter => ({...filter, pattern: canonicalPattern(filter.match, filter.pattern)}));

export const createMailFilterSchema = rules
  .refine(filter => newPatternFault(filter) === undefined, {
    path: ['pattern'],
    error: ({input}) => newPatternFault(input as Partial<MailFilter>),
    when: isObject,
  })
  .transform(filter => ({
    ...filter,
    pattern: canonicalPattern(filter.match, filter.pattern),
    authenticated: filter.authenticated ?? letsIn(filter),
  }))
  .meta({id: 'CreateMailFilter'});
export type CreateMailFilter = z.input<typeof createMailFilterSchema>;
