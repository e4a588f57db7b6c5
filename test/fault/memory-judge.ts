// Whether what a process holds in memory grows with what it is asked.
import {eventually} from '../helpers/eventually.ts';

export interface MemoryJudge {
  /** False when too much is still held after all that time. */
  isFlat(): Promise<boolean>;
  /** MiB, as first measured and as last. */
  text(): string;
}

/** Until connections have been given up, and windows of rate limits are over. */
const patienceMs = 60_000;
/** What is compiled and kept in caches grows a little for a long time. */
const mostGrowth = 1.2;

/** `held` measures, in MiB. What it finds now, once the process has warmed up, is what may be held later. */
export const judgeMemory = async (held: () => Promise<number>, waitMs = patienceMs): Promise<MemoryJudge> => {
  const first = await held();
  let last: number | undefined;

  return {
    async isFlat() {
      const look = async () => {
        last = await held();
        return last <= first * mostGrowth;
      };
      return eventually(look, waitMs).catch(() => false);
    },
    text: () => [first, last].flatMap(value => (value === undefined ? [] : [value.toFixed(1)])).join(' then '),
  };
};
