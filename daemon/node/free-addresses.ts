// Check of all addresses before a node opens its listeners: one error names every address that is in use or forbidden, its key,
// and the file to change.

import {once} from 'node:events';
import {connect, createServer, type Server} from 'node:net';
import {hasOwn} from '../../shared/has-own.ts';
import {canonicalHost, formatHostPort, type HostPort, isWildcard, parseHostPort} from '../../shared/host-port.ts';
import type {Config} from '../config/schema.ts';
import {formatLocalAddress, type LocalAddress, parseLocalAddress} from '../mail/local-listener.ts';
import {CommandError} from './command-error.ts';

/** `file` is the configuration file with the addresses. `advice` follows the list of problems. */
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
  const forbidden: string[] = [];
  // Kept open until all were tried: two keys may have the same address.
  const held: Server[] = [];
  try {
    for (const [key, text] of Object.entries(listens)) {
      const address = text === undefined ? undefined : parseLocalAddress(text);
      if (address === undefined) continue;
      const problem = await problemOf(address, held);
      const variable = `MFD_${key.replace('.', '_').toUpperCase()}`;
      const named = (what: string) => `${key} ${formatLocalAddress(address)} ${what} (${file} or ${variable})`;
      if (problem === 'taken') taken.push(named('is in use'));
      if (problem === 'forbidden') forbidden.push(named('needs the right to bind ports below 1024'));
    }
  } finally {
    for (const server of held) server.close();
    await Promise.all(held.map(async server => once(server, 'close')));
  }
  const problems = [
    ...(forbidden.length > 0 ? [`${forbidden.join('; ')}: ${howToGetIt}`] : []),
    ...(taken.length > 0 ? [`${taken.join('; ')}; stop what listens there, or choose another address`] : []),
  ];
  if (problems.length > 0) throw new CommandError(`${problems.join('; ')}${advice}`);
};

/** capabilities(7), ip(7). A capability in the unit has no effect if the unit puts the service into a user namespace. */
const howToGetIt =
  'under systemd AmbientCapabilities=CAP_NET_BIND_SERVICE and PrivateUsers=no in a drop-in (systemctl edit mfd; the head of mfd.service has it), elsewhere sysctl net.ipv4.ip_unprivileged_port_start or setcap cap_net_bind_service=+ep for the node program; or choose a port from 1024 on';

const firstUnprivilegedPort = 1024;

/** Other errors are reported when the listener opens. */
const problemOf = async (address: LocalAddress, held: Server[]): Promise<'taken' | 'forbidden' | undefined> => {
  if (hasOwn(address, 'path')) return (await hasListener(address.path)) ? 'taken' : undefined;
  const server = createServer();
  try {
    server.listen(address.port, address.host);
    await once(server, 'listening');
    held.push(server);
    return undefined;
  } catch (error) {
    const {code} = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') return 'taken';
    return code === 'EACCES' && address.port < firstUnprivilegedPort ? 'forbidden' : undefined;
  }
};

/** A socket without a listener is a leftover, and will be replaced. */
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

export const listenOf = (text: string): HostPort => parseHostPort(text, {allowZero: true}) ?? {host: '127.0.0.1', port: 0};

/** The address of a listener for other hosts, as far as this node knows it. Behind NAT it does not: see `advertise`. */
const advertised = (listen: string, fqdn: string, {port}: Pick<HostPort, 'port'>): string => {
  const {host} = listenOf(listen);
  return formatHostPort({host: isWildcard(host) ? fqdn : canonicalHost(host), port});
};

export const apiUrl = ({api}: Config, fqdn: string, address: HostPort): string =>
  `https://${api.advertise ?? advertised(api.listen, fqdn, address)}`;

export const clusterUrl = ({cluster}: Config, fqdn: string, address: HostPort): string =>
  `https://${cluster.advertise ?? advertised(cluster.listen, fqdn, address)}`;
