// Moments and durations, as they are typed and as they are printed.
import {InvalidArgumentError} from 'commander';

/** Parses a duration into milliseconds. */
export const durationMs = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('Must be a duration such as 30s, 10m or 1h30m.');
  return ms;
};

/** The same, and accepts 0s. */
export const durationOrNone = (text: string): number => {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Must be a duration such as 30s or 5m, or 0s.');
  return ms;
};

/** Parses a timestamp, a date (from 00:00 UTC) or a duration before now into ISO 8601 UTC. */
export const pastMoment = (text: string): string => {
  const moment = isoMomentBefore(text, Date.now());
  if (moment === undefined) throw new InvalidArgumentError('Must be a time such as 2026-03-01T00:00:00Z, 2026-03-01, 2h or 3d.');
  return moment;
};

/** Parses a duration from now into ISO 8601 UTC. */
export const momentAfter = (text: string): string => {
  const aheadMs = parseDuration(text);
  const moment = aheadMs === undefined ? undefined : momentAt(Date.now() + aheadMs);
  if (moment === undefined) throw new InvalidArgumentError('Must be a duration such as 12h or 90d.');
  return moment;
};

/** Parses a timestamp or a date into ISO 8601 UTC. */
export const exactMoment = (text: string): string => {
  const moment = isoMoment(text);
  if (moment === undefined) throw new InvalidArgumentError('Must be a time such as 2027-01-31T00:00:00Z or 2027-01-31.');
  return moment;
};

const unitMs: Record<string, number> = {s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000};

/** `90d`, `2h`, `1h30m` in milliseconds; undefined when it is not a duration. */
export const parseDuration = (text: string): number | undefined => {
  if (!/^(\d{1,9}[smhdw])+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([smhdw])/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? ''] ?? 0),
    0,
  );
};

/** As ISO 8601 UTC: a timestamp or a date. A time without a zone is refused: it would mean another instant on every machine. */
export const isoMoment = (text: string): string | undefined => {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/i.test(text)) return undefined;
  return momentAt(Date.parse(text));
};

/** As ISO 8601 UTC: a timestamp, a date (from 00:00 UTC), or a duration before now. */
export const isoMomentBefore = (text: string, nowMs: number): string | undefined => {
  const durationMs = parseDuration(text);
  return durationMs === undefined ? isoMoment(text) : momentAt(nowMs - durationMs);
};

export const momentAt = (ms: number): string | undefined => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined);
