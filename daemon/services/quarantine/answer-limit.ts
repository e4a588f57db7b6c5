// Time limit for work of unknown duration, such as a delivery to a backend that scans the mail. The work continues after the limit.
import {Fault} from '../../../shared/fault.ts';

/** A release is answered within 15 s, on any node. */
export const answerMs = 14_000;

export interface AnswerLimit {
  /** Resolves with the result of `work`. After the limit, rejects with a Fault `outcome_unknown`; `what` starts its detail. */
  answer<T>(work: Promise<T>, what: string): Promise<T>;
  /** False after half of the time: no more work should be started then. */
  mayStart(): boolean;
  /** Clears the timer. */
  end(): void;
}

export const startAnswerLimit = (withinMs: number): AnswerLimit => {
  const latestStartMs = performance.now() + withinMs / 2;
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
    mayStart: () => performance.now() < latestStartMs,
    end: () => clearTimeout(timer),
  };
};

const late = Symbol('the time is over');
