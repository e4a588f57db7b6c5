// Schemas for the fields of live records. Every node checks them, as the sending node may not have.

import {z} from 'zod';
import {apiKeySchema} from '../../shared/api-key.ts';
import {createDkimKeySchema, dkimKeySchema} from '../../shared/dkim-key.ts';
import {domainSchema} from '../../shared/domain.ts';
import {canonicalDomain} from '../../shared/domain-name.ts';
import {id, nodeId, timestamp} from '../../shared/fields.ts';
import {mailFilterSchema} from '../../shared/mail-filter.ts';
import type {Json} from '../../shared/merge-patch.ts';
import type {Kind, StampedFields} from '../services/records.ts';
import {parseSafely} from '../services/safe-parse.ts';

const text = (max: number) => z.string().min(1).max(max);
const url = z.string().max(300).nullable().optional();

/**
 * The fields that this version knows. Rules between fields do not belong here: two edits that were each valid may break such a
 * rule together, and the domain must not disappear for that. Making a schema narrower removes live records.
 */
const schemas = {
  node: z.object({created_at: timestamp, node_id: nodeId, fqdn: text(300), cluster_url: url, api_url: url, smtp_listen: url}),
  domain: z.object({
    ...domainSchema.omit({id: true, updated_at: true}).shape,
    name: z.string().refine(name => canonicalDomain(name) === name),
  }),
  api_key: z.object({
    ...apiKeySchema.omit({id: true, last_used_at: true}).shape,
    key_hash: text(200),
    domain_id: id.nullable(),
  }),
  mail_filter: z.object({
    ...mailFilterSchema.omit({id: true}).shape,
    // An address gets longer when its domain is written in ASCII.
    pattern: text(1000),
  }),
  dkim_key: z.object({
    ...dkimKeySchema.pick({domain_id: true, algorithm: true, created_at: true}).shape,
    selector: createDkimKeySchema.shape.selector,
    public_key: text(16_384),
    private_key_pem: text(16_384),
  }),
} satisfies Record<Kind, z.ZodObject>;

/** The values of the fields that this version knows; null for a missing field. */
export const knownValues = (kind: Kind, fields: StampedFields): Record<string, Json> =>
  Object.fromEntries(Object.keys(schemas[kind].shape).map(name => [name, valueIn(fields, name) ?? null]));

export const haveRightValues = (kind: Kind, fields: StampedFields): boolean => {
  const {shape} = schemas[kind];
  return parseSafely(schemas[kind], Object.fromEntries(Object.keys(shape).map(name => [name, valueIn(fields, name)]))).success;
};

const valueIn = (fields: StampedFields, name: string): Json | undefined =>
  Object.hasOwn(fields, name) ? fields[name]?.[0] : undefined;
