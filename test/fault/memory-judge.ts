// A judge of whether the memory that a process holds grows with the number of requests.
import {eventually} from '../helpers/eventually.ts';

export interface MemoryJudge {
  /** False when too much is still held after the whole time. */
  isFlat(): Promise<boolean>;
  /** MiB: the first and the last measurement. */
  text(): string;
}

/** Long enough for connections to time out and rate limit windows to end. */
const patienceMs = 60_000;
/** Compiled code and caches grow a little for a long time. */
const mostGrowth = 1.2;

/** `held` measures, in MiB. The first result, once the process has warmed up, is the limit for later ones. */
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
