// A bare mail server in this process that counts the mails that it has received.
import type {HostPort} from '../../shared/host-port.ts';
import type {Owner} from '../helpers/daemon.ts';
import {listening} from '../helpers/listening.ts';
import {createBareBackend} from './anchors/bare-backend.ts';

export interface CountingSink {
  server: HostPort;
  /** Number of mails received. */
  delivered(): number;
  /** Resolves once it has received this number of mails. */
  reached(count: number): Promise<void>;
}

export const startCountingSink = async (owner: Owner): Promise<CountingSink> => {
  let count = 0;
  let waiting: {count: number; resolve: () => void}[] = [];
  const server = createBareBackend(() => {
    count += 1;
    for (const one of waiting) if (count >= one.count) one.resolve();
    waiting = waiting.filter(one => one.count > count);
  });

  return {
    server: {host: '127.0.0.1', port: await listening(owner, server)},
    delivered: () => count,
    reached: async wanted => (count >= wanted ? undefined : new Promise(resolve => void waiting.push({count: wanted, resolve}))),
  };
};
