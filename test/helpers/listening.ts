// Test servers on a free port.
import {once} from 'node:events';
import type {AddressInfo, Server, Socket} from 'node:net';
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from './daemon.ts';

/** Resolves with the port once the server listens: a free one, unless given. The owner's end closes the server and its connections. */
export const listening = async (
  owner: Owner,
  server: Server,
  {host = '127.0.0.1', port = 0}: Partial<HostPort> = {},
): Promise<number> => {
  const sockets = new Set<Socket>();
  server.on('connection', socket => sockets.add(socket.once('close', () => sockets.delete(socket))));
  server.listen(port, host);
  await once(server, 'listening');
  owner.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};
