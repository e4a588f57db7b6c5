/** What was typed, with another `--offset`: the next page of the same list. */
export const withOffset = (argv: readonly string[], offset: number): string => {
  const kept = argv.filter((word, at) => word !== '--offset' && !word.startsWith('--offset=') && argv[at - 1] !== '--offset');
  return ['mfctl', ...kept, '--offset', String(offset)].map(quoted).join(' ');
};

/** A word as a POSIX shell would have to be given it. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
