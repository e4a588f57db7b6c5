// Ports for programs that must know their port before they listen, or that keep it while they are down.
import {createServer, type Server} from 'node:net';
import type {HostPort} from '../../shared/host-port.ts';

// Below the range of the system's ephemeral ports, and below the range from which mfd takes a port in place of port 0.
const first = 4000;
const perProcess = 256;
const shares = Math.floor((10_000 - first) / perProcess);

/** Ports of this range that `fetch` refuses to ask, because other protocols have them (https://fetch.spec.whatwg.org/#port-blocking). */
export const refusedByFetch = [4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697];

/** The first port of this process's share: the process that listens there owns the others until it ends. */
let mine: Promise<number> | undefined;
let given = 0;

/** A free port of 127.0.0.1 that no other process of the tests gets. */
export const freePort = async (): Promise<number> => {
  mine ??= claimShare();
  const share = await mine;
  for (let tries = 1; tries < perProcess; tries += 1) {
    given = (given % (perProcess - 1)) + 1;
    const port = share + given;
    const server = refusedByFetch.includes(port) ? undefined : await listenOn(port);
    if (server) {
      await new Promise(resolve => server.close(resolve));
      return port;
    }
  }
  throw new Error(`ports ${share} to ${share + perProcess - 1} are all in use`);
};

/** An address of this machine without a listener. */
export const closedPort = async (): Promise<HostPort> => ({host: '127.0.0.1', port: await freePort()});

const claimShare = async (): Promise<number> => {
  for (let share = 0; share < shares; share += 1) {
    const port = first + share * perProcess;
    const server = await listenOn(port);
    if (server) {
      server.unref();
      return port;
    }
  }
  throw new Error(`more than ${shares} processes have taken a share of the ports`);
};

const listenOn = async (port: number): Promise<Server | undefined> =>
  new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(undefined)).listen(port, '127.0.0.1', () => resolve(server));
  });
