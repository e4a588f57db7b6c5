// Merge of two histories of one record: pure, commutative, associative and idempotent.

import {ascending} from '../../shared/collections.ts';
import {hasNul} from '../../shared/fields.ts';
import {ownValue} from '../../shared/has-own.ts';
import type {Json} from '../../shared/merge-patch.ts';
import type {Kind, Stamp, StampedFields} from '../services/records.ts';

export interface RecordState {
  fields: StampedFields;
  deleted: Stamp | null;
}

interface KindRules {
  /** The fields whose combined values must be unique among live records of the kind. A tombstone keeps them. */
  unique: readonly string[];
  /** The field that names the parent; the record is deleted with its parent. */
  parent?: {kind: 'domain'; field: string};
  /**
   * Fields where the earliest value wins, regardless of stamps: a revocation cannot be undone, and an expiry cannot be postponed.
   */
  earliest?: readonly string[];
}

/** Every kind has `created_at`, which is written once: its stamp is the stamp of the creation. */
export const rulesOf: Record<Kind, KindRules> = {
  node: {unique: ['node_id']},
  domain: {unique: ['name']},
  api_key: {unique: ['key_hash'], earliest: ['revoked_at', 'expires_at']},
  mail_filter: {unique: [], parent: {kind: 'domain', field: 'domain_id'}},
  dkim_key: {unique: ['domain_id', 'selector'], parent: {kind: 'domain', field: 'domain_id'}},
  webhook: {unique: [], parent: {kind: 'domain', field: 'domain_id'}},
  digest: {unique: [], parent: {kind: 'domain', field: 'domain_id'}},
};

/** Kinds whose records are deleted with their domain. */
export const childKinds = (Object.keys(rulesOf) as Kind[]).filter(kind => rulesOf[kind].parent !== undefined);

/**
 * The last writer wins, field by field. A deletion wins over every update. A tombstone keeps only the name, the parent and the
 * stamp of the creation; secrets are removed.
 */
export const mergeStates = (kind: Kind, a: RecordState, b: RecordState): RecordState => {
  const rules = rulesOf[kind];
  const deleted = earlierOf(a.deleted, b.deleted);
  const names = new Set([...Object.keys(a.fields), ...Object.keys(b.fields)]);

  const fields = new Map<string, StampedFields[string]>();
  for (const name of [...names].sort()) {
    if (deleted !== null && !outlivesDeletion(rules, name)) continue;
    const mine = ownValue(a.fields, name);
    const theirs = ownValue(b.fields, name);
    const winner = mine && theirs ? laterWrite(mine, theirs, rules.earliest?.includes(name) ?? false) : (mine ?? theirs);
    if (winner) fields.set(name, winner);
  }
  return {fields: Object.fromEntries(fields), deleted};
};

const outlivesDeletion = ({unique, parent}: KindRules, name: string): boolean =>
  name === 'created_at' || name === parent?.field || unique.includes(name);

/** The text that must be unique among live records of the kind; null if it is not known yet or the kind has none. */
export const uniqueKeyOf = (kind: Kind, {fields}: RecordState): string | null => {
  const values = rulesOf[kind].unique.map(name => ownValue(fields, name)?.[0]);
  const isNamed =
    values.length > 0 && values.every(value => (typeof value === 'string' && !hasNul(value)) || typeof value === 'number');
  return isNamed ? values.join('/') : null;
};

export const parentIdOf = (kind: Kind, {fields}: RecordState): number | null => {
  const {parent} = rulesOf[kind];
  const id = parent && ownValue(fields, parent.field)?.[0];
  return typeof id === 'number' && Number.isSafeInteger(id) ? id : null;
};

export interface Claim {
  id: number;
  created: Stamp;
  deleted: Stamp | null;
}

/** Claims of the records whose creation stamp is known. */
export const claimsIn = (records: (RecordState & {id: number})[]): Claim[] =>
  records.flatMap(({id, fields, deleted}) => {
    const created = fields.created_at?.[1];
    return created === undefined ? [] : [{id, created, deleted}];
  });

/**
 * Of all records that ever claimed one unique key, the ids of those that lost it. The earlier creation keeps the name. A later
 * creation loses if the name was still taken at that time, even if its holder was deleted since. The result depends on the whole
 * set, not on the order of arrival.
 */
export const conflictsIn = (claims: Claim[]): Set<number> => {
  const conflicts = new Set<number>();
  const holders: Claim[] = [];
  for (const claim of claims.toSorted((a, b) => ascending(a.created, b.created) || a.id - b.id)) {
    const isTaken = holders.some(({deleted}) => deleted === null || deleted > claim.created);
    if (isTaken) conflicts.add(claim.id);
    else holders.push(claim);
  }
  return conflicts;
};

type Write = [Json, Stamp];

/**
 * Stamps are unique in the cluster. The value is a tie-breaker, so that even two writes with the same stamp have one winner on
 * all nodes.
 */
const laterWrite = (a: Write, b: Write, isEarliestWins: boolean): Write => {
  const early = isEarliestWins ? byEarliest(a[0], b[0]) : 0;
  if (early !== 0) return early < 0 ? a : b;
  const order = ascending(a[1], b[1]) || ascending(JSON.stringify(a[0]), JSON.stringify(b[0]));
  return order >= 0 ? a : b;
};

/** An earlier time before a later one, and any time before null or another value that a peer may have sent. */
const byEarliest = (a: Json, b: Json): number => {
  if (typeof a === 'string' && typeof b === 'string') return ascending(a, b);
  return Number(typeof b === 'string') - Number(typeof a === 'string');
};

const earlierOf = (a: Stamp | null, b: Stamp | null): Stamp | null => {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
};
