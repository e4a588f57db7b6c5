// Listens for a program of the same host: on a unix socket, or on a TCP address of loopback.
import {chmod, lstat, unlink} from 'node:fs/promises';
import {connect, createServer, type Socket} from 'node:net';
import {formatHostPort, type HostPort, parseHostPort} from '../../shared/host-port.ts';

export type LocalAddress = {path: string} | HostPort;

/** `unix:/PATH` or `HOST:PORT`; undefined for all else. sun_path has room for 107 bytes. */
export const parseLocalAddress = (text: string): LocalAddress | undefined => {
  const path = /^unix:(\/[^\0]+)$/.exec(text)?.[1];
  if (path !== undefined) return Buffer.byteLength(path) <= 107 ? {path} : undefined;
  return parseHostPort(text, {allowZero: true});
};

export const formatLocalAddress = (address: LocalAddress): string =>
  'path' in address ? `unix:${address.path}` : formatHostPort(address);

export interface LocalListener {
  /** With the real port where 0 was asked for. */
  address: LocalAddress;
  /** Accepts nobody any more. Who is connected stays so: that is the caller's to end. */
  stop(): Promise<void>;
}

/**
 * Answers are sent at once (no Nagle delay). A socket that nobody listens on any more is taken over; the new one is for its
 * owner and its group, which is that of the folder where that is set-gid. Rejects as listening does, such as with EADDRINUSE.
 */
export const listenLocal = async (address: LocalAddress, onConnection: (socket: Socket) => void): Promise<LocalListener> => {
  const server = createServer({noDelay: true}, onConnection);
  if ('path' in address) await removeDeadSocket(address.path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen('path' in address ? address : {...address}, () => {
      server.off('error', reject);
      resolve();
    });
  });
  if ('path' in address) await chmod(address.path, 0o660);
  // What is left to go wrong is a connection that could not be accepted, for want of file descriptors.
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
