// Records of the configuration: what is replicated, or shared by all nodes, in the forms in which it is stored and read.
import type {ApiKey} from '../../shared/api-key.ts';
import type {DkimAlgorithm} from '../../shared/dkim-algorithm.ts';
import type {Domain} from '../../shared/domain.ts';
import type {MailFilter} from '../../shared/mail-filter.ts';
import type {Json} from '../../shared/merge-patch.ts';

export const kinds = ['node', 'domain', 'api_key', 'mail_filter', 'dkim_key'] as const;
export type Kind = (typeof kinds)[number];

/** A node of a newer version may have records of more kinds. */
export const isKind = (kind: string): kind is Kind => (kinds as readonly string[]).includes(kind);

/** Numbers of one node start here, so that ids need no coordination: node number × 10^9 + local sequence. */
export const idsPerNode = 1_000_000_000;

/** The number of the node that made a record; of a node its own number is the id. */
export const makerOf = ({kind, id}: RecordKey): number => (kind === 'node' ? id : Math.floor(id / idsPerNode));

/** Hybrid logical clock reading as text that sorts: milliseconds, counter, node number, in hex. */
export type Stamp = string;
export type StampedFields = Record<string, [Json, Stamp]>;

export interface RecordKey {
  kind: Kind;
  id: number;
}

export interface ConfigRecord extends RecordKey {
  fields: StampedFields;
  /** Stamp of the deletion: the record is a tombstone for ever. */
  deleted: Stamp | null;
}

export interface StoredRecord extends ConfigRecord {
  /** What at most one live record of the kind may have, such as a domain's name. */
  unique_key: string | null;
  /** The record this one dies with. */
  parent_id: number | null;
  /** Hex SHA-256 of the live values; empty while the record is not live. */
  digest: string;
}

export type RecordDigest = RecordKey & Pick<StoredRecord, 'digest'>;

export const recordName = ({kind, id}: RecordKey): string => `${kind}/${id}`;

export const recordsByName = (records: StoredRecord[]): Map<string, StoredRecord> =>
  new Map(records.map(record => [recordName(record), record]));

export interface StoredNode {
  /** The node number: the first part of every id made there, never reused. */
  id: number;
  node_id: string;
  fqdn: string;
  /** Where the others reach it, `https://host:port`; null until it has said so itself. */
  cluster_url: string | null;
  api_url: string | null;
  /** Where its SMTP gateway really listens, `host:port`; null until it has said so itself, as nodes of 0.4 never do. */
  smtp_listen: string | null;
  created_at: string;
}

/** A key as stored: never its value, only the hash of it. `domain` is the name the bound domain had when it was bound. */
export type StoredApiKey = Omit<ApiKey, 'last_used_at'> & {key_hash: string; domain_id: number | null};

export interface StoredDkimKey {
  id: number;
  domain_id: number;
  selector: string;
  algorithm: DkimAlgorithm;
  public_key: string;
  /** PKCS #8. Leaves the store for signing and for nothing else. */
  private_key_pem: string;
  created_at: string;
}

/** Fields of every kind as they are stored; `id` and what follows from stamps are added here. */
export interface FieldsOf {
  /** A node says where it listens once it does. */
  node: Omit<StoredNode, 'id' | 'smtp_listen'> & Partial<Pick<StoredNode, 'smtp_listen'>>;
  domain: Omit<Domain, 'id' | 'updated_at'>;
  api_key: Omit<StoredApiKey, 'id'>;
  mail_filter: Omit<MailFilter, 'id'>;
  dkim_key: Omit<StoredDkimKey, 'id'>;
}

/** A live record in the form in which it is read. */
export type Readable = StoredNode | Domain | StoredApiKey | MailFilter | StoredDkimKey;

/** A record that looks different after a change, and the one it belongs to. */
export type ChangedKey = RecordKey & Pick<StoredRecord, 'parent_id'>;

/** The latest use of a key, ISO 8601. */
export interface KeyUse {
  key_id: number;
  last_used_at: string;
}
