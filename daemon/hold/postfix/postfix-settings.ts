// Settings of main.cf that matter to a hold queue.
import type {PostfixPrograms} from './postfix-programs.ts';

const unitSeconds: Record<string, number> = {s: 1, m: 60, h: 3600, d: 86_400, w: 604_800};

/** Parses a time of postconf(5); `maximal_queue_lifetime` counts days when there is no unit. */
export const parseQueueLifetime = (text: string): number | undefined => {
  const [, number, unit = 'd'] = /^(\d{1,9})([smhdw])?$/.exec(text.trim()) ?? [];
  return number === undefined ? undefined : Number(number) * (unitSeconds[unit] ?? 1) * 1000;
};

const defaultLifetimeMs = 5 * 86_400_000;
const rememberedMs = 600_000;

/** Read from Postfix now and then, as an operator may change it; the default of Postfix if it cannot be read. */
export const createLifetime = (programs: Pick<PostfixPrograms, 'parameter'>, now: () => number): (() => Promise<number>) => {
  let known: {at: number; ms: number} | undefined;

  return async () => {
    if (known && now() - known.at < rememberedMs) return known.ms;
    const text = await programs.parameter('maximal_queue_lifetime').catch(() => '');
    known = {at: now(), ms: parseQueueLifetime(text) ?? defaultLifetimeMs};
    return known.ms;
  };
};

/** Postfix reuses short queue ids, so an action could affect another mail than the intended one. */
export const hasLongQueueIds = async (programs: Pick<PostfixPrograms, 'parameter'>): Promise<boolean> =>
  (await programs.parameter('enable_long_queue_ids')) === 'yes';
