// Width of text on a terminal in cells, by the rule of terminals (wcwidth): code point by code point.
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u3247\u3250-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18df2}\u{1aff0}-\u{1b2fb}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|(?![\u{1f1e6}-\u{1f1ff}])\p{Emoji_Presentation}/u;
const zero = /[\p{Mn}\p{Me}\u1160-\u11ff\ud7b0-\ud7fb]/u;
const plain = /^[\x20-\x7e]*$/;

export const displayWidth = (text: string): number => {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width;
};

/** At most `width` cells of text, with `…` where it was cut. */
export const truncate = (text: string, width: number): string => {
  if (displayWidth(text) <= width) return text;

  let kept = '';
  let used = 0;
  for (const char of text) {
    used += charWidth(char);
    if (used > width - 1) break;
    kept += char;
  }
  return `${kept}…`;
};

const charWidth = (char: string): number => {
  if (zero.test(char)) return 0;
  return wide.test(char) ? 2 : 1;
};

/**
 * Safe text with no line wider than `width` cells. A line that the terminal wraps would continue at the left edge, like a new line of
 * ours; here it continues with an indentation, below the text after the label if there is one.
 */
export const fold = (text: string, width: number): string =>
  text
    .split('\n')
    .map(line => (displayWidth(line) <= width ? line : foldLine(line, width)))
    .join('\n');

const foldLine = (line: string, width: number): string => {
  const label = /^ *(?:[\w-]{1,40}: +)?/.exec(line)?.[0] ?? '';
  const indent = ' '.repeat(Math.min(Math.max(label.length, 4), Math.floor(width / 2)));
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const char of line) {
    const cells = displayWidth(char);
    if (used + cells > width) {
      lines.push(current);
      current = indent;
      used = indent.length;
    }
    current += char;
    used += cells;
  }
  return [...lines, current].join('\n');
};

/** Words in lines of at most `width` characters, all but the first indented. A longer word stays whole. */
export const foldWords = (text: string, {indent, width}: {indent: number; width: number}): string => {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && indent + line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${' '.repeat(indent)}`);
};
