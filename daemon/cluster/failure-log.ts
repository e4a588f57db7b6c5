import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';

export interface FailureLog {
  failed(error: unknown): void;
  worked(): void;
}

interface Needs {
  nodeId: string;
  /** Called when the peer answers that this node has been removed from the cluster. */
  onRemoved(by: string): void;
  log: Logger;
}

/** Logs the beginning and the end of a peer's silence, not each failed request. */
export const createFailureLog = ({nodeId, onRemoved, log}: Needs): FailureLog => {
  let isSilent = false;
  return {
    failed(error) {
      const level = isSilent ? 'debug' : 'warn';
      isSilent = true;
      if (!(error instanceof Fault)) log.error({node: nodeId, err: error}, 'a request to a node failed');
      else if (error.code === 'node_removed') onRemoved(nodeId);
      else log[level]({node: nodeId, detail: causeOf(error)}, 'the node does not answer');
    },
    worked() {
      if (isSilent) log.info({node: nodeId}, 'the node answers again');
      isSilent = false;
    },
  };
};

/** The system's own message; `detail` is written for the caller of a request. */
export const causeOf = ({detail, details: {cause}}: Fault): string => (cause instanceof Error ? cause.message : detail);
