import {setTimeout as delay} from 'node:timers/promises';
import type {RateLimiter, RateLimitState} from './rate-limit.ts';

export interface ClusterRateLimits {
  /** As the rate limiter does; what awaits the other nodes waits until they have heard, for a second at most. */
  take(keyId: number, limit: number): Promise<RateLimitState>;
}

interface Needs {
  limiter: Pick<RateLimiter, 'take'>;
  /** Sends the other nodes a heartbeat. Resolves once each has answered, or failed to. */
  sendHeartbeats(): Promise<void>;
}

/** A heartbeat takes milliseconds. After this, a node that does not answer is not worth more of a caller's time. */
const patienceMs = 1000;

export const createClusterRateLimits = ({limiter, sendHeartbeats}: Needs): ClusterRateLimits => ({
  async take(keyId, limit) {
    const deadlineMs = performance.now() + patienceMs;
    for (;;) {
      const state = limiter.take(keyId, limit);
      const leftMs = deadlineMs - performance.now();
      if (!state.awaitsPeers || leftMs <= 0) return state;
      await Promise.race([sendHeartbeats(), delay(leftMs)]);
    }
  },
});
