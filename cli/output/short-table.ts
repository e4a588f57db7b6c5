// Tables that are whole and short, drawn by cli-table3. Loaded for the commands that print one: `quarantine list` must not wait for it.
import Table from 'cli-table3';
import {paint} from './column.ts';
import {gap} from './layout.ts';
import type {DrawTable} from './table.ts';

const edges = ['top', 'bottom', 'left', 'right', 'mid'] as const;
const joints = [
  'top-mid',
  'top-left',
  'top-right',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left-mid',
  'mid-mid',
  'right-mid',
] as const;
/** No borders, and colours only where cells have them. */
const chars = {...Object.fromEntries([...edges, ...joints].map(name => [name, ''])), middle: gap};
const style = {head: [], border: [], 'padding-left': 0, 'padding-right': 0};

/** It takes 0.2 ms a row, and more where there are many. */
export const drawShortTable: DrawTable = ({columns, rows}) => {
  const head = columns.map(({title}) => title);
  // A column of wide characters that were cut may be wider than what is in it.
  const colWidths = columns.map(({width}) => width);
  const table = new Table({head, colWidths, colAligns: columns.map(({align}) => align ?? 'left'), chars, style});
  table.push(...rows.map(cells => cells.map(({text, tone}) => paint(text, tone))));
  return table.toString().split('\n');
};
