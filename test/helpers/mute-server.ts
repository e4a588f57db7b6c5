import {createServer, type Socket} from 'node:net';
import type {ExecutionContext} from 'ava';

/** Accepts connections and sends nothing. Resolves with its http address. */
export const startMute = async (t: ExecutionContext): Promise<string> => {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => undefined));
    socket.resume();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
};
