// Times as people write them: a duration, or a moment with its zone.

const unitMs: Record<string, number> = {s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000};

/** `90d`, `2h`, `1h30m` in milliseconds; undefined when it is no duration. */
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
