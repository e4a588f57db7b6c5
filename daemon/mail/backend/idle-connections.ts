// Idle connections to backends. Each waits for the next mail of its server and login, and ends with QUIT when none comes.

import type {BackendConnection} from './backend-connection.ts';
import {isLost} from './command-connection.ts';

interface Needs {
  maxPerServer: number;
  idleMs: number;
}

interface Entry {
  connection: BackendConnection;
  sinceMs: number;
  timer: NodeJS.Timeout;
}

/** How long an aborted transaction may stay open at the server. */
const resetMs = 50;

export const createIdleConnections = ({maxPerServer, idleMs}: Needs) => {
  const entriesOf = new Map<string, Entry[]>();
  let isStopped = false;

  const remove = (connection: BackendConnection, key: string): void => {
    const entries = entriesOf.get(key) ?? [];
    clearTimeout(entries.find(entry => entry.connection === connection)?.timer);
    const rest = entries.filter(entry => entry.connection !== connection);
    if (rest.length > 0) entriesOf.set(key, rest);
    else entriesOf.delete(key);
  };

  const keep = (connection: BackendConnection, key: string, forMs: number, end: () => Promise<void>): void => {
    const expire = () => {
      remove(connection, key);
      void end();
    };
    const entry = {connection, sinceMs: performance.now(), timer: setTimeout(expire, forMs).unref()};
    entriesOf.set(key, [...(entriesOf.get(key) ?? []), entry]);
  };

  const keepClean = (connection: BackendConnection, key: string): void => keep(connection, key, idleMs, () => connection.quit());

  const reset = async (connection: BackendConnection, key: string): Promise<void> => {
    const answer = await connection.reset();
    if (isLost(answer) || answer.code >= 400 || isStopped) connection.close();
    else if (connection.isOpen) keepClean(connection, key);
  };

  return {
    /**
     * Keeps the connection for the next transaction, or ends it when its server has enough idle ones. `isClean`: no transaction
     * is open on it.
     */
    put(connection: BackendConnection, key: string, isClean: boolean): void {
      if (isStopped || (entriesOf.get(key)?.length ?? 0) >= maxPerServer) void connection.quit();
      else if (isClean) keepClean(connection, key);
      else if (connection.canPipeline) {
        // The next transaction sends RSET together with its MAIL. If none comes soon, RSET is sent alone.
        connection.abandon();
        keep(connection, key, resetMs, () => reset(connection, key));
      } else void reset(connection, key);
    },
    /** The connection that was used last, and for how many milliseconds it has been idle. */
    take(key: string): {connection: BackendConnection; idleForMs: number} | undefined {
      const entry = entriesOf.get(key)?.at(-1);
      if (!entry) return undefined;
      remove(entry.connection, key);
      return {connection: entry.connection, idleForMs: performance.now() - entry.sinceMs};
    },
    /** The connection was closed. */
    remove,
    /** Closes all idle connections of one server and login. */
    closeAll(key: string): void {
      for (const {connection} of entriesOf.get(key) ?? []) connection.close();
    },
    /** Ends all idle connections with QUIT, and keeps none from now on. */
    async stop(): Promise<void> {
      isStopped = true;
      const entries = [...entriesOf.values()].flat();
      entriesOf.clear();
      for (const {timer} of entries) clearTimeout(timer);
      await Promise.all(entries.map(({connection}) => connection.quit()));
    },
  };
};
