// Days of a retention, and a retention as one line of text. Without zod, which mfctl does not load.
import type {Reason} from './reason.ts';
import type {DomainRetention} from './retention.ts';

/** The days that count for a reason; undefined where the node's setting does. */
export const daysOf = (retention: DomainRetention | null | undefined, reason: Reason): number | undefined =>
  retention?.by_reason[reason] ?? retention?.days ?? undefined;

/** `14, phishing 60`: days for every reason, and those of single reasons. Empty for none. */
export const retentionText = (retention: DomainRetention | null | undefined): string => {
  const {days, by_reason} = retention ?? {days: null, by_reason: {}};
  const others = Object.entries(by_reason).map(([reason, one]) => `${reason} ${one}`);
  return [...(days === null ? [] : [String(days)]), ...others].join(', ');
};

/** The retention that a text stands for, right or wrong; null for none. */
export const typedRetention = (text: string): unknown => {
  const parts = text
    .split(',')
    .map(part => part.trim())
    .filter(Boolean);
  if (parts.length === 0) return null;
  const alone = parts.filter(part => numberIn(part) !== undefined);
  const named = parts
    .filter(part => numberIn(part) === undefined)
    .map(part => /^(\S+?)[\s=]+(.*)$/.exec(part) ?? [part, part, '']);
  return {
    days: alone.length > 1 ? alone.join(', ') : (numberIn(alone[0] ?? '') ?? null),
    by_reason: Object.fromEntries(named.map(([, reason = '', days = '']) => [reason, numberIn(days) ?? days])),
  };
};

const numberIn = (text: string): number | undefined => (/^\d{1,9}(\.\d{1,20})?$/.test(text) ? Number(text) : undefined);
