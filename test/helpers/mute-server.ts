import {createServer} from 'node:net';
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from './daemon.ts';
import {listening} from './listening.ts';

/** Accepts connections and sends nothing. Resolves with its http address. */
export const startMute = async (owner: Owner, at?: HostPort): Promise<string> => {
  const server = createServer(socket => socket.on('error', () => undefined).resume());
  return `http://127.0.0.1:${await listening(owner, server, at)}`;
};
