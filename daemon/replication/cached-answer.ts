// Cache for an answer that is expensive to compute: all callers within a few seconds share it.

interface Options {
  /** How long an answer is reused, in milliseconds after it was found. */
  cachedMs: number;
  monotonic(): number;
}

/**
 * Runs `ask` once at a time: callers that arrive meanwhile or soon after get the same answer. A failure goes to the callers that
 * waited for it and is not cached.
 */
export const cacheAnswer = <Args extends unknown[], Answer>(
  ask: (...args: Args) => Promise<Answer>,
  {cachedMs, monotonic}: Options,
): ((...args: Args) => Promise<Answer>) => {
  let last: {answer: Promise<Answer>; foundAt?: number} | undefined;

  return async (...args) => {
    if (last && (last.foundAt === undefined || monotonic() - last.foundAt < cachedMs)) return last.answer;
    const own: {answer: Promise<Answer>; foundAt?: number} = {answer: ask(...args)};
    last = own;
    try {
      const answer = await own.answer;
      own.foundAt = monotonic();
      return answer;
    } catch (error) {
      last = undefined;
      throw error;
    }
  };
};
