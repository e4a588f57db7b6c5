// Connections to backends, kept open between mails.

import {formatHostPort, type HostPort} from '../../../shared/host-port.ts';
import type {Route} from '../../services/intake/mail-ports.ts';
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
import {createDeadServers} from './dead-servers.ts';

export interface BackendPoolNeeds {
  /** Our name for EHLO. */
  hostname: string;
  /** The EHLO keyword of this cluster; a server that offers it is not used. */
  ownKeyword?: string;
  timeouts?: Partial<BackendTimeouts>;
  maxIdlePerServer?: number;
  idleMs?: number;
  /** Servers limit the mails of one connection (Postfix and Exim: 100 and more); beyond, a new one is made. */
  maxMailsPerConnection?: number;
  /** A connection that was idle for longer is asked for a sign of life before it is used. */
  checkAfterMs?: number;
  /** Before a server that did not answer is tried again for no mail. */
  retryPause?: {firstMs: number; mostMs: number};
  /** Told of each server that could not be used. */
  onFailure?: (server: HostPort, detail: string) => void;
}

export interface BackendPool {
  /** Nothing is sent before the first recipient is. */
  openTransaction(route: Route, start: EnvelopeStart): BackendTransaction;
  /** Ends idle connections with QUIT, the others when their mail is through. */
  close(): Promise<void>;
}

/** How long a transaction that was given up may stand open at the server. */
const resetMs = 50;

/** Spares busy connections the question. */
const usualCheckAfterMs = 20;

interface Borrowed {
  key: string;
  /** Checks too: servers limit what comes between two mails (Postfix: `smtpd_junk_command_limit`). */
  mails: number;
}

export const createBackendPool = (needs: BackendPoolNeeds): BackendPool => {
  const {maxIdlePerServer = 20, idleMs = 30_000, maxMailsPerConnection = 100, checkAfterMs = usualCheckAfterMs} = needs;
  const {onFailure = () => {}, retryPause: pause} = needs;
  const timeouts = {...defaultBackendTimeouts, ...needs.timeouts};
  const dead = createDeadServers({now: () => performance.now(), ...(pause && {pause})});
  const idle = new Map<string, BackendConnection[]>();
  const borrowed = new Map<BackendConnection, Borrowed>();
  const expiries = new Map<BackendConnection, NodeJS.Timeout>();
  const idleSince = new WeakMap<BackendConnection, number>();
  let isClosed = false;

  const forget = (connection: BackendConnection, key: string): void => {
    clearTimeout(expiries.get(connection));
    expiries.delete(connection);
    borrowed.delete(connection);
    takeOut(connection, key);
  };

  const keep = (
    connection: BackendConnection,
    key: string,
    afterMs = idleMs,
    then = () => void retire(connection, key),
  ): void => {
    idle.set(key, [...(idle.get(key) ?? []), connection]);
    idleSince.set(connection, performance.now());
    expiries.set(connection, setTimeout(then, afterMs).unref());
  };

  /** The next transaction may say RSET along with its MAIL; if none comes soon, the server is told alone. */
  const keepLeft = (connection: BackendConnection, key: string): void => {
    connection.leave();
    keep(connection, key, resetMs, () => {
      takeOut(connection, key);
      void reset(connection, key);
    });
  };

  const reset = async (connection: BackendConnection, key: string): Promise<void> => {
    const answer = await connection.reset();
    if (isLost(answer) || answer.code >= 400 || isClosed) connection.close();
    else if (connection.isOpen) keep(connection, key);
  };

  const takeOut = (connection: BackendConnection, key: string): void => {
    const rest = (idle.get(key) ?? []).filter(other => other !== connection);
    if (rest.length > 0) idle.set(key, rest);
    else idle.delete(key);
  };

  const retire = (connection: BackendConnection, key: string): Promise<void> => {
    forget(connection, key);
    return connection.isOpen ? connection.quit() : Promise.resolve();
  };

  const giveBack = async (connection: BackendConnection, isClean: boolean): Promise<void> => {
    const use = borrowed.get(connection);
    if (!use || !connection.isOpen) return;

    use.mails += 1;
    const isReusable = !isClosed && use.mails < maxMailsPerConnection && (idle.get(use.key)?.length ?? 0) < maxIdlePerServer;
    if (!isReusable) return retire(connection, use.key);
    if (isClean) keep(connection, use.key);
    else if (connection.canPipeline) keepLeft(connection, use.key);
    else await reset(connection, use.key);
  };

  /** Where one kept connection leads nowhere, the others to its server hardly lead anywhere else. */
  const closeIdle = (key: string): void => {
    for (const connection of idle.get(key) ?? []) connection.close();
  };

  const connect = async ({auth}: Pick<Route, 'auth'>, server: HostPort, isHurried: boolean): Promise<BackendConnection | Lost> =>
    connectBackend({
      server,
      hostname: needs.hostname,
      timeouts,
      isHurried,
      ownKeyword: needs.ownKeyword,
      ...(auth && {auth}),
    });

  /** With all the patience there is, as no mail waits; and without a login, which could lock an account. */
  const tryAgain = async (server: HostPort): Promise<boolean> => {
    const connection = await connect({}, server, false);
    if (isConnection(connection)) {
      void connection.quit();
      return true;
    }
    onFailure(server, connection.lost);
    return !connection.isSilent;
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
      const connection = idle.get(key)?.pop();
      if (!connection) return undefined;
      clearTimeout(expiries.get(connection));
      if (performance.now() - (idleSince.get(connection) ?? 0) <= checkAfterMs) return connection;

      const use = borrowed.get(connection);
      if (use) use.mails += 1;
      const answer = await connection.check();
      if (!isLost(answer) && isPositive(answer)) return connection;
      connection.close();
      closeIdle(key);
      // The connection made next shows whether it is the server, and has less time for that.
      if (isLost(answer) && answer.isSilent) remember(server);
      return undefined;
    },
    connect: async (route, server, isHurried) => {
      const name = formatHostPort(server);
      const connection = await connect(route, server, isHurried || dead.has(name));
      if (!isConnection(connection)) return connection;
      dead.worked(name);
      const key = keyOf(route, server);
      borrowed.set(connection, {key, mails: 0});
      connection.onClose(() => forget(connection, key));
      return connection;
    },
    giveBack: (connection, isClean) => void giveBack(connection, isClean),
    failed: (server, {lost, isSilent = false}) => {
      onFailure(server, lost);
      // What a server says, such as that it is too busy or takes no login, costs no time and may be otherwise for the next mail.
      if (isSilent) remember(server);
    },
  };

  return {
    openTransaction: (route, start) => createBackendTransaction(lender, route, start),
    close: async () => {
      isClosed = true;
      dead.close();
      const quits = [...idle].flatMap(([key, connections]) => connections.map(connection => retire(connection, key)));
      await Promise.all(quits);
    },
  };
};

/** Connections logged in as somebody are not for those who are not. */
const keyOf = (route: Route, server: HostPort): string => `${route.auth?.username ?? ''}@${formatHostPort(server)}`;

const isConnection = (result: BackendConnection | Lost): result is BackendConnection => !('lost' in result);
