import {displayWidth} from '../../output/display-width.ts';
import {fitText, wrapText} from './fit-text.ts';
import type {Style, Theme} from './theme.ts';

export type DetailPair = readonly [label: string, value: string | number | boolean | null, style?: Style | undefined];

/** Lines of labels and values; long values take several lines of at most `width` cells. */
export const detailLines = (pairs: readonly DetailPair[], width: number, theme: Theme): string[] => {
  const labelWidth = Math.min(Math.max(0, ...pairs.map(([label]) => displayWidth(label))), Math.floor(width / 3));
  return pairs.flatMap(([label, value, style]) =>
    wrapText(label === '' ? String(value ?? '') : valueText(value), Math.max(1, width - labelWidth - 2)).map(
      (line, at) => `${theme(fitText(at === 0 ? label : '', labelWidth), 'dim')}  ${theme(line, style)}`,
    ),
  );
};

/** The lines of one value, which is unsafe. */
const valueText = (value: DetailPair[1]): string => {
  if (value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
};
