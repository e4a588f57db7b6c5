// Audit entries of all nodes: the newest, and older ones as far as the user has scrolled. Plain data.

import type {AuditEntry} from '../../../../shared/audit-entry.ts';
import {ascending} from '../../../../shared/collections.ts';
import {isoMomentBefore, pastMomentFault} from '../../../command-line/moment.ts';
import {hasWords, isOneOf, type ListQuery} from '../../list/list-query.ts';
import {createTailReducer, emptyTail, type Tail} from '../../list/tail.ts';

export type AuditRow = AuditEntry & {key: string};

/** One page of the list, as answered. */
export interface AuditPage {
  entries: readonly AuditEntry[];
  /** The number of all matches. */
  total: number;
  unreachable: readonly string[];
}

export interface AuditState {
  tail: Tail<AuditRow>;
  total: number | undefined;
  /** Nodes whose entries are missing. */
  unreachable: readonly string[];
  /** The parameters of the request. */
  parameters: AuditParameters;
  older: 'idle' | 'asked' | 'failed';
}

export type AuditEvent =
  /** Requests of an earlier visit to the screen no longer count. */
  | {kind: 'opened'}
  | {kind: 'newest'; page: AuditPage}
  | {kind: 'older-asked'}
  | {kind: 'older'; page: AuditPage; parameters: AuditParameters}
  | {kind: 'older-failed'}
  | {kind: 'filtered'; parameters: AuditParameters}
  | {kind: 'pause-toggled'};

export const auditLimit = 5000;

/** Newest first; entries of the same time by node, and there the later one first, as in the API. */
const compare = (a: AuditRow, b: AuditRow): number => ascending(b.at, a.at) || ascending(a.node_id, b.node_id) || b.seq - a.seq;

export const auditTerms = ['action', 'key', 'node', 'since', 'result'] as const;

/** The node has already filtered by `since`, a key's id and a whole action; see `auditParameters`. */
export const matchesAudit = (entry: AuditEntry, {terms, words}: ListQuery): boolean =>
  isAction(entry.action, terms.action) &&
  isKey(entry, terms.key) &&
  isOneOf(entry.node_id, terms.node) &&
  isOneOf(entry.result, terms.result) &&
  hasWords([entry.action, entry.target, entry.key_name, entry.detail, entry.remote_address, entry.node_id, entry.result], words);

const isAction = (action: string, wanted: string | undefined): boolean =>
  wanted === undefined || wanted.split(',').some(one => action === one || action.startsWith(`${one}.`));

const isKey = ({key_id, key_name}: AuditEntry, wanted: string | undefined): boolean =>
  wanted === undefined || isOneOf(String(key_id), wanted) || (key_name ?? '').toLowerCase().includes(wanted.toLowerCase());

const tailReducer = createTailReducer<AuditRow>({compare, limit: auditLimit});

export const emptyAudit: AuditState = {
  tail: emptyTail,
  total: undefined,
  unreachable: [],
  parameters: {},
  older: 'idle',
};

export const auditReducer = (state: AuditState, event: AuditEvent): AuditState => {
  switch (event.kind) {
    case 'opened':
      return {...state, older: 'idle'};
    case 'newest':
      return withNewest(state, event.page);
    case 'older-asked':
      return {...state, older: 'asked'};
    case 'older-failed':
      return {...state, older: 'failed'};
    case 'older':
      return event.parameters === state.parameters ? withOlder(state, event.page) : state;
    case 'filtered':
      // The request changes, so the present entries may not be in its answer.
      return JSON.stringify(event.parameters) === JSON.stringify(state.parameters)
        ? state
        : {...emptyAudit, parameters: event.parameters};
    case 'pause-toggled':
      return {...state, tail: tailReducer(state.tail, event)};
    default:
      return event satisfies never;
  }
};

const withOlder = (state: AuditState, {entries, total, unreachable}: AuditPage): AuditState => {
  const {rows, waiting} = state.tail;
  const known = new Set([...rows, ...waiting].map(({key}) => key));
  const older = rowsOf(entries).filter(({key}) => !known.has(key));
  // The set of answering nodes has changed, and with it the offsets; the next read of the newest page corrects the list.
  if (older.length === 0 || !isSame(unreachable, state.unreachable)) return {...state, older: 'failed'};
  return {...state, tail: tailReducer(state.tail, {kind: 'older-read', rows: older}), total, older: 'idle'};
};

/** Known entries link the page to the list; without them, or with other nodes, the list starts again. */
const withNewest = (state: AuditState, {entries, total, unreachable}: AuditPage): AuditState => {
  const rows = rowsOf(entries);
  const known = new Set([...state.tail.rows, ...state.tail.waiting].map(({key}) => key));
  const isLinked = known.size === 0 || rows.some(({key}) => known.has(key));
  const isNewList = !isLinked || !isSame(unreachable, state.unreachable);
  const older = state.older === 'failed' ? 'idle' : state.older;
  return {...state, tail: tailReducer(state.tail, {kind: 'arrived', rows, isNewList}), total, unreachable, older};
};

const rowsOf = (entries: readonly AuditEntry[]): AuditRow[] =>
  entries.map(entry => ({...entry, key: `${entry.node_id}/${entry.seq}`}));

const isSame = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();

/** The number of newest entries without a gap. */
export const knownCount = ({tail}: AuditState): number =>
  tail.replacesRows ? tail.waiting.length : tail.rows.length + tail.waiting.length;

/** Whether older entries exist and the limit allows them. */
export const hasOlder = (state: AuditState): boolean =>
  state.total !== undefined && !state.tail.replacesRows && knownCount(state) < Math.min(state.total, auditLimit);

export interface AuditParameters {
  since?: string;
  key_id?: number;
  action?: string;
}

export const auditParameters = ({terms}: ListQuery, nowMs: number): AuditParameters => {
  const since = terms.since === undefined ? undefined : isoMomentBefore(terms.since, nowMs);
  return {
    ...(since !== undefined && {since}),
    ...(isKeyId(terms.key) && {key_id: Number(terms.key)}),
    ...(isWholeAction(terms.action) && {action: terms.action}),
  };
};

const isKeyId = (key: string | undefined): key is string => /^[1-9]\d{0,14}$/.test(key ?? '');

/** `quarantine` alone stands for all actions with this prefix, which the API does not support. */
const isWholeAction = (action: string | undefined): action is string => /^[a-z]+\.[a-z-]+$/.test(action ?? '');

/** Whether a part of the filter is applied here: then pages contain entries that do not match. */
export const isNarrowedHere = ({terms, words}: ListQuery): boolean =>
  words.length > 0 ||
  terms.node !== undefined ||
  terms.result !== undefined ||
  (terms.key !== undefined && !isKeyId(terms.key)) ||
  (terms.action !== undefined && !isWholeAction(terms.action));

/** Why the filter is invalid. */
export const auditFault = ({terms}: ListQuery): string | undefined => {
  const fault = terms.since === undefined ? undefined : pastMomentFault(terms.since, Date.now());
  return fault === undefined ? undefined : `since: ${fault}`;
};
