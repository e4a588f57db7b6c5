// Requests to many nodes at once. A node that does not answer, or answers with something invalid, is reported as unreachable; the
// answers of the others are still returned.
import {Fault} from '../../../shared/fault.ts';
import {SearchOverdue} from '../search-limits.ts';

export interface Gathered<T> {
  result: T;
  /** Nodes that did not answer. */
  unreachable: string[];
}

export type AskAll = <P extends {nodeId: string}, T>(
  asked: P[],
  question: (one: P) => Promise<T>,
) => Promise<{answers: {from: P; answer: T}[]; unreachable: string[]}>;

export interface AskAllNeeds {
  /** Called when a node stops answering, not for each further request without an answer. */
  onSilent(nodeId: string, fault: Fault): void;
  /** A node that has been away for long is not asked, so that callers do not wait for it each time. */
  isAway?(nodeId: string): boolean;
}

export const createAskAll = ({onSilent, isAway = () => false}: AskAllNeeds): AskAll => {
  const silent = new Set<string>();

  return async (asked, question) => {
    const outcomes = await Promise.allSettled(
      asked.map(async one => (isAway(one.nodeId) ? Promise.reject(away(one)) : question(one))),
    );
    const unreachable: string[] = [];
    const answers = asked.flatMap((from, at) => {
      const outcome = outcomes[at];
      if (outcome?.status === 'fulfilled') {
        silent.delete(from.nodeId);
        return [{from, answer: outcome.value}];
      }
      const fault = outcome?.reason;
      if (!isSilence(fault)) throw fault;
      unreachable.push(from.nodeId);
      if (!silent.has(from.nodeId)) onSilent(from.nodeId, fault);
      silent.add(from.nodeId);
      return [];
    });
    return {answers, unreachable};
  };
};

/**
 * Every Fault of another node, except those about the caller's key. An error that is not a Fault is a bug on this node. A search that took
 * too long is one of this node: the caller should narrow it.
 */
const isSilence = (error: unknown): error is Fault =>
  error instanceof Fault && !error.code.startsWith('key_') && !(error instanceof SearchOverdue);

const away = ({nodeId}: {nodeId: string}): Fault =>
  new Fault('node_unreachable', `node ${nodeId} has been away for a while; try again later`, {retryAfterSeconds: 5});

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
