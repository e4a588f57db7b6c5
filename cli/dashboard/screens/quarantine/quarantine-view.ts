// Lines of the quarantine screen. The cost depends on the size of the screen, never on the number of mails.
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {safeLine} from '../../../../shared/safe-text.ts';
import {countText, plural} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {mailId} from '../../../quarantine/held-mail-columns.ts';
import {isEmptyQuery} from '../../../quarantine/hold-query.ts';
import {printQuery} from '../../../quarantine/query-line.ts';
import type {List, TuiColumn} from '../../list/list.ts';
import {sideBySide, tableLines} from '../../list/list-lines.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import type {Size} from '../../shell/shell.ts';
import {ageText, progressBar} from '../../shell/shell-lines.ts';
import type {Style, Theme} from '../../shell/theme.ts';
import type {Acting} from './held-mail-actions.ts';
import {type ListState, mailAt, mailUnderCursor, orderLabels, rowCount} from './list-state.ts';
import {mailColumns, type Thresholds} from './mail-list.ts';
import type {PreviewMode, ScreenState} from './screen-state.ts';

export interface QuarantineView {
  list: ListState;
  screen: ScreenState;
  acting: Acting;
  /** All lines of the preview. */
  preview: readonly string[];
  thresholds: Thresholds;
  size: Size;
  nowMs: number;
  isActive: boolean;
  theme: Theme;
}

/** Exactly as many lines as the screen has rows, none wider than the screen. */
export const quarantineLines = (view: QuarantineView): string[] => {
  const {size, screen, theme} = view;
  const layout = layoutOf(size, screen.preview);
  return [filterLine(view), noticesLine(view), ...bodyLines(view, layout, theme)].slice(0, size.rows);
};

/** The current filter, and the position of the cursor. */
const filterLine = ({list, size: {columns: width}, theme}: QuarantineView): string => {
  const {total, order, position} = list;
  const place = total === undefined || total === 0 ? '' : `${countText(position.cursor + 1)} of ${plural(total, 'mail')} · `;
  const query = isEmptyQuery(list.query) ? 'all held mail' : printQuery(list.query);
  // The filter matters more than the order.
  const available = width - 3 - displayWidth(safeLine(query));
  const right =
    [` ${place}${orderLabels[order]} `, ` ${place}${order} `].find(text => displayWidth(text) <= available) ??
    ` ${place}${order} `;
  const rightWidth = Math.min(displayWidth(right), Math.floor(width * 0.6));
  const left =
    theme(' / ', 'accent', 'bold') + theme(fitText(query, width - rightWidth - 3), isEmptyQuery(list.query) ? 'dim' : 'bold');
  return left + theme(fitText(right, rightWidth, 'right'), 'dim');
};

type Notice = readonly [text: string, ...styles: (Style | undefined)[]];

/** The most important first, as many as fit. */
const noticesLine = (view: QuarantineView): string => {
  const {theme} = view;
  const width = view.size.columns;
  let used = 1;
  let line = ' ';
  for (const [text, ...styles] of notices(view)) {
    const gap = used > 1 ? ' · ' : '';
    const available = width - used - displayWidth(gap);
    if (available < 8) break;
    const shown = fitText(text, Math.min(available, displayWidth(text)));
    line += gap + theme(shown, ...styles);
    used += displayWidth(gap) + displayWidth(shown);
  }
  return line;
};

const notices = ({list, screen, nowMs}: QuarantineView): Notice[] => {
  const {unreachableNodes, failure, loadedAtMs, newAbove} = list;
  const {collecting, rangeStart, picked} = screen;
  const found: Notice[] = [];
  if (unreachableNodes.length > 0)
    found.push([`! ${unreachableNodes.join(', ')} did not answer: mail held there is missing here`, 'bad', 'bold']);
  if (failure && loadedAtMs !== undefined)
    found.push([`! as of ${ageText(nowMs - loadedAtMs)}: ${failure.detail}`, 'bad', 'bold']);
  if (collecting) {
    const {what, done, total} = collecting;
    const bar = total > 0 ? ` ${progressBar(done / total, 10)} ${countText(done)} of ${countText(total)}` : '';
    found.push([`selecting ${what}${bar} (escape stops)`, 'accent']);
  }
  if (rangeStart) found.push(['range: move to its other end, then V', 'picked', 'bold']);
  if (picked.size > 0) found.push([`✓ ${countText(picked.size)} selected`, 'picked', 'bold']);
  if (newAbove > 0) found.push([`▲ ${countText(newAbove)} new (g)`, 'accent', 'bold']);
  return found;
};

const bodyLines = (view: QuarantineView, layout: Layout, theme: Theme): string[] => {
  switch (layout.kind) {
    case 'list':
      return listLines(view, layout.list);
    case 'full':
      return previewPane(view, layout.preview);
    case 'below':
      return [
        ...listLines(view, layout.list),
        theme('─'.repeat(layout.preview.columns), 'dim'),
        ...previewPane(view, layout.preview),
      ];
    case 'beside':
      return sideBySide(listLines(view, layout.list), previewPane(view, layout.preview), {
        width: layout.list.columns,
        rows: layout.preview.rows,
        separator: theme(' │ ', 'dim'),
      });
    default:
      return layout.kind satisfies never;
  }
};

/** The header and as many rows as fit. */
const listLines = (view: QuarantineView, {columns, rows: height}: Size): string[] => {
  const {list, screen, acting, thresholds, theme, isActive} = view;
  const count = rowCount(list);
  const isInRange = rangeTest(list, screen.rangeStart);
  const isPicked = (mail: HeldMail): boolean => isInRange(mail) || screen.picked.has(mailId(mail));
  const markOf = (mail: HeldMail): string => marks[acting.actions.get(mailId(mail)) ?? (isPicked(mail) ? 'picked' : 'none')];
  const mark: TuiColumn<HeldMail> = {title: ' ', width: 1, cell: markOf, style: () => 'picked'};
  const table: Pick<List<HeldMail | undefined>, 'columns' | 'spanning' | 'rowStyle'> = {
    columns: width => [mark, ...mailColumns(width - 3, thresholds)].map(ofKnown),
    spanning: mail => (mail ? undefined : {text: '   …', style: 'dim'}),
    rowStyle: mail => mail && (acting.actions.has(mailId(mail)) ? 'dim' : isPicked(mail) ? 'bold' : undefined),
  };
  const rows = (from: number, to: number) =>
    Array.from({length: Math.max(0, Math.min(to, count) - from)}, (_, at) => mailAt(list, from + at));
  const lines =
    count === 0
      ? emptyLines(view, columns)
      : tableLines(table, {rows, position: list.position, height}, {size: {columns, rows: height}, theme, isActive});
  return Array.from({length: height + 1}, (_, at) => lines[at] ?? '');
};

/** Selected, being released, being discarded. */
const marks = {none: ' ', picked: '✓', release: '»', discard: '×'} as const;

/** A mail that has not been read yet is no table row. */
const ofKnown = ({cell, style, ...column}: TuiColumn<HeldMail>): TuiColumn<HeldMail | undefined> => ({
  ...column,
  cell: mail => mail && cell(mail),
  style: mail => mail && style?.(mail),
});

/** Between the start of the range and the cursor, inclusive. */
const rangeTest = (list: ListState, start: HeldMail | undefined): ((mail: HeldMail) => boolean) => {
  const end = mailUnderCursor(list);
  if (!start || !end) return () => false;
  const [from = '', to = ''] = [start.arrived_at, end.arrived_at].sort();
  return ({arrived_at: at}) => at >= from && at <= to;
};

const emptyLines = ({list, theme}: QuarantineView, width: number): string[] => {
  const {failure, loadedAtMs, total, query} = list;
  const say = (): string => {
    if (failure && loadedAtMs === undefined) return `The list cannot be read: ${failure.detail}`;
    if (total === undefined) return 'Reading the list …';
    return isEmptyQuery(query) ? 'No mail is held.' : 'Nothing matches this filter. escape clears it, / changes it.';
  };
  return ['', ...wrapText(say(), width - 4).map(line => theme(fitText(`  ${line}`, width), failure ? 'bad' : undefined))];
};

/** When the preview does not fit, its last line shows the position. */
const previewPane = ({preview, screen, theme, list}: QuarantineView, {columns, rows}: Size): string[] => {
  const lines = mailUnderCursor(list) ? preview : [];
  if (lines.length <= rows) return Array.from({length: rows}, (_, at) => lines[at] ?? '');
  const from = Math.min(screen.scroll, lastScroll(lines.length, rows));
  const shown = lines.slice(from, from + rows - 1);
  const where = ` lines ${from + 1} to ${from + shown.length} of ${lines.length} · J K scroll `;
  return [...shown, theme(fitText(where, Math.min(columns, displayWidth(where))), 'dim')];
};

export const lastScroll = (lines: number, rows: number): number => (lines <= rows ? 0 : lines - rows + 1);

export interface Layout {
  kind: 'list' | 'beside' | 'below' | 'full';
  /** The table without its header. */
  list: Size;
  preview: Size;
}

/** The bar and the notices. */
const barRows = 2;
const headerRows = 1;
const besideFrom = 120;
const separatorWidth = 3;

export const layoutOf = (size: Size, mode: PreviewMode): Layout => {
  const {columns, rows} = size;
  const below = Math.max(0, rows - barRows);
  const nothing: Size = {columns: 0, rows: 0};
  const whole: Size = {columns, rows: Math.max(1, below - headerRows)};
  // A question needs the space more than the preview.
  if (mode === 'off' || below < 8) return {kind: 'list', list: whole, preview: nothing};
  if (mode === 'full') return {kind: 'full', list: whole, preview: {columns, rows: below}};
  if (columns >= besideFrom) {
    const width = Math.floor((columns - separatorWidth) * 0.55);
    return {
      kind: 'beside',
      list: {columns: width, rows: whole.rows},
      preview: {columns: columns - separatorWidth - width, rows: below},
    };
  }
  const listRows = Math.max(3, Math.floor((below - headerRows - 1) * 0.4));
  return {
    kind: 'below',
    list: {columns, rows: listRows},
    preview: {columns, rows: below - headerRows - listRows - 1},
  };
};
