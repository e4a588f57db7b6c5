// The result table of a benchmark run, and its summary.
import {columns} from '../helpers/columns.ts';
import {type Bound, isMet, type Measured, type Row} from './bench.ts';

export interface Result {
  row: Row;
  measured: Measured;
}

export const tableOf = (results: readonly Result[]): string =>
  columns([['bench', 'wanted', 'measured', '', 'own', 'anchor'], ...results.map(cellsOf)]);

/** The last line of a run. */
export const summaryOf = (results: readonly Result[]): string => {
  const missed = results.filter(({row, measured}) => !isMet(row, measured)).map(({row}) => row.name);
  const met = `${results.length - missed.length} of ${results.length} figures met`;
  return missed.length === 0 ? met : `${met}; missed: ${missed.join(', ')}`;
};

const cellsOf = ({row, measured}: Result): string[] => {
  const wanted = row.wanted ? boundText(row.wanted, row.unit) : 'as it is';
  const title = `${row.name}: ${row.title}`;
  if ('missing' in measured) return [title, wanted, '–', 'not met', measured.missing, row.anchor];
  const verdict = row.wanted ? (isMet(row, measured) ? 'met' : 'MISSED') : '';
  const anchor = [row.anchor, measured.anchor].filter(Boolean).join(': ');
  return [title, wanted, `${figure(measured.value)} ${row.unit}`, verdict, measured.own, anchor];
};

const boundText = (bound: Bound, unit: string): string =>
  'atMost' in bound ? `≤ ${figure(bound.atMost)} ${unit}` : `≥ ${figure(bound.atLeast)} ${unit}`;

/** Three significant digits. */
const figure = (value: number): string => (value === 0 ? '0' : String(Number(value.toPrecision(3))));
