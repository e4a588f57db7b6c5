// What the log says of servers that could not be used: every mail to one that is down would have a line of its own.
import {formatHostPort, type HostPort} from '../../../shared/host-port.ts';
import type {MailLog} from '../mail-log.ts';

interface Needs {
  log: Pick<MailLog, 'warn'>;
  now: () => number;
  /** For so long the same is not said again of one server. */
  silenceMs?: number;
  maxRemembered?: number;
}

export const createBackendFailures = ({log, now, silenceMs = 60_000, maxRemembered = 1000}: Needs) => {
  const saidAt = new Map<string, number>();

  return (server: HostPort, detail: string): void => {
    const key = `${formatHostPort(server)} ${detail}`;
    const last = saidAt.get(key);
    if (last !== undefined && now() - last < silenceMs) return;
    // A key keeps its place in a Map: the newest are to be last.
    saidAt.delete(key);
    saidAt.set(key, now());
    const [oldest] = saidAt.keys();
    if (saidAt.size > maxRemembered && oldest !== undefined) saidAt.delete(oldest);
    log.warn({server, detail}, 'backend could not be used');
  };
};
