// Clients without a key or certificate that connect to a node and stay.
import {connect, type Socket} from 'node:net';
import {connect as connectTls} from 'node:tls';
import type {Owner} from './daemon.ts';

export interface Strangers {
  /** How many of the connections the node has not ended. */
  open(): number;
}

/** Resolves once all have connected; the node may have ended some of them by then. */
export const openStrangers = async (
  owner: Owner,
  port: number,
  {count, isEncrypted = false, says = ''}: {count: number; isEncrypted?: boolean; says?: string},
): Promise<Strangers> => {
  const sockets: Socket[] = [];
  owner.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  const connected = async () =>
    new Promise<void>(resolve => {
      const at = {port, host: '127.0.0.1'};
      const socket = isEncrypted ? connectTls({...at, rejectUnauthorized: false}) : connect(at);
      sockets.push(socket);
      // What the node sends is read, so that the end of the connection is noticed.
      socket.on('error', () => {}).on('close', () => resolve());
      socket.on(isEncrypted ? 'secureConnect' : 'connect', () => {
        socket.write(says);
        resolve();
      });
      socket.resume();
    });
  // Together they need fewer files than a process may open: most are ended while the next connect.
  while (sockets.length < count) await Promise.all(Array.from({length: Math.min(100, count - sockets.length)}, connected));
  return {open: () => sockets.filter(({closed, readableEnded}) => !closed && !readableEnded).length};
};
