/** The typed command with another `--offset`: the next page of the same list. */
export const withOffset = (argv: readonly string[], offset: number): string => {
  const kept = argv.filter((word, at) => word !== '--offset' && !word.startsWith('--offset=') && argv[at - 1] !== '--offset');
  return ['mfctl', ...kept, '--offset', String(offset)].map(quoted).join(' ');
};

/** A word, quoted for a POSIX shell. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
