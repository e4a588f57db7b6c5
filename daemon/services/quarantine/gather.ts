// Asks many nodes the same. One that does not answer, or not so that it can be understood, is named and does not keep the
// others' answers from anybody.
import {Fault} from '../../../shared/fault.ts';

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
  /** Told when a node begins not to answer, not at every question it leaves open. */
  onSilent(nodeId: string, fault: Fault): void;
  /** A node that has been away for long is not asked: nobody should wait for that each time. */
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

/** All that another node says or fails to say, but for: this caller may not ask at all. What is no Fault went wrong here. */
const isSilence = (error: unknown): error is Fault => error instanceof Fault && !error.code.startsWith('key_');

const away = ({nodeId}: {nodeId: string}): Fault =>
  new Fault('node_unreachable', `node ${nodeId} has been away for a while; try again later`, {retryAfterSeconds: 5});
