// The milter: judges the mail of a Postfix that this node is asked by.
import type {Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {createMessageIntake} from '../gateway/message-intake.ts';
import {type LocalAddress, listenLocal} from '../local-listener.ts';
import {type ConnectionNeeds, type MilterConnection, serveMilterConnection} from './milter-connection.ts';

export interface MilterServerNeeds extends Omit<ConnectionNeeds, 'messages' | 'newContentName'> {
  listen: LocalAddress;
  /** What is bigger is refused. */
  maxSize: number;
  maxConnections: number;
  /** For content too big for memory; files in it are gone once their mail is answered. */
  tmpDir: string;
  /** How long `stop` lets mails under way finish. */
  drainMs?: number;
  /** How long a connection may be silent. */
  idleMs?: number;
}

export interface MilterServer {
  /** With the real port where 0 was asked for. */
  readonly address: LocalAddress;
  /** Lets mails under way come to their answer, ends every other connection, and resolves when all is closed. */
  stop(): Promise<void>;
}

/**
 * Postfix keeps its connection while a client says nothing (smtpd_timeout, 5 minutes) and while one sends a mail, however
 * slowly: the content comes here only when Postfix has all of it. Where Postfix dies the system closes the connection.
 */
const idleAfterMs = 2 * 3600 * 1000;
const keepAliveMs = 60_000;
/** For what a connection that was cut off leaves behind, such as a file. */
const cleanUpMs = 1000;

/** Rejects with the error of the socket, such as EADDRINUSE, when it cannot listen. */
export const startMilterServer = async (needs: MilterServerNeeds): Promise<MilterServer> => {
  const {tmpDir, maxSize, maxConnections, drainMs = 7000, idleMs = idleAfterMs, log} = needs;
  const connections = new Set<MilterConnection>();
  const messages = createMessageIntake({tmpDir, maxSizeBytes: maxSize, isFormChecked: false});
  let contents = 0;
  const newContentName = () => {
    contents += 1;
    return `milter-${contents}`;
  };
  let isStopping = false;

  const serve = (socket: Socket): void => {
    if (isStopping || connections.size >= maxConnections) {
      if (!isStopping) log.warn({max_connections: maxConnections}, 'milter connection refused: there are too many');
      socket.destroy();
      return;
    }
    socket.setKeepAlive(true, keepAliveMs);
    socket.setTimeout(idleMs, () => socket.destroy());
    const connection = serveMilterConnection(socket, {...needs, messages, newContentName});
    connections.add(connection);
    void connection.over.finally(() => connections.delete(connection));
  };

  const listener = await listenLocal(needs.listen, serve);
  return {
    address: listener.address,
    async stop() {
      isStopping = true;
      const closed = listener.stop();
      for (const connection of connections) connection.dismiss();
      const over = async () => Promise.all([closed, ...[...connections].map(connection => connection.over)]);
      await Promise.race([over(), delay(drainMs, undefined, {ref: false})]);
      for (const connection of connections) connection.destroy();
      await Promise.race([over(), delay(cleanUpMs, undefined, {ref: false})]);
    },
  };
};
