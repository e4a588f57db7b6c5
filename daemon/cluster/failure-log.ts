import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';

export interface FailureLog {
  failed(error: unknown): void;
  worked(): void;
}

/** A peer that cannot be reached is told of when that begins and when it is over, not every second. */
export const createFailureLog = (nodeId: string, log: Logger): FailureLog => {
  let isSilent = false;
  return {
    failed(error) {
      const level = isSilent ? 'debug' : 'warn';
      isSilent = true;
      if (!(error instanceof Fault)) log.error({node: nodeId, err: error}, 'talking to a node failed');
      else log[level]({node: nodeId, detail: causeOf(error)}, 'the node does not answer');
    },
    worked() {
      if (isSilent) log.info({node: nodeId}, 'the node answers again');
      isSilent = false;
    },
  };
};

/** What the system said; `detail` is for people who asked for something. */
export const causeOf = ({detail, details: {cause}}: Fault): string => (cause instanceof Error ? cause.message : detail);
