// Table rows with fixed columns: their widths depend on the screen and not on the rows, so they keep their place while scrolling.
import {cellText} from '../../output/cell-text.ts';
import type {Cell} from '../../output/column.ts';
import {fittingColumns, gap, lineWidth} from '../../output/table-fit.ts';
import {fitText} from '../shell/fit-text.ts';
import type {Style, Theme} from '../shell/theme.ts';

export interface TuiColumn<T> {
  title: string;
  cell(row: T): Cell;
  /** Width in cells; the least one for a `grow` column. */
  width: number;
  /** Its share of the remaining width. */
  grow?: number;
  align?: 'right';
  style?(row: T): Style | undefined;
  /** On a narrow screen columns with a rank are left out, the lowest first. */
  dropRank?: number;
}

interface PlacedColumn<T> extends TuiColumn<T> {
  width: number;
}

/** The columns that fit in `width` cells, with their widths. */
export const placeColumns = <T>(columns: readonly TuiColumn<T>[], width: number): PlacedColumn<T>[] => {
  const shown = fittingColumns(columns, {maxWidth: width, widthOf: ({width: least}) => least});
  const available = Math.max(0, width - lineWidth(shown.map(({width: least}) => least)));
  const shares = shown.reduce((sum, {grow = 0}) => sum + grow, 0);
  let given = 0;
  let sofar = 0;
  return shown.map(column => {
    if (shares === 0) return column;
    sofar += column.grow ?? 0;
    const upToHere = Math.floor((available * sofar) / shares);
    const extra = upToHere - given;
    given = upToHere;
    return {...column, width: column.width + extra};
  });
};

export const headerLine = <T>(columns: readonly PlacedColumn<T>[], theme: Theme): string =>
  theme(columns.map(({title, width, align}) => fitText(title, width, align)).join(gap), 'dim');

/** One row. The row under the cursor is inverted. */
export const rowLine = <T>(row: T, columns: readonly PlacedColumn<T>[], theme: Theme, style?: Style): string => {
  const cells = columns.map(({cell, width, align, style: styleOf}) => {
    const text = fitText(cellText(cell(row)), width, align);
    return style === 'cursor' ? text : theme(text, styleOf?.(row));
  });
  return theme(cells.join(gap), style);
};
