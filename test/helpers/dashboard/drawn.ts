// Checks that every view of the dashboard must pass.
import type {ExecutionContext} from 'ava';
import type {List, ListState} from '../../../cli/dashboard/list/list.ts';
import {listLines} from '../../../cli/dashboard/list/list-lines.ts';
import type {Size} from '../../../cli/dashboard/shell/shell.ts';
import {createTheme} from '../../../cli/dashboard/shell/theme.ts';
import {displayWidth} from '../../../cli/output/display-width.ts';
import {safeLine} from '../../../shared/safe-text.ts';

export const sizes: readonly Size[] = [
  {columns: 60, rows: 10},
  {columns: 80, rows: 19},
  {columns: 200, rows: 55},
];

export const plainTheme = createTheme(false);

/** The text without style sequences. */
export const withoutStyle = (line: string): string => line.replace(/\x1b\[[\d;]*m/g, '');

/** A list as it is rendered, without styles. */
export const drawnList = <R>(list: List<R>, state: ListState, size: Size = {columns: 80, rows: 19}, nowMs = 0): string =>
  listLines(list, state, {size, theme: createTheme(true), isActive: true, nowMs})
    .map(withoutStyle)
    .join('\n');

/** Checks that the lines fit the given size and contain nothing that a terminal would obey. */
export const fits = (t: ExecutionContext, lines: readonly string[], {columns, rows}: Size): void => {
  t.true(lines.length <= rows, `${lines.length} lines in ${rows} rows`);
  for (const line of lines.map(withoutStyle)) {
    t.true(displayWidth(line) <= columns, `${displayWidth(line)} cells in ${columns} columns: ${line}`);
    t.is(line, safeLine(line));
  }
};
