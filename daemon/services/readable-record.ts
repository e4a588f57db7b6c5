// Values of records: the fields that this version knows, whether their values are valid, and the readable form of a record.

import {z} from 'zod';
import {apiKeySchema, maxDomains} from '../../shared/api-key.ts';
import {createDkimKeySchema, dkimKeySchema} from '../../shared/dkim-key.ts';
import {domainSchema} from '../../shared/domain.ts';
import {canonicalDomain} from '../../shared/domain-name.ts';
import {domainDefaults} from '../../shared/field-rules.ts';
import {hasNul, id, nodeId, timestamp} from '../../shared/fields.ts';
import {mailFilterSchema} from '../../shared/mail-filter.ts';
import type {Json} from '../../shared/merge-patch.ts';
import {storedRetention} from '../../shared/retention.ts';
import {allDomains, type ConfigRecord, type Kind, type ReadableOf, type StampedFields, stampMs} from './records.ts';
import {parseSafely} from './validate.ts';

const text = (max: number) => z.string().min(1).max(max);
const url = z.string().max(300).nullable();
const domainName = z.string().refine(name => canonicalDomain(name) === name);

/**
 * The fields that this version knows. Rules between fields do not belong here: two edits that were each valid may break such a
 * rule together, and the domain must not disappear for that. Making a schema narrower removes live records.
 */
const schemas = {
  node: z.object({created_at: timestamp, node_id: nodeId, fqdn: text(300), cluster_url: url, api_url: url, smtp_listen: url}),
  domain: z.object({
    ...domainSchema.omit({id: true, updated_at: true}).shape,
    name: domainName,
    // A domain must not disappear because a later version can say more of its retention.
    retention: z.unknown(),
  }),
  api_key: z.object({
    ...apiKeySchema.omit({id: true, last_used_at: true}).shape,
    domains: z.array(domainName).min(1).max(maxDomains).nullable(),
    key_hash: text(200),
    domain_id: id.nullable(),
    domain_ids: z.array(id).min(1).max(maxDomains).nullable(),
  }),
  mail_filter: z.object({
    ...mailFilterSchema.omit({id: true}).shape,
    domain_id: id.or(z.literal(allDomains)),
    // An address gets longer when its domain is written in ASCII.
    pattern: text(1000),
    authenticated: mailFilterSchema.shape.authenticated.nullable(),
  }),
  dkim_key: z.object({
    ...dkimKeySchema.pick({domain_id: true, algorithm: true, created_at: true}).shape,
    selector: createDkimKeySchema.shape.selector,
    public_key: text(16_384),
    private_key_pem: text(16_384),
  }),
  webhook: z.object({
    url: text(3000).refine(address => URL.canParse(address)),
    ...{created_at: timestamp, description: text(1000).nullable(), secret: text(200)},
    events: z.array(text(100)).max(100).nullable(),
    domain_id: id.or(z.literal(allDomains)),
    ...{disabled_at: timestamp.nullable(), disabled_because: text(1000).nullable()},
    replay: z.object({at: timestamp, since: timestamp, is_fresh_start: z.boolean()}).nullable(),
  }),
  digest: z.object({
    // Whether a node knows a time zone depends on its ICU, and a later version may know more of the rest: `settingsOf` judges it.
    ...{at: text(10), timezone: text(100), language: text(20)},
    actions: z.record(text(100), text(100)),
    except: z.array(text(400)).max(10_000),
    ...{domain_id: id, enabled_at: timestamp.nullable(), created_at: timestamp},
  }),
} satisfies Record<Kind, z.ZodObject>;

/** Values of fields that a record of an earlier version may lack. Any other missing field is null. */
const defaults: Partial<Record<Kind, Record<string, Json>>> = {domain: {...domainDefaults}};

const fieldsOf = Object.fromEntries(
  Object.entries(schemas).map(([kind, {shape}]) => [
    kind,
    Object.keys(shape).map(name => [name, defaults[kind as Kind]?.[name] ?? null] as const),
  ]),
) as Record<Kind, (readonly [name: string, missing: Json])[]>;

type Known = Pick<ConfigRecord, 'kind' | 'id' | 'fields'>;

const valuesOf = ({kind, id, fields}: Known): Record<string, Json> => {
  const values: Record<string, Json> = {id};
  for (const [name, missing] of fieldsOf[kind])
    values[name] = Object.hasOwn(fields, name) ? (fields[name]?.[0] ?? null) : missing;
  return values;
};

/**
 * Whether a record can be live: all required fields are present and valid. An update may arrive before the creation of its
 * record, and another node may send an invalid value; every node must then treat the record as incomplete.
 */
export const isComplete = (record: Known): boolean => {
  const values = valuesOf(record);
  return !Object.values(values).some(hasNul) && parseSafely(schemas[record.kind], values).success;
};

/** Converts a live record, whose values are valid. */
export const toReadable = <K extends Kind>(record: Known & {kind: K}): ReadableOf[K] => {
  const values = valuesOf(record);
  if (record.kind === 'domain') {
    values.updated_at = lastWriteOf(record.fields);
    const retention = storedRetention(values.retention);
    // Without one a domain looks as it does to earlier versions, and has the same ETag.
    if (retention) values.retention = retention as unknown as Json;
    else delete values.retention;
  }
  return values as unknown as ReadableOf[K];
};

const lastWriteOf = (fields: StampedFields): string => {
  const last = Object.values(fields).reduce((latest, [, stamp]) => (stamp > latest ? stamp : latest), '');
  return new Date(stampMs(last)).toISOString();
};
