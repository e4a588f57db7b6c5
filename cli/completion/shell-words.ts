// Words of a shell's command line, with their quotes.

/** The word without quotes and backslashes (POSIX shell, section 2.2). Nothing in it is expanded; an open quote ends with the word. */
export const unquoted = (word: string): string => {
  let text = '';
  let quote = '';
  for (let at = 0; at < word.length; at += 1) {
    const char = word.charAt(at);
    const next = word.charAt(at + 1);
    if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
    else if (char === '\\' && quote !== "'" && (quote === '' || '$`"\\'.includes(next))) {
      text += next;
      at += 1;
    } else text += char;
  }
  return text;
};
