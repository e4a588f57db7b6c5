// Prewarm of connections for later requests. A request is cancelled after some seconds, and its connection is closed even during the
// handshake. Without prewarm, where handshakes are slow (busy machine, slow line), no request would ever find an open connection.
import type {ClientRequest} from 'node:http';
import type {PeerPool} from './peer-agents.ts';

/** As many as one connection pool keeps. */
const atOnce = 4;
const deadlineMs = 15_000;

/** `open` starts a request without effect, to open a connection; it may throw. */
export const createPrewarm = (open: (pool: PeerPool) => ClientRequest) => {
  const underWay: Record<PeerPool, number> = {own: 0, callers: 0, mails: 0};

  const begin = (pool: PeerPool): ClientRequest | undefined => {
    try {
      return open(pool);
    } catch {
      return undefined;
    }
  };

  return {
    /** A request of this connection pool was cancelled. */
    warm(pool: PeerPool): void {
      const sent = underWay[pool] < atOnce ? begin(pool) : undefined;
      if (!sent) return;
      underWay[pool] += 1;
      const deadline = setTimeout(() => sent.destroy(), deadlineMs).unref();
      sent.once('close', () => {
        clearTimeout(deadline);
        underWay[pool] -= 1;
      });
      sent.once('response', response => response.resume());
      // The next request reports the error itself.
      sent.on('error', () => {});
      sent.end();
    },
  };
};
