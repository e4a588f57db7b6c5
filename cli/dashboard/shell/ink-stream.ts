// Output stream that ink draws on.

/**
 * The terminal, with an unlimited height for ink. Ink clears the terminal and its scrollback, which belongs to the user, when the
 * drawing is as high as the terminal; the shell itself respects the height.
 */
export const inkOutput = (stdout: NodeJS.WriteStream): NodeJS.WriteStream =>
  new Proxy(stdout, {
    get: (target, name) => {
      if (name === 'rows') return Number.MAX_SAFE_INTEGER;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
