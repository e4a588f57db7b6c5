// Addresses of mfd's listeners in the notation of Postfix.

import {relative} from 'node:path';
import {hasOwn} from '../../shared/has-own.ts';
import {formatHostPort, isWildcard} from '../../shared/host-port.ts';
import {type LocalAddress, parseLocalAddress} from '../mail/local-listener.ts';
import type {MailSystem} from './mail-system.ts';
import {SetupError} from './setup-error.ts';

/** Postfix programs that connect to mfd. */
const clients = ['smtpd', 'trivial-rewrite', 'cleanup', 'flush', 'verify'];

/**
 * `unix:PATH` or `inet:HOST:PORT`. A path in Postfix's queue directory is relative to that directory, which is the working directory
 * of all Postfix programs, with or without a chroot.
 */
export const postfixAddress = (key: string, listen: string, {queueDir, services}: MailSystem): string => {
  const address = parseLocalAddress(listen);
  if (!address) throw new SetupError(`${key}: ${listen} is too long for a socket; set ${key} to another one, or to HOST:PORT`);
  if (!hasOwn(address, 'path')) return inetAddress(key, address);

  const inQueue = relative(queueDir, address.path);
  if (!inQueue.startsWith('..')) return `unix:${inQueue}`;
  const caged = services.find(({program, isChrooted}) => isChrooted && clients.includes(program));
  if (!caged) return `unix:${address.path}`;
  throw new SetupError(
    `${key}: ${address.path} cannot be reached by ${caged.name}, which is chrooted in ${queueDir}; set ${key} to a path in there, or remove it`,
  );
};

const inetAddress = (key: string, {host, port}: Exclude<LocalAddress, {path: string}>): string => {
  if (port === 0) throw new SetupError(`${key}: Postfix must be told a port; set ${key} to one that is not 0`);
  const address = isWildcard(host) ? '127.0.0.1' : host;
  return `inet:${formatHostPort({host: address, port})}`;
};
