/** Resolves with the first result of `poll` that is neither undefined nor false; throws when there is none for `withinMs`. */
export const eventually = async <T>(
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 30_000,
): Promise<T> => {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await poll();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${poll}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};
