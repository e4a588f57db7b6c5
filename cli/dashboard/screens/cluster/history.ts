// History since the dashboard was opened. It is bounded, as a dashboard is left open for weeks.
import type {Health} from '../../../../shared/health.ts';

export interface HealthChange {
  atMs: number;
  node: string;
  from: Health | undefined;
  to: Health | undefined;
}

/** Counts by minute, oldest first; the last one is not over. */
export type MinuteCounts = readonly (number | undefined)[];

export type History = ReturnType<typeof createHistory>;

const minuteMs = 60_000;
const minutes = 180;
const maxChanges = 100;

export const createHistory = (now: () => number) => {
  const startedAtMs = now();
  const held = createMinutes(now);
  const changes: HealthChange[] = [];
  const fromMetrics = new Map<string, Minutes>();
  const fromEvents = new Map<string, Minutes>(['held', 'released', 'discarded'].map(type => [type, createMinutes(now)]));
  let last: Readonly<Record<string, number>> | undefined;
  let hasTotals = false;

  return {
    startedAtMs,
    /** Held in total at the end of each minute. */
    held: (): MinuteCounts => held.list('last'),
    addHeld: (count: number): void => held.set(count),
    /** Mails by verdict in each minute, and the source of the counts. */
    verdicts: () => {
      const from = hasTotals ? fromMetrics : fromEvents;
      return {
        from: hasTotals ? ('metrics' as const) : ('events' as const),
        byVerdict: new Map([...from].map(([verdict, counts]) => [verdict, counts.list('zero')])),
      };
    },
    /** Totals since the start of the node. */
    addTotals: (totals: Readonly<Record<string, number>>): void => {
      for (const [verdict, total] of Object.entries(totals)) {
        const before = last?.[verdict];
        // A restarted node counts from 0.
        const more = before === undefined ? 0 : total < before ? total : total - before;
        const counts = fromMetrics.get(verdict) ?? createMinutes(now);
        fromMetrics.set(verdict, counts);
        counts.add(more);
      }
      last = totals;
      hasTotals = true;
    },
    /** Totals are not available: events are counted from now on. */
    loseTotals: (): void => {
      hasTotals = false;
      last = undefined;
    },
    addEvent: (type: string): void => fromEvents.get(type)?.add(1),
    changes: (): readonly HealthChange[] => changes,
    addChange: (change: HealthChange): void => {
      changes.unshift(change);
      changes.splice(maxChanges);
    },
  };
};

type Minutes = ReturnType<typeof createMinutes>;

const createMinutes = (now: () => number) => {
  const first = minuteOf(now());
  const values = new Map<number, number>();
  const put = (change: (old: number) => number): void => {
    const minute = minuteOf(now());
    values.set(minute, change(values.get(minute) ?? 0));
    for (const known of values.keys()) if (known <= minute - minutes && values.size > 1) values.delete(known);
  };
  return {
    set: (value: number): void => put(() => value),
    add: (value: number): void => put(old => old + value),
    /** Minutes without a value repeat the one before, or are zero. */
    list: (gap: 'last' | 'zero'): MinuteCounts => {
      const last = minuteOf(now());
      const from = Math.max(first, last - minutes + 1);
      let before: number | undefined;
      for (const [minute, value] of values) if (minute < from) before = value;
      return Array.from({length: last - from + 1}, (_, at) => {
        const value = values.get(from + at);
        before = value ?? before;
        return gap === 'last' ? before : (value ?? 0);
      });
    },
  };
};

const minuteOf = (ms: number): number => Math.floor(ms / minuteMs);

const steps = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/**
 * The last `width` values, oldest first, padded with spaces on the left. 0 is a dot, so that a
 * single mail differs from none; an unknown value is a space.
 */
export const sparkline = (values: readonly (number | undefined)[], width: number): string => {
  const shown = width > 0 ? values.slice(-width) : [];
  const most = Math.max(...shown.map(value => value ?? 0), 0);
  const cells = shown.map(value => {
    if (value === undefined) return ' ';
    if (value <= 0 || most === 0) return '·';
    return steps[Math.min(steps.length - 1, Math.ceil((value / most) * steps.length) - 1)] ?? ' ';
  });
  return ' '.repeat(Math.max(0, width - cells.length)) + cells.join('');
};

/** A part of the whole in `width` cells; a positive value is never drawn as empty. */
export const bar = (value: number, most: number, width: number): string => {
  const cells = most <= 0 ? 0 : Math.round((value / most) * width);
  return '█'.repeat(Math.max(0, Math.min(width, value > 0 ? Math.max(1, cells) : 0))).padEnd(width);
};
