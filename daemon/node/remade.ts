/** Something that is made of settings, and made again at the first use after they have changed. */
export const remade = <S, T>(settings: () => S, make: (settings: S) => T): (() => T) => {
  let known: {text: string; made: T} | undefined;
  return () => {
    const now = settings();
    // Each reload brings new objects, mostly of the same values.
    const text = JSON.stringify(now);
    if (known?.text !== text) known = {text, made: make(now)};
    return known.made;
  };
};
