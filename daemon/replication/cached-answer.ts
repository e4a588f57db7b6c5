// An answer that costs much to find, for all who ask within a few seconds.

interface Options {
  /** How long an answer is given again, from when it was found. */
  keptMs: number;
  monotonic(): number;
}

/**
 * Asks once at a time: who asks meanwhile gets the same answer, and so does who asks soon after. A failure is for those who were waiting
 * for it, and is not kept.
 */
export const keepAnswer = <Args extends unknown[], Answer>(
  ask: (...args: Args) => Promise<Answer>,
  {keptMs, monotonic}: Options,
): ((...args: Args) => Promise<Answer>) => {
  let last: {answer: Promise<Answer>; foundAt?: number} | undefined;

  return async (...args) => {
    if (last && (last.foundAt === undefined || monotonic() - last.foundAt < keptMs)) return last.answer;
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
