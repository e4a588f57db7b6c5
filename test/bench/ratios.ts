import type {BenchContext} from './bench.ts';
import {quantilesOf} from './quantiles.ts';

interface Compared {
  own: readonly number[];
  anchor: readonly number[];
  text(value: number): string;
}

/** Reports the median of the ratios of alternated runs, and the medians of both. */
export const reportRatios = ({report, say}: BenchContext, row: string, {own, anchor, text}: Compared): void => {
  const ratios = own.map((value, n) => value / (anchor[n] ?? Number.NaN));
  say(`${row}: ${ratios.map(ratio => ratio.toFixed(2)).join(', ')}`);
  const median = (values: readonly number[]) => quantilesOf(values).p50;
  report(row, {value: median(ratios), own: text(median(own)), anchor: text(median(anchor))});
};

export const mailsPerSecond = (rate: number): string => `${Math.round(rate)} mails/s`;
