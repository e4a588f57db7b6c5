// Pool of connections to backends, which stay open between mails.
import {hasOwn} from '../../../shared/has-own.ts';
import {formatHostPort, type HostPort} from '../../../shared/host-port.ts';
import type {Route} from '../../services/intake/mail.ts';
import type {MailLog} from '../mail-decision.ts';
import {isPositive} from '../smtp-reply.ts';
import {
  type BackendConnection,
  type BackendTimeouts,
  connectBackend,
  defaultBackendTimeouts,
  type EnvelopeStart,
} from './backend-connection.ts';
import {type BackendTransaction, type ConnectionLender, createBackendTransaction} from './backend-transaction.ts';
import {isLost, type Lost} from './command-connection.ts';
import {createIdleConnections} from './idle-connections.ts';

export interface BackendPoolNeeds {
  /** The name of this node in EHLO. */
  hostname: string;
  /** The EHLO keyword of this cluster; a server that offers it is not used. */
  ownKeyword?: string;
  timeouts?: Partial<BackendTimeouts>;
  maxIdlePerServer?: number;
  idleMs?: number;
  /** Servers limit the mails of one connection (Postfix and Exim: 100 and more); after that the pool opens a new one. */
  maxMailsPerConnection?: number;
  /** The pool checks a connection that was idle for longer before it uses it. */
  checkAfterMs?: number;
  /** Pauses between background attempts to reach a server that did not answer. */
  retryPause?: {firstMs: number; mostMs: number};
  /** Called for each server that could not be used. */
  onFailure?: (server: HostPort, detail: string) => void;
  /** Called after each transaction with a server, with why the server could not be used if that is so. */
  onUse?: (server: string, failure?: string) => void;
}

export interface BackendPool {
  /** Sends nothing before the first recipient. */
  openTransaction(route: Route, start: EnvelopeStart): BackendTransaction;
  /** Connects, and leaves. Resolves with why the server cannot be used; with undefined when it can. */
  check(server: HostPort): Promise<string | undefined>;
  /** Ends idle connections with QUIT, and each busy one after its mail. */
  close(): Promise<void>;
}

/** Busy connections are not checked. */
const usualCheckAfterMs = 20;

interface Use {
  key: string;
  server: string;
  /** Mails and liveness checks: servers also limit commands between mails (Postfix: `smtpd_junk_command_limit`). */
  mails: number;
}

export const createBackendPool = (needs: BackendPoolNeeds): BackendPool => {
  const {hostname, ownKeyword, onFailure = () => {}, onUse = () => {}, retryPause: pause} = needs;
  const {maxIdlePerServer = 20, idleMs = 30_000, maxMailsPerConnection = 100, checkAfterMs = usualCheckAfterMs} = needs;
  const timeouts = {...defaultBackendTimeouts, ...needs.timeouts};
  const dead = createDeadServers({now: () => performance.now(), ...(pause && {pause})});
  const idle = createIdleConnections({maxPerServer: maxIdlePerServer, idleMs});
  const uses = new WeakMap<BackendConnection, Use>();
  let isClosed = false;

  const connect = async ({auth}: Pick<Route, 'auth'>, server: HostPort, isHurried: boolean): Promise<BackendConnection | Lost> =>
    connectBackend({server, hostname, timeouts, isHurried, ownKeyword, ...(auth && {auth})});

  /** Uses the long timeouts, as no mail waits, and does not log in, as an outdated password could lock an account. */
  const tryAgain = async (server: HostPort): Promise<boolean> => {
    const failure = leave(await connect({}, server, false));
    if (failure) onFailure(server, failure.lost);
    return !failure?.isSilent;
  };

  const remember = (server: HostPort): void => {
    if (!isClosed) dead.failed(formatHostPort(server), () => tryAgain(server));
  };

  const lender: ConnectionLender = {
    serversOf: ({servers}) => {
      const isDead = new Set(servers.filter(server => dead.has(formatHostPort(server))));
      return [...servers.filter(server => !isDead.has(server)), ...isDead];
    },
    takeIdle: async (route, server) => {
      const key = keyOf(route, server);
      const found = idle.take(key);
      if (!found || found.idleForMs <= checkAfterMs) return found?.connection;

      const {connection} = found;
      const use = uses.get(connection);
      if (use) use.mails += 1;
      const answer = await connection.check();
      if (!isLost(answer) && isPositive(answer)) return connection;
      connection.close();
      // The other idle connections to this server are probably lost in the same way.
      idle.closeAll(key);
      // The next attempt connects afresh. It shows whether the server itself is down, and gets less time for that.
      if (isLost(answer) && answer.isSilent) remember(server);
      return undefined;
    },
    connect: async (route, server, isHurried) => {
      const name = formatHostPort(server);
      const connection = await connect(route, server, isHurried || dead.has(name));
      if (!isConnection(connection)) return connection;
      dead.worked(name);
      const key = keyOf(route, server);
      uses.set(connection, {key, server: name, mails: 0});
      connection.onClose(() => idle.remove(connection, key));
      return connection;
    },
    giveBack: (connection, isClean) => {
      const use = uses.get(connection);
      if (use) onUse(use.server);
      if (!use || !connection.isOpen) return;
      use.mails += 1;
      if (use.mails < maxMailsPerConnection) idle.put(connection, use.key, isClean);
      else void connection.quit();
    },
    lostInData: (connection, {lost}) => onUse(uses.get(connection)?.server ?? '', lost),
    failed: (server, {lost, isSilent = false}) => {
      onFailure(server, lost);
      onUse(formatHostPort(server), lost);
      // A reply, such as "too busy" or "login refused", costs no time and may differ for the next mail.
      if (isSilent) remember(server);
    },
  };

  return {
    openTransaction: (route, start) => createBackendTransaction(lender, route, start),
    check: async server => leave(await connect({}, server, true))?.lost,
    close: async () => {
      isClosed = true;
      dead.close();
      await idle.stop();
    },
  };
};

/** Why the server cannot be used, if that is so. */
const leave = (connection: BackendConnection | Lost): Lost | undefined => {
  if (!isConnection(connection)) return connection;
  void connection.quit();
  return undefined;
};

/** A connection is shared only between mails with the same login. */
const keyOf = (route: Route, server: HostPort): string => `${route.auth?.username ?? ''}@${formatHostPort(server)}`;

const isConnection = (result: BackendConnection | Lost): result is BackendConnection => !hasOwn(result, 'lost');

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

// Servers that did not answer recently. Mail tries them last, and each is tried again in the background.
//
// failed → dead; an attempt fails → dead, the next pause is twice as long; an attempt or a mail succeeds → forgotten;
// no mail asks for the server for ten minutes → forgotten

interface DeadServersNeeds {
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  pause?: {firstMs: number; mostMs: number};
  /** A server that no mail asks for during this time is forgotten: its domain may be gone. */
  wantedMs?: number;
  maxRemembered?: number;
}

interface Note {
  askedAtMs: number;
  timer?: NodeJS.Timeout;
}

export const createDeadServers = ({
  now,
  pause = {firstMs: 1000, mostMs: 60_000},
  wantedMs = 600_000,
  maxRemembered = 1000,
}: DeadServersNeeds) => {
  const notes = new Map<string, Note>();

  const forget = (server: string): void => {
    clearTimeout(notes.get(server)?.timer);
    notes.delete(server);
  };

  const tryLater = (server: string, note: Note, afterMs: number, tryAgain: () => Promise<boolean>): void => {
    const attempt = async (): Promise<void> => {
      const isUsable = await tryAgain();
      // A mail may have used the server meanwhile.
      if (notes.get(server) !== note) return;
      if (isUsable || now() - note.askedAtMs > wantedMs) forget(server);
      else tryLater(server, note, Math.min(afterMs * 2, pause.mostMs), tryAgain);
    };
    note.timer = setTimeout(() => void attempt(), afterMs).unref();
  };

  return {
    /** Whether the server did not answer the last attempt. */
    has(server: string): boolean {
      const note = notes.get(server);
      if (note) note.askedAtMs = now();
      return note !== undefined;
    },
    /** Records that the server did not answer. `tryAgain` resolves with whether it answers, and never rejects. */
    failed(server: string, tryAgain: () => Promise<boolean>): void {
      if (notes.has(server) || notes.size >= maxRemembered) return;
      const note: Note = {askedAtMs: now()};
      notes.set(server, note);
      tryLater(server, note, pause.firstMs, tryAgain);
    },
    /** Records that the server answered. */
    worked: forget,
    /** Ends all background attempts. */
    close(): void {
      for (const server of [...notes.keys()]) forget(server);
    },
  };
};
