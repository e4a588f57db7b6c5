// Ports for whatever must be told its port before it listens, or keeps it while it is down.
import {createServer, type Server} from 'node:net';
import type {HostPort} from '../../shared/host-port.ts';

// Below the range from which systems take ports for outgoing connections, and below that from which mfd takes one in place of port 0.
const first = 4000;
const perProcess = 256;
const shares = Math.floor((10_000 - first) / perProcess);

/** The first port of the share of this process: who listens there owns the others, until it ends. */
let mine: Promise<number> | undefined;
let given = 0;

/** A port of 127.0.0.1 that is free, and that no other process of the tests is given. */
export const freePort = async (): Promise<number> => {
  mine ??= claimShare();
  const share = await mine;
  for (let tries = 1; tries < perProcess; tries += 1) {
    given = (given % (perProcess - 1)) + 1;
    const port = share + given;
    const server = await listenOn(port);
    if (server) {
      await new Promise(resolve => server.close(resolve));
      return port;
    }
  }
  throw new Error(`ports ${share} to ${share + perProcess - 1} are all in use`);
};

/** An address of this machine where nobody listens. */
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
