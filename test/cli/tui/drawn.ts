// What may be drawn: lines that are exactly as safe and as wide as the frame takes them for.
import type {ExecutionContext} from 'ava';
import {displayWidth} from '../../../cli/display-width.ts';
import {safeLine} from '../../../shared/safe-text.ts';

/** Without its styles. */
export const plain = (line: string): string => line.replaceAll(/\x1b\[\d+m/g, '');

export const isDrawable = (
  t: ExecutionContext,
  lines: readonly string[],
  {columns, rows}: {columns: number; rows: number},
): void => {
  t.true(lines.length <= rows, `${lines.length} lines in ${rows} rows`);
  for (const line of lines) {
    const text = plain(line);
    t.true(displayWidth(text) <= columns, `${displayWidth(text)} cells in ${columns} columns: ${text}`);
    t.is(safeLine(text), text);
  }
};
