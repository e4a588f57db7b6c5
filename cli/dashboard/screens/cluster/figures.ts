// Lines of figures over time and by kind, with the highest and the last value in words, and the time span.
import type {SummaryGroup} from '../../../../shared/held-mail.ts';
import type {Client} from '../../../client/client.ts';
import {countText} from '../../../output/cell-text.ts';
import {fitText} from '../../shell/fit-text.ts';
import {heldBy} from '../../shell/held-now.ts';
import type {Style, Theme} from '../../shell/theme.ts';
import {bar, type MinuteCounts, sparkline} from './history.ts';

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
  figureLine({label: 'Held, by hour', values: arrivals ?? [], unit: 'hour', isRate: true, style: 'accent'}, layout);

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
  const sorted = [...heldBy(groups, by)].sort((a, b) => b[1] - a[1]);
  const most = sorted[0]?.[1] ?? 0;
  const countWidth = Math.max(3, countText(most).length);
  const nameWidth = by === 'reason' ? 9 : Math.max(9, Math.min(30, Math.floor(width / 2)));
  const barWidth = Math.max(4, Math.min(40, width - nameWidth - countWidth - 3));
  return sorted.map(
    ([name, count]) =>
      ` ${fitText(name, nameWidth)} ${theme(bar(count, most, barWidth), 'accent')} ${fitText(countText(count), countWidth, 'right')}`,
  );
};

export interface NodeMetrics {
  /** Since the start of the node. */
  verdicts: Readonly<Record<string, number>>;
  version: string | undefined;
}

export const parseMetrics = (text: string): NodeMetrics => {
  const verdicts = [...text.matchAll(/^mfd_intake_verdicts_total\{verdict="(\w+)"\} (\d+)/gm)];
  return {
    verdicts: Object.fromEntries(verdicts.map(([, verdict = '', count]) => [verdict, Number(count)])),
    version: /^mfd_build_info\{version="([^"]*)"/m.exec(text)?.[1],
  };
};

// Arrivals of the mails that are held now, by hour. One small request for each hour at first, and later
// only for the newest hour.

/** Oldest first; the last hour is still running. An hour is undefined until it has been read. */
export type Arrivals = readonly (number | undefined)[];

const hourMs = 3_600_000;
const hourCount = 24;
/** Between two of the first requests, to spare the rate limit of the key. */
const pauseMs = 100;

interface Needs {
  client: Pick<Client, 'quarantine'>;
  now(): number;
  pause(ms: number): Promise<unknown>;
}

/** Returns the reader: the first call reads all hours, later ones those that may have changed. After a failure the next call continues. */
export const createArrivals = ({client, now, pause}: Needs): ((signal: AbortSignal) => Promise<Arrivals>) => {
  const counts = new Map<number, number>();
  /** Hours that are over and were read after their end. */
  const closed = new Set<number>();

  const read = async (fromMs: number, isOver: boolean): Promise<void> => {
    const since = new Date(fromMs).toISOString();
    const until = isOver ? new Date(fromMs + hourMs).toISOString() : undefined;
    const {totalCount} = await client.quarantine.list({since, until, limit: 1});
    counts.set(fromMs, totalCount ?? 0);
    if (isOver) closed.add(fromMs);
  };

  return async signal => {
    const newest = Math.floor(now() / hourMs) * hourMs;
    const hours = Array.from({length: hourCount}, (_, at) => newest - (hourCount - 1 - at) * hourMs);
    for (const known of [...counts.keys()]) {
      if (hours.includes(known)) continue;
      counts.delete(known);
      closed.delete(known);
    }
    for (const fromMs of hours.toReversed()) {
      if (closed.has(fromMs) || signal.aborted) continue;
      await read(fromMs, fromMs < newest);
      if (fromMs < newest) await pause(pauseMs);
    }
    return hours.map(fromMs => counts.get(fromMs));
  };
};
