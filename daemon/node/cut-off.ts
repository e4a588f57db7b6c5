// State of a node whose certificate has expired: it handles mail but cannot connect to other nodes.
import type {Logger} from 'pino';

export interface CutOff {
  /** ISO 8601; undefined while the certificate is valid. */
  since(): string | undefined;
  /** Advice for the operator; undefined while the certificate is valid. */
  advice(): string | undefined;
  /** Logs a failed renewal of a node that is cut off, at once and then once an hour. Returns false for any other node. */
  couldNotRenew(error: unknown): boolean;
}

interface Needs {
  since(): Date | undefined;
  log: Logger;
  /** Milliseconds, by a clock that never jumps. */
  monotonic?: () => number;
}

const logEveryMs = 3_600_000;

export const createCutOff = ({since, log, monotonic = performance.now.bind(performance)}: Needs): CutOff => {
  let logAfterMs = Number.NEGATIVE_INFINITY;
  const advice = () => {
    const end = since();
    return end && cutOffText(end);
  };
  return {
    since: () => since()?.toISOString(),
    advice,
    couldNotRenew(error) {
      const text = advice();
      if (text === undefined) return false;
      if (monotonic() < logAfterMs) return true;
      logAfterMs = monotonic() + logEveryMs;
      log.error({err: error}, text);
      return true;
    },
  };
};

const cutOffText = (end: Date): string =>
  `this node is cut off from the cluster: its certificate ended at ${end.toISOString()} and no other node has renewed it; mail goes on. Start the node that has tls/ca.key, or put that file into tls/ of this node for one start`;
