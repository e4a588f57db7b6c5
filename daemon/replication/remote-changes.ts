// Rules for configuration from another node. Such a change is a claim by that node, and these rules say which claims are
// accepted. They apply before the merge, never inside it, as the merge has to stay commutative.

import {hasNul} from '../../shared/fields.ts';
import {ownValue} from '../../shared/has-own.ts';
import type {NodeIdentity} from '../services/actor.ts';
import {type NewAuditEntry, nodeEntry} from '../services/audit/stored-entry.ts';
import type {ChangedRecord, ChangeSource} from '../services/cluster/replication-ports.ts';
import {type ConfigRecord, makerOf, type Stamp, type StoredRecord} from '../services/records.ts';
import {isTooFarAhead, stampNodeNo} from './clock.ts';

export interface DatedChanges {
  changes: ConfigRecord[];
  /** The rejected writes, one text per record. */
  leftOut: string[];
}

/** Rejects writes and deletions that are dated too far ahead of this node's wall clock. */
export const withoutFutureWrites = (changes: ConfigRecord[], nowMs: number): DatedChanges => {
  const leftOut: string[] = [];
  const kept = changes.flatMap(change => {
    const late = Object.entries(change.fields).filter(([, [, stamp]]) => isTooFarAhead(stamp, nowMs));
    const isLateDeletion = change.deleted !== null && isTooFarAhead(change.deleted, nowMs);
    if (late.length === 0 && !isLateDeletion) return [change];
    const names = [...late.map(([name]) => name), ...(isLateDeletion ? ['deletion'] : [])];
    leftOut.push(`${change.kind} ${change.id} (${names.join(', ')})`);
    const fields = Object.fromEntries(Object.entries(change.fields).filter(([name]) => !late.some(([other]) => other === name)));
    const deleted = isLateDeletion ? null : change.deleted;
    return Object.keys(fields).length === 0 && deleted === null ? [] : [{...change, fields, deleted}];
  });
  return {changes: kept, leftOut};
};

/** These fields never change, as the node's certificate contains its id. */
export const fixedNodeFields = ['node_id', 'created_at'];

/**
 * The part of a `node` record that `from` may change, compared with the known record. A node may change its own record. For other
 * nodes it may add missing fields, but not change known ones. Every node may remove another one.
 */
export const believableNode = (
  change: ConfigRecord,
  known: Pick<StoredRecord, 'fields'> | undefined,
  from: NodeIdentity,
): ConfigRecord => {
  const isOwn = change.id === from.nodeNo;
  const isBelieved = (name: string) =>
    known === undefined || !Object.hasOwn(known.fields, name) || (isOwn && !fixedNodeFields.includes(name));
  return {...change, fields: Object.fromEntries(Object.entries(change.fields).filter(([name]) => isBelieved(name)))};
};

/**
 * Whether `served` has later writes with different values than this node's own record: the node wrote them before it lost its
 * database.
 */
export const contradicts = (served: ConfigRecord, own: Pick<StoredRecord, 'fields'>): boolean =>
  Object.entries(served.fields).some(([name, [value, stamp]]) => {
    const mine = ownValue(own.fields, name);
    return mine !== undefined && stamp > mine[1] && JSON.stringify(value) !== JSON.stringify(mine[0]);
  });

interface Receipt {
  source: ChangeSource;
  at: string;
  /** The name of a node for display, or its number. */
  nameOf(nodeNo: number): string;
}

/** Audit entries for remote changes: every new key, and keys and domains that were served by a node other than their author. */
export const receiptEntries = (changed: ChangedRecord[], {source, at, nameOf}: Receipt): NewAuditEntry[] => {
  if (source.path === 'join') return [];
  return changed.flatMap(({before, after}) => {
    const {kind, id} = after;
    if (kind !== 'api_key' && kind !== 'domain') return [];
    const isNewKey = kind === 'api_key' && (before === undefined || before.digest === '') && after.digest !== '';
    const authors = source.path === 'events' ? [] : authorsOf(before, after).filter(no => no !== source.node.nodeNo);
    if (!isNewKey && authors.length === 0) return [];
    const what = isNewKey
      ? `${textOf(after, 'scope')} ${textOf(after, 'name')}, made on ${nameOf(makerOf(after))}`
      : `written on ${authors.map(nameOf).join(', ')}`;
    const how = source.path === 'events' ? '' : `, served by ${source.node.nodeId} in a ${source.path}`;
    return [
      nodeEntry({
        at,
        action: kind === 'domain' ? 'domain.replicate' : 'key.replicate',
        target: kind === 'domain' ? textOf(after, 'name') || textOf(before, 'name') || String(id) : String(id),
        detail: `${what}${how}`,
      }),
    ];
  });
};

const shownRecords = 10;
const shownChars = 1000;

/** A text of bounded length, as a peer may send any number of long values. */
export const leftOutText = (leftOut: readonly string[]): string => {
  const rest = leftOut.length - shownRecords;
  const shown = leftOut.slice(0, shownRecords).join(', ');
  return `${shown.length > shownChars ? `${shown.slice(0, shownChars)}…` : shown}${rest > 0 ? ` and ${rest} more` : ''}`;
};

export const leftOutEntry = (leftOut: readonly string[], {source, at}: Omit<Receipt, 'nameOf'>): NewAuditEntry =>
  nodeEntry({
    at,
    action: 'replication.refuse',
    target: source.node.nodeId,
    result: 'validation_failed',
    detail: `dated more than a day ahead of this node's clock: ${leftOutText(leftOut)}`,
  });

/** Numbers of the nodes whose writes changed the record. */
const authorsOf = (before: StoredRecord | undefined, after: StoredRecord): number[] => {
  const stamps = new Set<Stamp>();
  for (const [name, [, stamp]] of Object.entries(after.fields))
    if (!before || ownValue(before.fields, name)?.[1] !== stamp) stamps.add(stamp);
  if (after.deleted !== null && before?.deleted !== after.deleted) stamps.add(after.deleted);
  return [...new Set([...stamps].map(stampNodeNo))].sort((a, b) => a - b);
};

const textOf = (record: StoredRecord | undefined, field: string): string => {
  const value = record && ownValue(record.fields, field)?.[0];
  return typeof value === 'string' && !hasNul(value) ? value : '';
};
