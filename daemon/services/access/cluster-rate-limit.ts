// Rate limiter that exchanges counts with the other nodes when a decision depends on them.
import {setTimeout as delay} from 'node:timers/promises';
import type {RateLimiter, RateLimitState} from './rate-limit.ts';

export interface ClusterRateLimits {
  /** Like `RateLimiter.take`, but waits for up to a second while the decision awaits the other nodes. */
  take(keyId: number, limit: number): Promise<RateLimitState>;
}

interface Needs {
  limiter: Pick<RateLimiter, 'take'>;
  /** Sends a heartbeat to each other node. Resolves when each has answered or failed. */
  sendHeartbeats(): Promise<void>;
}

/** A heartbeat takes milliseconds, so a node that needs longer than this is probably down. */
const maxWaitMs = 1000;

export const createClusterRateLimits = ({limiter, sendHeartbeats}: Needs): ClusterRateLimits => ({
  async take(keyId, limit) {
    const deadlineMs = performance.now() + maxWaitMs;
    for (;;) {
      const state = limiter.take(keyId, limit);
      const leftMs = deadlineMs - performance.now();
      if (!state.awaitsPeers || leftMs <= 0) return state;
      await Promise.race([sendHeartbeats(), delay(leftMs)]);
    }
  },
});
