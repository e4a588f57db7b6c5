// What it means for two histories of one record to become one: pure, commutative, associative, idempotent.
import type {Json} from '../../shared/merge-patch.ts';
import type {Kind, Stamp, StampedFields} from '../store/config-record.ts';

export interface RecordState {
  fields: StampedFields;
  deleted: Stamp | null;
}

interface KindRules {
  /** Without all of these a record is not live yet: an update may overtake the creation it belongs to. */
  required: readonly string[];
  /** The fields whose values together only one live record of the kind may have. They outlive a deletion. */
  unique: readonly string[];
  /** The field that names the record it dies with. */
  parent?: {kind: Kind; field: string};
  /** A field where the earliest value wins, whoever wrote last: a revocation cannot be undone. */
  earliest?: string;
}

/** Every kind has `created_at`, written once: its stamp is the stamp of the creation. */
export const rulesOf: Record<Kind, KindRules> = {
  node: {required: ['created_at', 'node_id', 'fqdn'], unique: ['node_id']},
  domain: {
    required: [
      'created_at',
      'name',
      'direction',
      'active',
      'backend_servers',
      'quarantine_threshold',
      'reject_threshold',
      'dkim_active',
      'dmarc_reporting',
      'tenant_id',
    ],
    unique: ['name'],
  },
  api_key: {
    required: [
      'created_at',
      'name',
      'key_hash',
      'key_prefix',
      'scope',
      'rate_limit_per_minute',
      'domain_id',
      'domain',
      'expires_at',
      'revoked_at',
    ],
    unique: ['key_hash'],
    earliest: 'revoked_at',
  },
  mail_filter: {
    required: ['created_at', 'domain_id', 'action', 'match', 'header', 'pattern', 'score', 'comment'],
    unique: [],
    parent: {kind: 'domain', field: 'domain_id'},
  },
  dkim_key: {
    required: ['created_at', 'domain_id', 'selector', 'algorithm', 'public_key', 'private_key_pem'],
    unique: ['domain_id', 'selector'],
    parent: {kind: 'domain', field: 'domain_id'},
  },
};

/**
 * Last writer wins, field by field. A deletion wins over every update and keeps only what says whose record it was and
 * which name was taken from when to when; secrets go with it.
 */
export const mergeStates = (kind: Kind, a: RecordState, b: RecordState): RecordState => {
  const rules = rulesOf[kind];
  const deleted = earlierOf(a.deleted, b.deleted);
  const names = new Set([...Object.keys(a.fields), ...Object.keys(b.fields)]);

  const fields: StampedFields = {};
  for (const name of [...names].sort()) {
    if (deleted !== null && !outlivesDeletion(rules, name)) continue;
    const mine = a.fields[name];
    const theirs = b.fields[name];
    const winner = mine && theirs ? laterWrite(mine, theirs, name === rules.earliest) : (mine ?? theirs);
    if (winner) fields[name] = winner;
  }
  return {fields, deleted};
};

const outlivesDeletion = ({unique, parent}: KindRules, name: string): boolean =>
  name === 'created_at' || name === parent?.field || unique.includes(name);

export const isComplete = (kind: Kind, state: RecordState): boolean =>
  rulesOf[kind].required.every(name => Object.hasOwn(state.fields, name));

/** The text two live records of a kind must not share; null while it is not known or the kind has none. */
export const uniqueKeyOf = (kind: Kind, {fields}: RecordState): string | null => {
  const {unique} = rulesOf[kind];
  if (unique.length === 0 || !unique.every(name => Object.hasOwn(fields, name))) return null;
  return unique.map(name => String(fields[name]?.[0])).join('/');
};

export const parentIdOf = (kind: Kind, {fields}: RecordState): number | null => {
  const {parent} = rulesOf[kind];
  return (parent && (fields[parent.field]?.[0] as number | undefined)) ?? null;
};

export interface Claim {
  id: number;
  created: Stamp;
  deleted: Stamp | null;
}

/**
 * Which of the records that ever claimed one unique key lost it. The earlier creation keeps the name; a later one loses
 * when the name was still taken at the time, even if the holder has been deleted since. A function of the whole set, so
 * the order in which the claims arrived makes no difference.
 */
export const losersOf = (claims: Claim[]): Set<number> => {
  const losers = new Set<number>();
  const holders: Claim[] = [];
  for (const claim of claims.toSorted((a, b) => compare(a.created, b.created) || a.id - b.id)) {
    const isTaken = holders.some(({deleted}) => deleted === null || deleted > claim.created);
    if (isTaken) losers.add(claim.id);
    else holders.push(claim);
  }
  return losers;
};

type Write = [Json, Stamp];

/** Stamps are unique over the cluster; the value decides only so that even a broken pair has one winner everywhere. */
const laterWrite = (a: Write, b: Write, isEarliestWins: boolean): Write => {
  if (isEarliestWins && a[0] !== b[0]) {
    if (a[0] === null) return b;
    if (b[0] === null) return a;
    return a[0] < b[0] ? a : b;
  }
  const order = compare(a[1], b[1]) || compare(JSON.stringify(a[0]), JSON.stringify(b[0]));
  return order >= 0 ? a : b;
};

const earlierOf = (a: Stamp | null, b: Stamp | null): Stamp | null => {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
};

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
