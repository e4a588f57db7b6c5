// Listener for programs of the same host, on a unix socket or a TCP address of loopback.

import {once} from 'node:events';
import {chmod, lstat, unlink} from 'node:fs/promises';
import {connect, createServer, type Socket} from 'node:net';
import type {Writable} from 'node:stream';
import {hasOwn} from '../../shared/has-own.ts';
import {formatHostPort, type HostPort, parseHostPort} from '../../shared/host-port.ts';

export type LocalAddress = {path: string} | HostPort;

/** Reads `unix:/PATH` or `HOST:PORT`; undefined for any other text. A socket path has at most 107 bytes (sun_path). */
export const parseLocalAddress = (text: string): LocalAddress | undefined => {
  const path = /^unix:(\/[^\0]+)$/.exec(text)?.[1];
  if (path !== undefined) return Buffer.byteLength(path) <= 107 ? {path} : undefined;
  return parseHostPort(text, {allowZero: true});
};

export const formatLocalAddress = (address: LocalAddress): string =>
  hasOwn(address, 'path') ? `unix:${address.path}` : formatHostPort(address);

export interface LocalListener {
  /** The address with the actual port if port 0 was requested. */
  address: LocalAddress;
  /** Accepts no more connections. The caller has to end open ones. */
  stop(): Promise<void>;
}

/**
 * Disables the Nagle delay. Replaces a stale socket file. Owner and group may connect to a new socket; its group is that of the
 * folder if the folder is set-gid. Rejects with the error of the socket, such as EADDRINUSE, when it cannot listen.
 */
export const listenLocal = async (address: LocalAddress, onConnection: (socket: Socket) => void): Promise<LocalListener> => {
  const server = createServer({noDelay: true}, onConnection);
  if (hasOwn(address, 'path')) await removeDeadSocket(address.path);
  server.listen({...address});
  await once(server, 'listening');
  if (hasOwn(address, 'path')) await chmod(address.path, 0o660);
  // The only remaining error is a connection that could not be accepted, for lack of file descriptors.
  server.on('error', () => undefined);

  const bound = server.address();
  return {
    address: bound !== null && typeof bound === 'object' ? {host: bound.address, port: bound.port} : address,
    stop: async () => new Promise(resolve => server.close(() => resolve())),
  };
};

const removeDeadSocket = async (path: string): Promise<void> => {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isSocket()) return;
  const isAlive = await new Promise<boolean>(resolve => {
    const probe = connect({path}, () => resolve(true)).on('error', () => resolve(false));
    probe.once('connect', () => probe.destroy());
  });
  if (!isAlive) await unlink(path);
};

/** Resolves when the stream can take more, or is closed. */
export const drained = (stream: Writable): Promise<void> =>
  new Promise(resolve => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
