// Rules for the days that a domain asks for, which its own administrators may set only up to what the operator allows.
import type {FieldFault} from '../../../shared/fault.ts';
import {type Reason, reasons} from '../../../shared/reason.ts';
import {type DomainRetention, unreadableRetention} from '../../../shared/retention.ts';
import type {Actor} from '../actor.ts';
import {membersOf} from '../validate.ts';

/**
 * Faults of `wanted` as a merge patch of a retention, where `current` is the stored one. What is stored already has no faults. Paths
 * begin at the retention.
 */
export type RetentionRules = (
  actor: Pick<Actor, 'scope'>,
  wanted: unknown,
  current: DomainRetention | null | undefined,
) => FieldFault[];

/** `maxDays`: the most that a domain-admin key may set; undefined for no limit. */
export const createRetentionRules =
  ({maxDays}: {maxDays(): number | undefined}): RetentionRules =>
  (actor, wanted, current) => {
    const most = maxDays();
    if (most === undefined || actor.scope !== 'domain-admin') return [];
    const {days, by_reason} = membersOf(wanted);
    const byReason = membersOf(by_reason);
    const detail = `must be at most ${most}: a domain-admin key may set no more than retention.max_days; ask an administrator of the cluster`;
    const faultAt = (path: string, value: unknown, stored: number | null | undefined): FieldFault[] =>
      typeof value === 'number' && value > most && value !== stored ? [{path, detail}] : [];
    // Beside days of a reason, or without them, these count for the others.
    const others = days === undefined ? current?.days : days;
    const setsReason = reasons.some(reason => typeof byReason[reason] === 'number');
    // The days that stand for an unreadable retention were set by nobody, and would be stored with those of a reason.
    const faults =
      current === unreadableRetention && setsReason ? faultAt('days', others, undefined) : faultAt('days', days, current?.days);
    const reasonFaults = (reason: Reason): FieldFault[] => {
      const path = `by_reason.${reason}`;
      const stored = current?.by_reason[reason];
      const value = by_reason === null ? null : byReason[reason];
      if (value !== null) return faultAt(path, value, stored);
      return stored === undefined || faults.length > 0 ? [] : faultAt(path, others, stored);
    };
    return [...faults, ...reasons.flatMap(reasonFaults)];
  };
