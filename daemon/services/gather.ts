// Asks many nodes the same. One that does not answer, or not so that it can be understood, is named and does not keep the
// others' answers from anybody.
import {Fault} from '../../shared/fault.ts';

export interface Gathered<T> {
  result: T;
  /** Nodes that did not answer. */
  unreachable: string[];
}

export type AskAll = <P extends {nodeId: string}, T>(
  asked: P[],
  question: (one: P) => Promise<T>,
) => Promise<{answers: {from: P; answer: T}[]; unreachable: string[]}>;

/** `onSilent` is told when a node begins not to answer, not at every question it leaves open. */
export const createAskAll = (onSilent: (nodeId: string, fault: Fault) => void): AskAll => {
  const silent = new Set<string>();

  return async (asked, question) => {
    const outcomes = await Promise.allSettled(asked.map(question));
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
