import {displayWidth} from './display-width.ts';

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
