import {z} from 'zod';
import {canonicalDomain, domainNameFault} from './domain-name.ts';
import {
  areThresholdsInOrder,
  directions,
  domainDefaults,
  hasBackend,
  maxBackends,
  maxTenantChars,
  scoreRange,
} from './field-rules.ts';
import {id, isObject, label, type RuleBetween, timestamp} from './fields.ts';
import {parseHostPort} from './host-port.ts';
import {nonEmptyRetention, retentionPatchSchema, retentionSchema} from './retention.ts';

const domainName = z
  .string()
  .refine(text => domainNameFault(text) === undefined, {
    error: ({input}) => domainNameFault(String(input)) ?? 'is no domain name',
  })
  .overwrite(text => canonicalDomain(text) ?? text);

const backendServer = z
  .string()
  .refine(text => parseHostPort(text) !== undefined, 'must be host:port with a port from 1 to 65535, IPv6 in brackets')
  .meta({example: 'mx1.example.com:25'});

const {min, max} = scoreRange;
const score = z.number('must be a number').min(min, `must be at least ${min}`).max(max, `must be at most ${max}`);

const settings = {
  direction: z.enum(directions),
  active: z.boolean(),
  backend_servers: z
    .array(backendServer)
    .max(maxBackends, `must have at most ${maxBackends} entries`)
    .meta({description: 'Tried in order'}),
  quarantine_threshold: score.meta({description: 'Score at or above which mail is held'}),
  reject_threshold: score.meta({description: 'Score at or above which mail is refused'}),
  dkim_active: z.boolean(),
  dmarc_reporting: z.boolean(),
  tenant_id: z
    .union([z.int(), label(maxTenantChars)], `must be a whole number, a text of at most ${maxTenantChars} characters, or null`)
    .nullable(),
  retention: retentionSchema.nullish().meta({
    description: 'Days that its held mail is held. Absent where the nodes’ settings count; null removes it',
  }),
};

/** A server that is named twice is tried once. Records that were stored before may name one twice. */
const backendsOnce = settings.backend_servers.overwrite(servers => [...new Set(servers)]).meta({description: 'Tried in order'});

/** A retention that says nothing is none: it is stored as such. One that is absent stays absent. */
const retentionIfAny = settings.retention.overwrite(given =>
  given === undefined ? undefined : (nonEmptyRetention(given) ?? null),
);

export const domainSettingsSchema = z.object({...settings, backend_servers: backendsOnce, retention: retentionIfAny});

export const domainSchema = z
  .strictObject({id, name: z.string(), ...settings, created_at: timestamp, updated_at: timestamp})
  .meta({id: 'Domain', description: 'A protected mail domain'});
export type Domain = z.infer<typeof domainSchema>;

type Settings = Pick<Domain, 'direction' | 'backend_servers' | 'quarantine_threshold' | 'reject_threshold'>;

/** Rules between fields, checked on the complete record, also when single fields are missing from the request or wrong. */
const checkTogether = <S extends z.ZodType<Settings>>(schema: S): S =>
  schema
    .refine(hasBackend, {
      path: ['backend_servers'],
      error: 'needs at least one host:port, unless the direction is outbound',
      when: isObject,
    })
    .refine(areThresholdsInOrder, {
      path: ['quarantine_threshold'],
      params: {other: 'reject_threshold'} satisfies RuleBetween,
      error: ({input}) => `must not be above reject_threshold (${(input as Settings).reject_threshold})`,
      when: isObject,
    });

export const createDomainSchema = checkTogether(
  z.strictObject({
    name: domainName,
    direction: settings.direction.default(domainDefaults.direction),
    active: settings.active.default(domainDefaults.active),
    backend_servers: backendsOnce.default(domainDefaults.backend_servers),
    quarantine_threshold: settings.quarantine_threshold.default(domainDefaults.quarantine_threshold),
    reject_threshold: settings.reject_threshold.default(domainDefaults.reject_threshold),
    dkim_active: settings.dkim_active.default(domainDefaults.dkim_active),
    dmarc_reporting: settings.dmarc_reporting.default(domainDefaults.dmarc_reporting),
    tenant_id: settings.tenant_id.default(domainDefaults.tenant_id),
    retention: retentionIfAny,
  }),
).meta({id: 'CreateDomain'});

/** The schema of a domain after a merge patch. The service compares the members that never change. */
export const updatedDomainSchema = checkTogether(domainSchema.extend({backend_servers: backendsOnce, retention: retentionIfAny}));

/** The body of PUT as documented: a complete object or any part of one. */
export const domainPatchSchema = domainSchema
  .partial()
  .extend({retention: retentionPatchSchema.nullish().meta({description: 'Null removes it'})})
  .meta({id: 'DomainPatch', description: 'A complete domain, or the members to change (JSON merge patch, RFC 7396)'});

export const immutableDomainFields = ['id', 'name', 'created_at', 'updated_at'] as const;

/** Fields with null as a value. In a merge patch null would remove them. */
export const nullableDomainFields = Object.entries(domainSchema.shape)
  .filter(([, schema]) => schema.safeParse(null).success)
  .map(([name]) => name);
