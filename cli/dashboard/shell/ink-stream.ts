// Streams of the terminal as ink gets them.

/** The stream with these members in place of its own. */
export const withMembers = <T extends object>(stream: T, members: Readonly<Record<PropertyKey, unknown>>): T =>
  new Proxy(stream, {
    get: (target, name) => {
      if (Object.hasOwn(members, name)) return members[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/**
 * The terminal, with an unlimited height for ink. Ink clears the terminal and its scrollback, which belongs to the user, when the
 * drawing is as high as the terminal; the shell itself respects the height.
 */
export const inkOutput = (stdout: NodeJS.WriteStream): NodeJS.WriteStream => withMembers(stdout, {rows: Number.MAX_SAFE_INTEGER});
