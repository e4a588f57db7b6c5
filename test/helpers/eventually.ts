/** Resolves with what `look` finds; throws once it has found nothing for `withinMs`. */
export const eventually = async <T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 30_000,
): Promise<T> => {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${look}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
};
