// Lines of figures over time and by kind, with the highest and the last value in words, and the time span.
import type {SummaryGroup} from '../../../../shared/held-mail.ts';
import {countText} from '../../../output/cell-text.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {Style, Theme} from '../../shell/theme.ts';
import type {Arrivals} from './arrivals.ts';
import type {MinuteCounts} from './history.ts';
import {bar, sparkline} from './sparkline.ts';

interface FigureLayout {
  width: number;
  theme: Theme;
}

interface Figure {
  label: string;
  values: readonly (number | undefined)[];
  /** The interval of one value: `hour`, `minute`. */
  unit: 'hour' | 'min';
  /** True for counts per interval, such as 3 in this minute; false for levels. */
  isRate: boolean;
  style?: Style;
}

const labelWidth = 13;
const wordsWidth = 36;
const longestLine = 120;

const figureLine = ({label, values, unit, isRate, style}: Figure, {width, theme}: FigureLayout): string => {
  const cells = Math.max(8, Math.min(longestLine, width - labelWidth - wordsWidth - 4));
  const shown = values.slice(-cells);
  const known = shown.filter(value => value !== undefined);
  const last = known.at(-1);
  const per = isRate ? `/${unit === 'hour' ? 'h' : unit}` : '';
  const words =
    last === undefined
      ? 'not known yet'
      : `now ${countText(last)}${per}, max ${countText(Math.max(...known))}${per}, last ${shown.length} ${unit === 'hour' ? 'h' : unit}`;
  return ` ${fitText(label, labelWidth)} ${theme(sparkline(shown, cells), style)}  ${fitText(words, width - labelWidth - cells - 4)}`;
};

export const arrivalsLine = (arrivals: Arrivals | undefined, layout: FigureLayout): string =>
  figureLine(
    {label: 'Held, by hour', values: arrivals?.hours.map(({count}) => count) ?? [], unit: 'hour', isRate: true, style: 'accent'},
    layout,
  );

export const heldLine = (held: MinuteCounts, layout: FigureLayout): string =>
  figureLine({label: 'Held in total', values: held, unit: 'min', isRate: false, style: 'accent'}, layout);

const verdictStyle: Record<string, Style> = {relayed: 'good', released: 'good', held: 'warn', rejected: 'bad', discarded: 'bad'};

/** The busiest first. */
export const verdictLines = (byVerdict: ReadonlyMap<string, MinuteCounts>, layout: FigureLayout): string[] =>
  [...byVerdict]
    .map(([label, values]) => ({label, values, sum: values.reduce<number>((sum, value) => sum + (value ?? 0), 0)}))
    .sort((a, b) => b.sum - a.sum)
    .map(({label, values}) => {
      const style = verdictStyle[label];
      return figureLine({label, values, unit: 'min', isRate: true, ...(style && {style})}, layout);
    });

/** Held mails by one member of the groups, the largest first. */
export const barLines = (groups: readonly SummaryGroup[], by: 'reason' | 'domain', {width, theme}: FigureLayout): string[] => {
  const counts = new Map<string, number>();
  for (const group of groups) counts.set(group[by], (counts.get(group[by]) ?? 0) + group.count);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const most = sorted[0]?.[1] ?? 0;
  const countWidth = Math.max(3, countText(most).length);
  const nameWidth = by === 'reason' ? 9 : Math.max(9, Math.min(30, Math.floor(width / 2)));
  const barWidth = Math.max(4, Math.min(40, width - nameWidth - countWidth - 3));
  return sorted.map(
    ([name, count]) =>
      ` ${fitText(name, nameWidth)} ${theme(bar(count, most, barWidth), 'accent')} ${fitText(countText(count), countWidth, 'right')}`,
  );
};
