// Text cut and padded to an exact number of cells. Lines of the dashboard consist of such pieces, so that nothing has to be measured
// or wrapped when it is drawn.
import {safeLine} from '../../../shared/safe-text.ts';
import {cellText} from '../../output/cell-text.ts';
import type {Cell} from '../../output/column.ts';
import {displayWidth, truncate} from '../../output/display-width.ts';
import type {Field} from '../../output/field.ts';
import type {Page} from './modal.ts';
import type {Style, Theme} from './theme.ts';

/** Hostile text in exactly `width` cells. */
export const fitText = (text: string, width: number, align: 'left' | 'right' = 'left'): string => {
  if (width <= 0) return '';
  const cut = truncate(safeLine(text), width);
  const filling = ' '.repeat(Math.max(0, width - displayWidth(cut)));
  return align === 'left' ? cut + filling : filling + cut;
};

/** Hostile text wrapped into lines of at most `width` cells, at spaces if possible, all with the indentation of the first. */
export const wrapText = (text: string, width: number): string[] => {
  const safe = safeLine(text);
  const indentation = (/^ */.exec(safe)?.[0] ?? '').slice(0, Math.floor(width / 2));
  return brokenText(safe.trimStart(), width - indentation.length).map(line => indentation + line);
};

const brokenText = (text: string, width: number): string[] => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (displayWidth(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (displayWidth(line) > width) {
      const head = headOf(line, width);
      lines.push(head);
      line = line.slice(head.length);
    }
  }
  return [...lines, line];
};

const headOf = (text: string, width: number): string => {
  let head = '';
  for (const char of text) {
    if (head !== '' && displayWidth(head + char) > width) break;
    head += char;
  }
  return head;
};

export type DetailPair = readonly [label: string, value: Cell, style?: Style | undefined];

/** Lines of labels and values; long values take several lines of at most `width` cells. */
export const detailLines = (pairs: readonly DetailPair[], width: number, theme: Theme): string[] => {
  const labelWidth = Math.min(Math.max(0, ...pairs.map(([label]) => displayWidth(label))), Math.floor(width / 3));
  return pairs.flatMap(([label, value, style]) =>
    wrapText(label === '' ? String(value ?? '') : cellText(value), Math.max(1, width - labelWidth - 2)).map(
      (line, at) => `${theme(fitText(at === 0 ? label : '', labelWidth), 'dim')}  ${theme(line, style)}`,
    ),
  );
};

export const detailPage = (title: string, pairs: readonly DetailPair[], theme: Theme): Page => ({
  kind: 'page',
  title,
  lines: width => detailLines(pairs, width, theme),
});

/** A line for each field with a column. */
export const pairsOf = <T, Facts>(fields: readonly Field<T, Facts>[], row: T, facts: Facts): DetailPair[] =>
  fields.flatMap(({label, cell, page = cell, column, screen}) =>
    column ? [[label, page(row, facts), screen?.style?.(row, facts)] as const] : [],
  );
