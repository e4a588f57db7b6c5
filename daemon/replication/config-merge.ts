// Merge of two histories of one record: pure, commutative, associative, idempotent.

import type {Json} from '../../shared/merge-patch.ts';
import type {Kind, Stamp, StampedFields} from '../services/records.ts';
import {haveRightValues} from './record-values.ts';

export interface RecordState {
  fields: StampedFields;
  deleted: Stamp | null;
}

interface KindRules {
  /** The fields whose values together only one live record of the kind may have. They outlive a deletion. */
  unique: readonly string[];
  /** The field that names the record it dies with. */
  parent?: {kind: 'domain'; field: string};
  /** Fields where the earliest value wins, whoever wrote last: a revocation cannot be undone, nor can an end be put off. */
  earliest?: readonly string[];
}

/** Every kind has `created_at`, written once: its stamp is the stamp of the creation. */
export const rulesOf: Record<Kind, KindRules> = {
  node: {unique: ['node_id']},
  domain: {unique: ['name']},
  api_key: {unique: ['key_hash'], earliest: ['revoked_at', 'expires_at']},
  mail_filter: {unique: [], parent: {kind: 'domain', field: 'domain_id'}},
  dkim_key: {unique: ['domain_id', 'selector'], parent: {kind: 'domain', field: 'domain_id'}},
};

/** Those that die with a domain. */
export const childKinds = (Object.keys(rulesOf) as Kind[]).filter(kind => rulesOf[kind].parent !== undefined);

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
    const winner = mine && theirs ? laterWrite(mine, theirs, rules.earliest?.includes(name) ?? false) : (mine ?? theirs);
    if (winner) fields[name] = winner;
  }
  return {fields, deleted};
};

const outlivesDeletion = ({unique, parent}: KindRules, name: string): boolean =>
  name === 'created_at' || name === parent?.field || unique.includes(name);

/**
 * Whether a record can be live: all it needs is there and is what it should be. An update may overtake the creation it
 * belongs to, and what comes from another node may be wrong, which must make it wrong everywhere and break nothing.
 */
export const isComplete = (kind: Kind, {fields}: RecordState): boolean => haveRightValues(kind, fields);

/** The text two live records of a kind must not share; null while it is not known or the kind has none. */
export const uniqueKeyOf = (kind: Kind, {fields}: RecordState): string | null => {
  const values = rulesOf[kind].unique.map(name => fields[name]?.[0]);
  const isNamed = values.length > 0 && values.every(value => typeof value === 'string' || typeof value === 'number');
  return isNamed ? values.join('/') : null;
};

export const parentIdOf = (kind: Kind, {fields}: RecordState): number | null => {
  const {parent} = rulesOf[kind];
  const id = parent && fields[parent.field]?.[0];
  return typeof id === 'number' && Number.isSafeInteger(id) ? id : null;
};

export interface Claim {
  id: number;
  created: Stamp;
  deleted: Stamp | null;
}

/** The records of which it is known when they were created. */
export const claimsIn = (records: (RecordState & {id: number})[]): Claim[] =>
  records.flatMap(({id, fields, deleted}) => {
    const created = fields.created_at?.[1];
    return created === undefined ? [] : [{id, created, deleted}];
  });

/**
 * Which of the records that ever claimed one unique key lost it. The earlier creation keeps the name; a later one loses
 * when the name was still taken at the time, even if the holder has been deleted since. A function of the whole set, so
 * the order in which the claims arrived makes no difference.
 */
export const conflictsIn = (claims: Claim[]): Set<number> => {
  const conflicts = new Set<number>();
  const holders: Claim[] = [];
  for (const claim of claims.toSorted((a, b) => compare(a.created, b.created) || a.id - b.id)) {
    const isTaken = holders.some(({deleted}) => deleted === null || deleted > claim.created);
    if (isTaken) conflicts.add(claim.id);
    else holders.push(claim);
  }
  return conflicts;
};

type Write = [Json, Stamp];

/** Stamps are unique over the cluster; the value decides only so that even a broken pair has one winner everywhere. */
const laterWrite = (a: Write, b: Write, isEarliestWins: boolean): Write => {
  const early = isEarliestWins ? byEarliest(a[0], b[0]) : 0;
  if (early !== 0) return early < 0 ? a : b;
  const order = compare(a[1], b[1]) || compare(JSON.stringify(a[0]), JSON.stringify(b[0]));
  return order >= 0 ? a : b;
};

/** Times by time, before what is none: null, and whatever else a peer may have written there. */
const byEarliest = (a: Json, b: Json): number => {
  if (typeof a === 'string' && typeof b === 'string') return compare(a, b);
  return Number(typeof b === 'string') - Number(typeof a === 'string');
};

const earlierOf = (a: Stamp | null, b: Stamp | null): Stamp | null => {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
};

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
