// Before a node opens its listeners: every address that is taken is named at once, with the key that says it and where to change it.
import {once} from 'node:events';
import {connect, createServer, type Server} from 'node:net';
import {CommandError} from './command-error.ts';
import type {Config} from './config/schema.ts';
import {formatLocalAddress, type LocalAddress, parseLocalAddress} from './mail/local-listener.ts';

/** `file` is the configuration that the addresses are in, or would be. `advice` follows what is in use. */
export const requireFreeAddresses = async (
  {api, cluster, metrics, smtp, postfix}: Config,
  {file, advice = ''}: {file: string; advice?: string},
): Promise<void> => {
  const listens = {
    'api.listen': api.listen,
    'cluster.listen': cluster.listen,
    'metrics.listen': metrics.listen,
    'smtp.listen': smtp.listen,
    'postfix.milter_listen': postfix.milter_listen,
    'postfix.socketmap_listen': postfix.socketmap_listen,
  };
  const taken: string[] = [];
  // Held until all were tried: two keys may name the same address.
  const held: Server[] = [];
  try {
    for (const [key, text] of Object.entries(listens)) {
      const address = text === undefined ? undefined : parseLocalAddress(text);
      if (address === undefined || !(await isTaken(address, held))) continue;
      const variable = `MFD_${key.replace('.', '_').toUpperCase()}`;
      taken.push(`${key} ${formatLocalAddress(address)} is in use (${file} or ${variable})`);
    }
  } finally {
    for (const server of held) server.close();
    await Promise.all(held.map(async server => once(server, 'close')));
  }
  if (taken.length > 0)
    throw new CommandError(`${taken.join('; ')}; stop what listens there, or choose another address${advice}`);
};

/** What cannot be listened on for another reason is told by whoever opens it. */
const isTaken = async (address: LocalAddress, held: Server[]): Promise<boolean> => {
  if ('path' in address) return hasListener(address.path);
  const server = createServer();
  try {
    server.listen(address.port, address.host);
    await once(server, 'listening');
    held.push(server);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  }
};

/** A socket that nobody listens on is left over, and taken over. */
const hasListener = async (path: string): Promise<boolean> => {
  const socket = connect({path});
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};
