// How long a caller waits for what may take any time, such as a backend that scans a mail. What was begun goes on all the same.
import {Fault} from '../../../shared/fault.ts';

/** A release is answered within 15 s, on any node. */
export const answerMs = 14_000;

export interface AnswerLimit {
  /** The outcome of `work`, or, once the time is over, a Fault `outcome_unknown` that begins with `what`. */
  answer<T>(work: Promise<T>, what: string): Promise<T>;
  /** Whether there is time left to begin more. */
  mayBegin(): boolean;
  /** The caller is answered. */
  end(): void;
}

export const startAnswerLimit = (withinMs: number): AnswerLimit => {
  const lastBeginning = performance.now() + withinMs / 2;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<typeof late>(resolve => {
    timer = setTimeout(resolve, withinMs, late);
  });
  return {
    async answer<T>(work: Promise<T>, what: string) {
      const first = await Promise.race([work, over]);
      if (first !== late) return first;
      throw new Fault('outcome_unknown', `${what} is not over yet and goes on; repeating the request is safe`);
    },
    mayBegin: () => performance.now() < lastBeginning,
    end: () => clearTimeout(timer),
  };
};

const late = Symbol('the time is over');
