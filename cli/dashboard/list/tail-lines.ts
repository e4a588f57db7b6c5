// How a tail looks: a line that says what it is, what is wrong if something is, the columns, the rows.
import {countText} from '../../output/cell-text.ts';
import type {Tone} from '../../output/tone.ts';
import {fitText, wrapText} from '../shell/fit-text.ts';
import type {Size} from '../shell/shell.ts';
import type {Style, Theme} from '../shell/theme.ts';
import {within} from './list-window.ts';
import {headerLine, type PlacedColumn, rowLine} from './table-lines.ts';
import type {Tail, TailRow} from './tail.ts';

export interface Banner {
  text: string;
  tone: Tone;
}

export interface TailView<R extends TailRow> {
  /** What all of it is: `Audit of the cluster`. */
  title: string;
  /** The filter as it was typed. */
  filter: string;
  banners: readonly Banner[];
  columns: readonly PlacedColumn<R>[];
  /** A row that is no table row: one text over all columns. */
  spanning?(row: R): {text: string; style: Style} | undefined;
  /** In place of rows where there are none. */
  empty: readonly string[];
  /** Below the last row. */
  ending?: string | undefined;
  /** Waiting rows that match. */
  waiting: number;
}

/** Rows that have room. */
export const tailHeight = ({rows}: Size, banners: readonly Banner[]): number => Math.max(1, rows - 2 - banners.length);

export const tailLines = <R extends TailRow, Q>(
  tail: Tail<R, Q>,
  view: TailView<R>,
  {size, theme, isActive}: {size: Size; theme: Theme; isActive: boolean},
): string[] => {
  const {columns: width, rows} = size;
  const {banners, columns, ending} = view;
  const height = tailHeight(size, banners);
  const {cursor, top} = within(tail.position, {count: tail.shown.length, height});

  const line = (row: R, at: number): string => {
    const style = at === cursor ? (isActive ? 'cursor' : 'bold') : undefined;
    const span = view.spanning?.(row);
    if (span) return theme(fitText(span.text, width), style ?? span.style);
    return rowLine(row, columns, theme, style);
  };
  const shown = tail.shown.slice(top, top + height).map((row, at) => line(row, top + at));
  const body =
    tail.shown.length === 0 ? view.empty.flatMap(text => wrapText(text, width)).map(text => theme(text, 'dim')) : shown;
  const end = ending !== undefined && body.length < height ? [theme(fitText(ending, width), 'dim')] : [];

  return [
    headLine(tail, view, {width, cursor, theme}),
    ...banners.map(({text, tone}) => theme(fitText(text, width), tone)),
    headerLine(columns, theme),
    ...body,
    ...end,
  ].slice(0, rows);
};

const headLine = <R extends TailRow, Q>(
  tail: Tail<R, Q>,
  {title, filter, waiting}: TailView<R>,
  {width, cursor, theme}: {width: number; cursor: number; theme: Theme},
): string => {
  const right = tail.isPaused
    ? ` ‖ paused, ${countText(waiting)} new `
    : cursor === 0
      ? ' ▸ following '
      : placeText(cursor, tail);
  const left = filter === '' ? title : `${title} · filter: ${filter}`;
  const style = tail.isPaused ? 'warn' : cursor === 0 ? 'good' : undefined;
  return theme(fitText(left, width - right.length), 'bold') + theme(right, style);
};

const placeText = <R extends TailRow, Q>(cursor: number, {shown}: Tail<R, Q>): string =>
  ` ${countText(cursor + 1)} of ${countText(shown.length)} `;
