import {InvalidArgumentError} from 'commander';
import {isoMoment, isoMomentBefore, momentAt, parseDuration} from './time-text.ts';

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
