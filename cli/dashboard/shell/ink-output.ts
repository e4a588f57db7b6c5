// Output stream that ink draws on.

/**
 * The terminal as one without end. Ink clears the terminal with all that was scrolled out of it, which is not ours, when what it
 * has drawn is as high as the terminal; the shell keeps to the height by itself.
 */
export const inkOutput = (stdout: NodeJS.WriteStream): NodeJS.WriteStream =>
  new Proxy(stdout, {
    get: (target, name) => {
      if (name === 'rows') return Number.MAX_SAFE_INTEGER;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
