// A mail server that accepts everything at once and counts, so that only the sending side is measured.
import {once} from 'node:events';
import {type AddressInfo, createServer, type Socket} from 'node:net';
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from '../helpers/daemon.ts';

export interface CountingSink {
  server: HostPort;
  /** Number of mails received. */
  delivered(): number;
  /** Resolves once it has received this number of mails. */
  reached(count: number): Promise<void>;
}

const endOfMail = '\r\n.\r\n';

export const startCountingSink = async (owner: Owner): Promise<CountingSink> => {
  const sockets = new Set<Socket>();
  let count = 0;
  let waiting: {count: number; resolve: () => void}[] = [];

  const take = () => {
    count += 1;
    for (const one of waiting) if (count >= one.count) one.resolve();
    waiting = waiting.filter(one => one.count > count);
  };

  const server = createServer({noDelay: true}, socket => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.write('220 sink.test ESMTP\r\n');
    listen(socket, take);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  owner.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  return {
    server: {host: '127.0.0.1', port: (server.address() as AddressInfo).port},
    delivered: () => count,
    reached: async wanted => (count >= wanted ? undefined : new Promise(resolve => void waiting.push({count: wanted, resolve}))),
  };
};

const listen = (socket: Socket, take: () => void): void => {
  let buffered = '';
  let isData = false;
  const read = (): boolean => {
    const terminator = isData ? endOfMail : '\r\n';
    const end = buffered.indexOf(terminator);
    if (end < 0) return false;
    const line = buffered.slice(0, end);
    buffered = buffered.slice(end + terminator.length);
    if (isData) take();
    socket.write(isData ? '250 2.0.0 taken\r\n' : replyTo(line));
    isData = !isData && /^data$/i.test(line);
    return true;
  };
  socket.on('data', (chunk: Buffer) => {
    buffered += chunk.toString('latin1');
    while (read());
    // Within a mail only the possible beginning of its end matters.
    if (isData) buffered = buffered.slice(-endOfMail.length);
  });
};

const replyTo = (line: string): string => {
  if (/^ehlo/i.test(line)) return '250-sink.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 50000000\r\n';
  if (/^data$/i.test(line)) return '354 go\r\n';
  if (/^quit$/i.test(line)) return '221 2.0.0 bye\r\n';
  return '250 2.0.0 ok\r\n';
};
