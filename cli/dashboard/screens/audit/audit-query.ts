// Parameters of the API for a filter: the part that the node can apply.
import {isoMomentBefore} from '../../../command-line/time-text.ts';
import type {ListQuery} from '../../list/list-query.ts';

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
export const auditFault = ({terms}: ListQuery): string | undefined =>
  terms.since === undefined || isoMomentBefore(terms.since, 0) !== undefined
    ? undefined
    : 'since: must be a time such as 2026-03-01T00:00:00Z, 2026-03-01, 2h or 3d';
