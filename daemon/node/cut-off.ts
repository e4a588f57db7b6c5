// What is said of a node whose certificate has ended: it goes on with mail, while no other node hears it or is heard.
import type {Logger} from 'pino';

export interface CutOff {
  /** ISO 8601; undefined while other nodes hear this one. */
  since(): string | undefined;
  /** What to do about it, likewise. */
  advice(): string | undefined;
  /** No new certificate could be had, for that reason: logged at first, then once an hour. Returns false for a node that is not cut off. */
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
