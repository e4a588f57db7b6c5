// Takes from a reader what Node's permission model leaves to it: signals to other processes, and the network. SIGUSR1 makes Node open a
// debugger, and through one a reader could run code in the node that started it.
import dgram from 'node:dgram';
import dns from 'node:dns';
import {syncBuiltinESMExports} from 'node:module';
import net from 'node:net';
import os from 'node:os';
import v8 from 'node:v8';

/** Called once everything is open that is needed: what is open stays usable. */
export const confine = (): void => {
  remove(process, ['kill', '_kill', '_debugProcess', '_debugEnd', 'binding', '_linkedBinding', 'dlopen']);
  remove(os, ['setPriority']);
  remove(v8, ['setFlagsFromString']);
  // All sockets, whoever makes them, have the methods of their kind.
  for (const handle of [pipe, tcp, udp, resolver].map(madeBy)) if (handle) remove(Object.getPrototypeOf(handle), reaching);
  for (const names of [dns, dns.promises]) remove(names, ['lookup', 'lookupService']);
  // For those who import a function by its name.
  syncBuiltinESMExports();
};

const remove = (of: object, names: readonly string[]): void => {
  for (const name of names) Reflect.deleteProperty(of, name);
};

const reaching = [
  ...['open', 'bind', 'bind6', 'listen', 'connect', 'connect6', 'send', 'send6', 'recvStart', 'getHostByAddr'],
  ...['Any', 'A', 'Aaaa', 'Caa', 'Cname', 'Mx', 'Ns', 'Txt', 'Srv', 'Ptr', 'Naptr', 'Soa', 'Tlsa'].map(type => `query${type}`),
];

type Handle = object | null | undefined;
const handleOf = (socket: unknown): Handle => (socket as {_handle?: Handle})._handle;

/** Later versions of Node refuse sockets themselves. */
const madeBy = (make: () => Handle): Handle => {
  try {
    return make();
  } catch {
    return undefined;
  }
};

const pipe = (): Handle => handleOf(process.stdin);

/** Ended before it connects. */
const tcp = (): Handle => {
  const socket = net.connect({host: '127.0.0.1', port: 1}).on('error', () => {});
  const handle = handleOf(socket);
  socket.destroy();
  return handle;
};

const udp = (): Handle => {
  const socket = dgram.createSocket('udp4');
  const state = Object.getOwnPropertySymbols(socket).find(({description}) => description === 'state symbol');
  const handle = state && (socket as unknown as Record<symbol, {handle?: Handle}>)[state]?.handle;
  socket.close();
  return handle;
};

const resolver = (): Handle => handleOf(new dns.Resolver());
