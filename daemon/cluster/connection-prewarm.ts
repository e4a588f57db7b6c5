// Connections that are made for questions to come. A question is given up within seconds, and takes its connection with it, were it in
// the midst of its handshake: where handshakes are slow, a busy machine or a long line, no question would ever find one ready.
import type {ClientRequest} from 'node:http';
import type {Lane} from './peer-agents.ts';

/** As many as a lane keeps. */
const atOnce = 4;
const patienceMs = 15_000;

/** `open` begins a request that asks for nothing; it may throw. */
export const createLaneWarmer = (open: (lane: Lane) => ClientRequest) => {
  const underWay: Record<Lane, number> = {own: 0, callers: 0, mails: 0};

  const begin = (lane: Lane): ClientRequest | undefined => {
    try {
      return open(lane);
    } catch {
      return undefined;
    }
  };

  return {
    /** A question in this lane was given up. */
    warm(lane: Lane): void {
      const sent = underWay[lane] < atOnce ? begin(lane) : undefined;
      if (!sent) return;
      underWay[lane] += 1;
      const patience = setTimeout(() => sent.destroy(), patienceMs).unref();
      sent.once('close', () => {
        clearTimeout(patience);
        underWay[lane] -= 1;
      });
      sent.once('response', response => response.resume());
      // Whoever asks next will see for himself.
      sent.on('error', () => {});
      sent.end();
    },
  };
};
