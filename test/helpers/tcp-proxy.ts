// A TCP proxy between two nodes that can be cut, stalled, slowed down and reset.
import {once} from 'node:events';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from './daemon.ts';

/**
 * `refuse` closes every connection at once. The other modes keep connections open and drop bytes: in both directions, from the
 * client, or from the server. A connection that was cut or has lost bytes is not repaired: it ends when the mode changes.
 */
export type ProxyMode = 'pass' | 'refuse' | 'blackhole' | 'drop-requests' | 'drop-answers';

type Direction = 'requests' | 'answers';

export interface TcpProxy {
  readonly port: number;
  setMode(mode: ProxyMode): void;
  /** From now on all bytes are delayed by this time, in each direction. */
  delay(ms: number): void;
  /** Bytes per second, for each connection and direction; undefined for no limit. */
  throttle(bytesPerSecond: number | undefined): void;
  /** Open connections lose all bytes from now on, as if a firewall had forgotten them. */
  deafen(): void;
  /** Sends RST to both ends of all open connections. */
  reset(): void;
  readonly counts: {readonly connections: number; readonly open: number; readonly requests: number; readonly answers: number};
}

interface Line {
  ends: [Socket, Socket];
  hasMissed: boolean;
  isDeaf: boolean;
}

/** `target` is called for every connection: it may be unknown at first, and then counts as down. */
export const startProxy = async (owner: Owner, target: () => HostPort | undefined): Promise<TcpProxy> => {
  const lines = new Set<Line>();
  const counts = {connections: 0, open: 0, requests: 0, answers: 0};
  let mode: ProxyMode = 'pass';
  let delayMs = 0;
  let bytesPerSecond: number | undefined;

  const swallows = (direction: Direction) => mode === 'blackhole' || mode === `drop-${direction}`;
  const cut = ({ends}: Line) => {
    for (const end of ends) end.destroy();
  };

  const carry = (line: Line, direction: Direction) => {
    const [from, to] = direction === 'requests' ? line.ends : line.ends.toReversed();
    if (!from || !to) return;
    let isFreeAt = 0;
    let inOrder = Promise.resolve();
    /** Bytes under way keep the delay that applied when they arrived. */
    const later = (length: number, arrive: () => void) => {
      if (swallows(direction) || line.isDeaf) {
        line.hasMissed = true;
        return;
      }
      isFreeAt = Math.max(isFreeAt, performance.now()) + (bytesPerSecond ? (length / bytesPerSecond) * 1000 : 0);
      const dueAt = isFreeAt + delayMs;
      inOrder = inOrder.then(async () => {
        const waitMs = dueAt - performance.now();
        if (waitMs > 0) await delay(waitMs);
        if (!to.destroyed) arrive();
      });
    };
    from.on('data', (chunk: Buffer) => {
      counts[direction] += chunk.length;
      later(chunk.length, () => to.write(chunk));
    });
    from.on('end', () => later(0, () => to.end()));
    // When one end breaks off, the other one is closed too, unless the line drops everything in this direction.
    from.on('close', () => {
      if (from.errored) later(0, () => to.destroy());
    });
  };

  const accept = (client: Socket) => {
    counts.connections += 1;
    const to = target();
    if (mode === 'refuse' || !to) {
      client.on('error', () => undefined);
      client.destroy();
      return;
    }
    const line: Line = {ends: [client, connect({...to, allowHalfOpen: true})], hasMissed: false, isDeaf: false};
    lines.add(line);
    counts.open += 1;
    let openEnds = 2;
    for (const end of line.ends) {
      end.setNoDelay(true);
      end.on('error', () => undefined);
      end.on('close', () => {
        openEnds -= 1;
        if (openEnds > 0) return;
        lines.delete(line);
        counts.open -= 1;
      });
    }
    carry(line, 'requests');
    carry(line, 'answers');
  };

  const server = createServer({allowHalfOpen: true}, accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  owner.teardown(async () => {
    for (const line of lines) cut(line);
    await new Promise(resolve => server.close(resolve));
  });

  return {
    port: (server.address() as AddressInfo).port,
    setMode(next) {
      if (next === mode) return;
      mode = next;
      for (const line of lines) if (mode === 'refuse' || line.hasMissed) cut(line);
    },
    delay(ms) {
      delayMs = ms;
    },
    throttle(next) {
      bytesPerSecond = next;
    },
    deafen() {
      for (const line of lines) line.isDeaf = true;
    },
    reset() {
      for (const {ends} of lines) for (const end of ends) end.resetAndDestroy();
    },
    counts,
  };
};
