// Connections to backends, kept open between mails.
import {formatHostPort, type HostPort} from '../../shared/host-port.ts';
import type {Route} from '../services/ports.ts';
import {
  type BackendConnection,
  type BackendTimeouts,
  connectBackend,
  defaultBackendTimeouts,
  type EnvelopeStart,
} from './backend-connection.ts';
import {type BackendTransaction, type ConnectionLender, createBackendTransaction} from './backend-transaction.ts';
import {isLost, type Lost} from './command-connection.ts';

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

interface Borrowed {
  key: string;
  mails: number;
}

export const createBackendPool = (needs: BackendPoolNeeds): BackendPool => {
  const {maxIdlePerServer = 20, idleMs = 30_000, maxMailsPerConnection = 100} = needs;
  const timeouts = {...defaultBackendTimeouts, ...needs.timeouts};
  const idle = new Map<string, BackendConnection[]>();
  const borrowed = new Map<BackendConnection, Borrowed>();
  const expiries = new Map<BackendConnection, NodeJS.Timeout>();
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

  const lender: ConnectionLender = {
    takeIdle: (route, server) => {
      const connection = idle.get(keyOf(route, server))?.pop();
      clearTimeout(connection && expiries.get(connection));
      return connection;
    },
    connect: async (route, server) => {
      const target = {
        server,
        hostname: needs.hostname,
        timeouts,
        ownKeyword: needs.ownKeyword,
        ...(route.auth && {auth: route.auth}),
      };
      const connection = await connectBackend(target);
      if (isConnection(connection)) {
        const key = keyOf(route, server);
        borrowed.set(connection, {key, mails: 0});
        connection.onClose(() => forget(connection, key));
      }
      return connection;
    },
    giveBack: (connection, isClean) => void giveBack(connection, isClean),
    report: (server, detail) => needs.onFailure?.(server, detail),
  };

  return {
    openTransaction: (route, start) => createBackendTransaction(lender, route, start),
    close: async () => {
      isClosed = true;
      const quits = [...idle].flatMap(([key, connections]) => connections.map(connection => retire(connection, key)));
      await Promise.all(quits);
    },
  };
};

/** Connections logged in as somebody are not for those who are not. */
const keyOf = (route: Route, server: HostPort): string => `${route.auth?.username ?? ''}@${formatHostPort(server)}`;

const isConnection = (result: BackendConnection | Lost): result is BackendConnection => !('lost' in result);
