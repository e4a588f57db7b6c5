// Log of servers that could not be used, with repeated lines left out: otherwise every mail to a server that is down would log one.
import {formatHostPort, type HostPort} from '../../../shared/host-port.ts';
import type {MailLog} from '../mail-log.ts';

interface Needs {
  log: Pick<MailLog, 'warn'>;
  now: () => number;
  maxRemembered?: number;
}

/** How long the same line about one server is not repeated. */
const silenceMs = 60_000;

export const createBackendFailures = ({log, now, maxRemembered = 1000}: Needs) => {
  const loggedAt = new Map<string, number>();

  return (server: HostPort, detail: string): void => {
    const key = `${formatHostPort(server)} ${detail}`;
    const last = loggedAt.get(key);
    if (last !== undefined && now() - last < silenceMs) return;
    // Deleted first, because a Map keeps the position of a key, and the newest must be last.
    loggedAt.delete(key);
    loggedAt.set(key, now());
    const [oldest] = loggedAt.keys();
    if (loggedAt.size > maxRemembered && oldest !== undefined) loggedAt.delete(oldest);
    log.warn({server, detail}, 'backend could not be used');
  };
};
