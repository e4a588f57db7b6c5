import {z} from 'zod';
import {id, isObject, label, moment, nodeId, timestamp} from './fields.ts';
import {scopes} from './scopes.ts';

const rateLimit = z.int().min(1, 'must be at least 1').max(1_000_000, 'must be at most 1000000');

export const maxDomains = 100;

export const apiKeySchema = z
  .strictObject({
    id,
    name: z.string(),
    key_prefix: z.string().meta({description: 'The first 12 characters of the key, to recognise it by', example: 'mfk_3Jx9vQ2a'}),
    scope: z.enum(scopes),
    rate_limit_per_minute: rateLimit,
    domain: z.string().nullable().meta({description: 'The domain a `domain-admin` key is bound to; null where it has several'}),
    domains: z.array(z.string()).nullable().meta({description: 'The domains a `domain-admin` key is bound to'}),
    domain_ids: z
      .array(id)
      .nullable()
      .meta({description: 'Their ids: a key is bound to these, and a later domain of the same name is another one'}),
    last_used_at: timestamp.nullable().meta({description: 'Latest use on any node, at most 60 s behind'}),
    expires_at: timestamp.nullable(),
    revoked_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({id: 'ApiKey', description: 'An API key, without its value'});
export type ApiKey = z.infer<typeof apiKeySchema>;

export const createdApiKeySchema = apiKeySchema
  .pick({
    id: true,
    key_prefix: true,
    name: true,
    scope: true,
    rate_limit_per_minute: true,
    domain: true,
    domains: true,
    expires_at: true,
  })
  .extend({key: z.string().meta({description: 'The key itself: shown in this answer and never again'})})
  .meta({id: 'CreatedApiKey'});
export type CreatedApiKey = z.infer<typeof createdApiKeySchema>;

export const meSchema = apiKeySchema
  .extend({
    permissions: z
      .array(z.string())
      .meta({description: 'What the key may do; later versions have more of them', example: ['quarantine:read', 'trace:read']}),
    node_id: nodeId,
  })
  .meta({id: 'Me', description: 'The key a request was made with, what it may do, and the node that answered'});
export type Me = z.infer<typeof meSchema>;

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** The body of POST /auth/api-keys. The service checks that `expires_at` is in the future and that the domains exist. */
export const createApiKeySchema = z
  .strictObject({
    name: label(100),
    scope: z.enum(scopes),
    rate_limit_per_minute: rateLimit.default(600),
    expires_at: moment.nullish(),
    domain: z.string().nullish().meta({
      description: 'Required for `domain-admin` unless there are `domains`, refused for every other scope',
    }),
    domains: z
      .array(z.string())
      .min(1, 'must name at least one domain')
      .max(maxDomains, `must be at most ${maxDomains} domains`)
      .nullish()
      .meta({description: 'In place of `domain`, for a `domain-admin` key with several'}),
  })
  .refine(({scope, domain, domains}) => scope !== 'domain-admin' || isGiven(domain) || isGiven(domains), {
    path: ['domain'],
    error: 'is required for a domain-admin key: the name of its domain; for several: `domains`',
    when: isObject,
  })
  .refine(({scope, domain}) => scope === 'domain-admin' || !isGiven(domain), {
    path: ['domain'],
    error: 'belongs to domain-admin keys only; remove it',
    when: isObject,
  })
  .refine(({scope, domains}) => scope === 'domain-admin' || !isGiven(domains), {
    path: ['domains'],
    error: 'belongs to domain-admin keys only; remove it',
    when: isObject,
  })
  .refine(({domain, domains}) => !isGiven(domain) || !isGiven(domains), {
    path: ['domains'],
    error: 'cannot be given together with domain; remove one of them',
    when: isObject,
  })
  .meta({id: 'CreateApiKey'});
export type CreateApiKey = z.infer<typeof createApiKeySchema>;

/** The body of POST /auth/api-keys/{id}/revoke. The service checks that `at` is in the future. */
export const revokeApiKeySchema = z
  .strictObject({
    at: moment.optional().meta({
      description: 'When the key ends; default: now. It becomes `expires_at`, unless the key already ends earlier',
    }),
  })
  .meta({id: 'RevokeApiKey'});
