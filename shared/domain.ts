import {z} from 'zod';
import {canonicalDomain} from './domain-name.ts';
import {id, isObject, label, timestamp} from './fields.ts';
import {parseHostPort} from './host-port.ts';

export const directions = ['inbound', 'outbound', 'both'] as const;

const domainName = z
  .string()
  .refine(text => canonicalDomain(text) !== undefined, 'must be a host name with at least one dot, such as example.com')
  .overwrite(text => canonicalDomain(text) ?? text);

const backendServer = z
  .string()
  .refine(text => parseHostPort(text) !== undefined, 'must be host:port with a port from 1 to 65535, IPv6 in brackets')
  .meta({example: 'mx1.example.com:25'});

const score = z.number('must be a number').min(-1000, 'must be at least -1000').max(10_000, 'must be at most 10000');

const settings = {
  direction: z.enum(directions),
  active: z.boolean(),
  backend_servers: z.array(backendServer).max(32, 'must have at most 32 entries').meta({description: 'Tried in order'}),
  quarantine_threshold: score.meta({description: 'Score at or above which mail is held'}),
  reject_threshold: score.meta({description: 'Score at or above which mail is refused'}),
  dkim_active: z.boolean(),
  dmarc_reporting: z.boolean(),
  tenant_id: z.union([z.int(), label(100)], 'must be a whole number, a text of at most 100 characters, or null').nullable(),
};

export const domainSchema = z
  .strictObject({id, name: z.string(), ...settings, created_at: timestamp, updated_at: timestamp})
  .meta({id: 'Domain', description: 'A protected mail domain'});
export type Domain = z.infer<typeof domainSchema>;

type Settings = Pick<Domain, 'direction' | 'backend_servers' | 'quarantine_threshold' | 'reject_threshold'>;

/** Rules between fields, checked on the complete record, whatever the request mentioned and whatever else is wrong with it. */
const checkTogether = <S extends z.ZodType<Settings>>(schema: S): S =>
  schema
    .refine(hasBackend, {
      path: ['backend_servers'],
      error: 'needs at least one host:port, unless the direction is outbound',
      when: isObject,
    })
    .refine(areThresholdsInOrder, {
      path: ['quarantine_threshold'],
      error: ({input}) => `must not be above reject_threshold (${(input as Settings).reject_threshold})`,
      when: isObject,
    });

/** What is of a wrong type has been told already. */
const hasBackend = ({direction, backend_servers: servers}: Partial<Settings>): boolean =>
  (direction !== 'inbound' && direction !== 'both') || !Array.isArray(servers) || servers.length > 0;

const areThresholdsInOrder = ({quarantine_threshold, reject_threshold}: Partial<Settings>): boolean =>
  typeof quarantine_threshold !== 'number' || typeof reject_threshold !== 'number' || quarantine_threshold <= reject_threshold;

export const createDomainSchema = checkTogether(
  z.strictObject({
    name: domainName,
    direction: settings.direction.default('inbound'),
    active: settings.active.default(true),
    backend_servers: settings.backend_servers.default([]),
    quarantine_threshold: settings.quarantine_threshold.default(6),
    reject_threshold: settings.reject_threshold.default(15),
    dkim_active: settings.dkim_active.default(false),
    dmarc_reporting: settings.dmarc_reporting.default(false),
    tenant_id: settings.tenant_id.default(null),
  }),
).meta({id: 'CreateDomain'});
export type CreateDomain = z.infer<typeof createDomainSchema>;

/** What a domain must be after a merge patch. Members that never change are compared by the service. */
export const updatedDomainSchema = checkTogether(domainSchema.omit({}));

/** The body of PUT as documented: a complete object or any part of one. */
export const domainPatchSchema = domainSchema
  .partial()
  .meta({id: 'DomainPatch', description: 'A complete domain, or the members to change (JSON merge patch, RFC 7396)'});

export const immutableDomainFields = ['id', 'name', 'created_at', 'updated_at'] as const;
