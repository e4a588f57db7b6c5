// Milter listener: judges mail for a Postfix.
import type {Socket} from 'node:net';
import {setTimeout as delay} from 'node:timers/promises';
import {type LocalAddress, listenLocal} from '../local-listener.ts';
import {createMessageIntake} from '../message-intake.ts';
import {type ConnectionNeeds, type MilterConnection, serveMilterConnection} from './milter-connection.ts';

export interface MilterServerNeeds extends Omit<ConnectionNeeds, 'messages' | 'newContentName'> {
  listen: LocalAddress;
  /** Larger mail is refused. */
  maxSize: number;
  maxConnections: number;
  /** For content that is too large for memory. Each file is removed once its mail is answered. */
  tmpDir: string;
  /** How long `stop` waits for mails under way. */
  drainMs?: number;
  /** How long a connection may be silent. */
  idleMs?: number;
}

export interface MilterServer {
  /** The address with the actual port if port 0 was requested. */
  readonly address: LocalAddress;
  /** Waits for mails under way, ends all other connections, and resolves when everything is closed. */
  stop(): Promise<void>;
}

/**
 * Postfix keeps its connection while a client is silent (smtpd_timeout, 5 minutes) or slowly sends a mail, as the milter gets the
 * content only when Postfix has all of it. When Postfix dies, the system closes the connection.
 */
const idleAfterMs = 2 * 3600 * 1000;
const keepAliveMs = 60_000;
/** For the clean-up after closed connections, such as files. */
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
      if (!isStopping) log.warn({max_connections: maxConnections}, 'milter connection refused: too many connections');
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
