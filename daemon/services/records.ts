// Records of the configuration that all nodes share: the replicated form and the readable form.
import type {ApiKey} from '../../shared/api-key.ts';
import type {DigestSettings} from '../../shared/digest.ts';
import type {Domain} from '../../shared/domain.ts';
import type {DkimAlgorithm} from '../../shared/field-rules.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Json} from '../../shared/merge-patch.ts';

export const kinds = ['node', 'domain', 'api_key', 'mail_filter', 'dkim_key', 'webhook', 'digest'] as const;
export type Kind = (typeof kinds)[number];

/** False for kinds that only a newer version knows. */
export const isKind = (kind: string): kind is Kind => (kinds as readonly string[]).includes(kind);

/** An id is node number × 10^9 + local sequence, so nodes create ids without coordination. */
export const idsPerNode = 1_000_000_000;

/** The `domain_id` of filters and webhooks for all domains. No domain has it. */
export const allDomains = 0;

/** The number of the node that created a record. The id of a node record is that node's number. */
export const makerOf = ({kind, id}: RecordKey): number => (kind === 'node' ? id : Math.floor(id / idsPerNode));

/** Whether a record has the id of its domain, so that any node may create it. */
export const hasIdOfDomain = (kind: Kind): boolean => kind === 'digest';

/** A reading of the hybrid logical clock as sortable text: milliseconds, counter and node number, in hex. */
export type Stamp = string;
export type StampedFields = Record<string, [Json, Stamp]>;

/** Milliseconds since 1970. */
export const stampMs = (stamp: Stamp): number => Number.parseInt(stamp.slice(0, 12), 16);

export interface RecordKey {
  kind: Kind;
  id: number;
}

export interface ConfigRecord extends RecordKey {
  fields: StampedFields;
  /** Stamp of the deletion; null while the record is live. A tombstone never becomes live again. */
  deleted: Stamp | null;
}

/** The replicated part of a record. */
export const replicatedPart = ({kind, id, fields, deleted}: ConfigRecord): ConfigRecord => ({kind, id, fields, deleted});

export interface StoredRecord extends ConfigRecord {
  /** A value that at most one live record of the kind may have, such as the name of a domain. */
  unique_key: string | null;
  /** The id of the record whose deletion also deletes this one. */
  parent_id: number | null;
  /** Hex SHA-256 of the live values; empty for a tombstone. */
  digest: string;
}

export type RecordDigest = RecordKey & Pick<StoredRecord, 'digest'>;

export const recordName = ({kind, id}: RecordKey): string => `${kind}/${id}`;

export const recordsByName = (records: StoredRecord[]): Map<string, StoredRecord> =>
  new Map(records.map(record => [recordName(record), record]));

export interface StoredNode {
  /** The node number: the first part of every id created there; never reused. */
  id: number;
  node_id: string;
  fqdn: string;
  /** Address for the other nodes, `https://host:port`; null until the node has announced it. */
  cluster_url: string | null;
  api_url: string | null;
  /** Address on which its SMTP gateway listens, `host:port`; null until the node has announced it. Nodes of 0.4 never do. */
  smtp_listen: string | null;
  created_at: string;
}

/**
 * An API key as stored: the hash, never the value. `domain` is the name of the bound domain at the time of binding, and so are `domains`
 * for a key with several. Such a key has no `domain_id`: nodes of 0.8 then take it for one whose domain is gone, which may do nothing.
 */
export type StoredApiKey = Omit<ApiKey, 'last_used_at'> & {key_hash: string; domain_id: number | null};

export interface StoredDkimKey {
  id: number;
  domain_id: number;
  selector: string;
  algorithm: DkimAlgorithm;
  public_key: string;
  /** PKCS #8. Used for signing only. */
  private_key_pem: string;
  created_at: string;
}

/** A webhook with what it signs with. `domain_id` is `allDomains`, or that of a domain. */
export interface StoredWebhook {
  id: number;
  url: string;
  /** Null: all. A later version may have names that this one does not know. */
  events: string[] | null;
  domain_id: number;
  description: string | null;
  /** See `createdWebhookSchema`. */
  secret: string;
  created_at: string;
  disabled_at: string | null;
  disabled_because: string | null;
  /** The last replay: when it was asked for, from when on events are sent again, and whether earlier ones that were not sent are left out. */
  replay: {at: string; since: string; is_fresh_start: boolean} | null;
}

/** Its id is that of its domain, so that two nodes never make two for one domain. It is not removed, as a tombstone stays one. */
export interface StoredDigest extends Pick<DigestSettings, 'at' | 'timezone' | 'except'> {
  id: number;
  language: string;
  actions: Record<string, string>;
  domain_id: number;
  /** Null while there are none. */
  enabled_at: string | null;
  created_at: string;
}

/** The fields of each kind as they are stored, without `id` and fields derived from stamps. */
export interface FieldsOf {
  /** A node announces `smtp_listen` when it listens. */
  node: Omit<StoredNode, 'id' | 'smtp_listen'> & Partial<Pick<StoredNode, 'smtp_listen'>>;
  domain: Omit<Domain, 'id' | 'updated_at'>;
  /** Only a key with several domains has `domains` and `domain_ids`. */
  api_key: Omit<StoredApiKey, 'id' | 'domains' | 'domain_ids'> & Partial<Pick<StoredApiKey, 'domains' | 'domain_ids'>>;
  mail_filter: Omit<MailFilter, 'id'>;
  dkim_key: Omit<StoredDkimKey, 'id'>;
  webhook: Omit<StoredWebhook, 'id'>;
  digest: Omit<StoredDigest, 'id'>;
}

/** The readable form of the live records of each kind. */
export interface ReadableOf {
  node: StoredNode;
  domain: Domain;
  api_key: StoredApiKey;
  mail_filter: MailFilter;
  dkim_key: StoredDkimKey;
  webhook: StoredWebhook;
  digest: StoredDigest;
}

/** The key of a record that a change has altered, and its parent. */
export type ChangedKey = RecordKey & Pick<StoredRecord, 'parent_id'>;

/** The latest use of a key, ISO 8601. */
export interface KeyUse {
  key_id: number;
  last_used_at: string;
}
