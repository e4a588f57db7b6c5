/** RFC 5322 section 2.1.1 asks for 78 characters at most. */
const maxLineChars = 78;

/** A header field out of its words, folded between them, without its last line end. A longer word has a line of its own. */
export const foldWords = ([first = '', ...words]: readonly string[]): string => {
  const lines: string[] = [];
  let line = first;
  for (const word of words)
    if (line.length + 1 + word.length <= maxLineChars) line += ` ${word}`;
    else {
      lines.push(line);
      line = `\t${word}`;
    }
  return [...lines, line].join('\r\n');
};
