// The screen as lines. What it costs depends on what is on the screen, never on how many mails there are.
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {isEmptyQuery} from '../../../quarantine/hold-query.ts';
import {mailId} from '../../../quarantine/mail-id.ts';
import {headerLine, type PlacedColumn, placeColumns, rowLine} from '../../list/table-lines.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import type {Size} from '../../shell/shell.ts';
import type {Theme} from '../../shell/theme.ts';
import type {Acting} from './acting-mails.ts';
import {type BarFacts, filterLine, noticesLine} from './bar-lines.ts';
import {type ListState, mailAt, mailUnderCursor, rowCount} from './list-state.ts';
import {mailColumns} from './mail-columns.ts';
import {isByTime} from './mail-order.ts';
import {type Layout, layoutOf} from './quarantine-layout.ts';
import type {Thresholds} from './score-tone.ts';

export interface QuarantineView extends Omit<BarFacts, 'width'> {
  acting: Acting;
  /** All lines of the preview. */
  preview: readonly string[];
  thresholds: Thresholds;
  size: Size;
  isActive: boolean;
}

/** Exactly as many as there are rows, none wider than the screen. */
export const quarantineLines = (view: QuarantineView): string[] => {
  const {size, screen, theme} = view;
  const layout = layoutOf(size, screen.preview);
  const bar = {...view, width: size.columns};
  return [filterLine(bar), noticesLine(bar), ...bodyLines(view, layout, theme)].slice(0, size.rows);
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
    case 'beside': {
      const left = listLines(view, layout.list);
      const separator = theme(' │ ', 'dim');
      return previewPane(view, layout.preview).map(
        (line, at) => (left[at] ?? ' '.repeat(layout.list.columns)) + separator + line,
      );
    }
    default:
      return layout.kind satisfies never;
  }
};

/** The header and as many rows as have room, each filled to the width of the list. */
const listLines = (view: QuarantineView, {columns: width, rows: height}: Size): string[] => {
  const {list, thresholds, theme} = view;
  const columns = placeColumns(mailColumns(width, thresholds), width - gutterWidth);
  const count = rowCount(list);
  if (count === 0) return emptyLines(view, {columns: width, rows: height + 1});
  const {top} = list.position;
  const isInRange = rangeTest(list, view.screen.rangeStart);
  const rows = Array.from({length: height}, (_, at) => {
    const index = top + at;
    if (index >= count) return ' '.repeat(width);
    const mail = mailAt(list, index);
    return mail ? mailLine(view, mail, {columns, index, isInRange: isInRange(mail, index)}) : waitingLine(view, index, width);
  });
  return [`${' '.repeat(gutterWidth)}${filled(headerLine(columns, theme), columns, width)}`, ...rows];
};

const gutterWidth = 2;

interface RowFacts {
  columns: readonly PlacedColumn<HeldMail>[];
  index: number;
  isInRange: boolean;
}

/** ✓ selected, » being released, × being discarded. */
const mailLine = (view: QuarantineView, mail: HeldMail, {columns, index, isInRange}: RowFacts): string => {
  const {list, screen, acting, theme, isActive} = view;
  const action = acting.actions.get(mailId(mail));
  const isPicked = isInRange || screen.picked.has(mailId(mail));
  const mark = action === undefined ? (isPicked ? '✓' : ' ') : action === 'release' ? '»' : '×';
  if (index === list.position.cursor) {
    const line = theme(`${mark} `, 'cursor') + rowLine(mail, columns, theme, 'cursor');
    return isActive ? line : theme(line, 'dim');
  }
  if (action !== undefined) return theme(`${mark} ${rowLine(mail, columns, plain)}`, 'dim');
  const line = rowLine(mail, columns, theme, isPicked ? 'bold' : undefined);
  return theme(`${mark} `, isPicked ? 'picked' : undefined) + line;
};

const plain: Theme = text => text;

const waitingLine = ({list, theme}: QuarantineView, index: number, width: number): string =>
  theme(fitText('  …', width), index === list.position.cursor ? 'cursor' : 'dim');

const filled = (line: string, columns: readonly {width: number}[], width: number): string => {
  const used = columns.reduce((sum, column) => sum + column.width + 2, -2);
  return line + ' '.repeat(Math.max(0, width - gutterWidth - used));
};

/** Between where the range begins and the cursor, both included. */
const rangeTest = (list: ListState, start: HeldMail | undefined): ((mail: HeldMail, index: number) => boolean) => {
  const end = mailUnderCursor(list);
  if (!start || !end) return () => false;
  if (isByTime(list.order)) {
    const [from = '', to = ''] = [start.arrived_at, end.arrived_at].sort();
    return ({arrived_at: at}) => at >= from && at <= to;
  }
  const startAt = list.sorted.findIndex(mail => mail.queue_id === start.queue_id && mail.node_id === start.node_id);
  const {cursor} = list.position;
  return (_, index) => index >= Math.min(startAt, cursor) && index <= Math.max(startAt, cursor);
};

const emptyLines = ({list, theme}: QuarantineView, {columns, rows}: Size): string[] => {
  const {failure, loadedAtMs, total, query} = list;
  const say = (): string => {
    if (failure && loadedAtMs === undefined) return `The list cannot be read: ${failure.detail}`;
    if (total === undefined || (total > 0 && list.sorted.length === 0)) return 'Reading the list …';
    return isEmptyQuery(query) ? 'No mail is held.' : 'Nothing matches this filter. escape clears it, / changes it.';
  };
  const text = wrapText(say(), columns - 4).map(line => fitText(`  ${line}`, columns));
  return Array.from({length: rows}, (_, at) =>
    theme(at === 0 ? ' '.repeat(columns) : (text[at - 1] ?? ' '.repeat(columns)), failure ? 'bad' : undefined),
  );
};

/** Its last line says where one is, when not all of it has room. */
const previewPane = ({preview, screen, theme, list}: QuarantineView, {columns, rows}: Size): string[] => {
  const lines = mailUnderCursor(list) ? preview : [];
  if (lines.length <= rows) return Array.from({length: rows}, (_, at) => lines[at] ?? '');
  const from = Math.min(screen.scroll, lastScroll(lines.length, rows));
  const shown = lines.slice(from, from + rows - 1);
  const where = ` lines ${from + 1} to ${from + shown.length} of ${lines.length} · J K scroll `;
  return [...shown, theme(fitText(where, Math.min(columns, displayWidth(where))), 'dim')];
};

export const lastScroll = (lines: number, rows: number): number => (lines <= rows ? 0 : lines - rows + 1);
