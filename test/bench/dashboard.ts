// How soon the dashboard shows what a key does.
import type {Bench, BenchContext} from './bench.ts';
import {quantilesOf} from './quantiles.ts';

/** Ink draws 30 frames a second at most. */
const frameMs = 1000 / 30;

export const dashboard: Bench = {
  name: 'dashboard',
  seconds: 60,
  isExtra: true,
  rows: [
    {
      name: 'dashboard-frame',
      title: 'from a key press to its frame, 100,000 held, the slowest kind of key, p99',
      anchor: '',
      wanted: {atMost: 2 * frameMs},
      unit: 'ms',
    },
    {
      name: 'dashboard-growth',
      title: 'the same, p50',
      anchor: '1,000 held',
      wanted: {atMost: 2},
      unit: '×',
    },
  ],

  async run({report, isQuick}: BenchContext) {
    // React decides by it how much it checks, once, when it is loaded.
    process.env.NODE_ENV = 'production';
    const {measureFrames} = await import('./dashboard-frames.tsx');
    const share = isQuick ? 0.2 : 1;

    const few = slowestOf(await measureFrames(1000, share));
    const many = slowestOf(await measureFrames(100_000, share));

    report('dashboard-frame', {value: many.p99, own: `${many.p99.toFixed(1)} ms`});
    report('dashboard-growth', {
      value: many.p50 / few.p50,
      own: `${many.p50.toFixed(1)} ms`,
      anchor: `${few.p50.toFixed(1)} ms`,
    });
  },
};

const slowestOf = (frames: Map<string, number[]>) => {
  const all = [...frames.values()].map(quantilesOf);
  return {p50: Math.max(...all.map(({p50}) => p50)), p99: Math.max(...all.map(({p99}) => p99))};
};
