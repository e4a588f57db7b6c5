// Rules for the backend servers of a domain that depend on more than the entry itself: the nodes, the actor, the networks.

import {isIP} from 'node:net';
import {maxBackends} from '../../../shared/domain-rules.ts';
import type {FieldFault} from '../../../shared/fault.ts';
import {canonicalHost, type HostPort, isLoopback, isWildcard, parseHostPort} from '../../../shared/host-port.ts';
import type {Actor} from '../access/actor.ts';
import {namesOf} from '../cluster/certificate-names.ts';
import type {StoredNode} from '../records.ts';

/** Faults of `wanted` as the new `backend_servers`, where `current` is the stored list. An unchanged list has no faults. */
export type BackendRules = (actor: Pick<Actor, 'scope'>, wanted: unknown, current: readonly string[]) => FieldFault[];

interface Needs {
  nodes: {list(): readonly StoredNode[]};
  /** The number of this node. */
  nodeNo: number;
  /** The networks to which a key for one domain may send mail; undefined for no restriction. */
  networks(): {contains(ip: string): boolean} | undefined;
}

export const createBackendRules = ({nodes, nodeNo, networks}: Needs): BackendRules => {
  /** An early check, to report the mistake before mail waits. The check at connection time decides (`clusterKeyword`). */
  const memberAt = (server: HostPort): StoredNode | undefined =>
    nodes.list().find(node => listensAt(node, server, node.id === nodeNo));

  const networkFault = ({host}: HostPort): string | undefined => {
    const allowed = networks();
    if (!allowed) return undefined;
    if (isIP(host) === 0)
      return 'must be an address: a key for one domain may set only servers inside smtp.backend_networks, and a host name can be pointed elsewhere later';
    return allowed.contains(host)
      ? undefined
      : 'must be inside smtp.backend_networks; ask an administrator of the cluster to set it';
  };

  return (actor, wanted, current) => {
    if (!Array.isArray(wanted) || isSame(wanted, current)) return [];
    return wanted.slice(0, maxBackends).flatMap((entry: unknown, n) => {
      const server = typeof entry === 'string' ? parseHostPort(entry) : undefined;
      if (!server) return [];
      const isLimited = actor.scope === 'domain-admin' && !current.includes(String(entry));
      const member = memberAt(server);
      const detail = member ? memberFault(member) : isLimited ? networkFault(server) : undefined;
      return detail === undefined ? [] : [{path: `backend_servers.${n}`, detail}];
    });
  };
};

const isSame = (wanted: unknown[], current: readonly string[]): boolean =>
  wanted.length === current.length && wanted.every((entry, n) => entry === current[n]);

const memberFault = ({node_id}: StoredNode): string =>
  `is the SMTP listener of ${node_id}, a node of this cluster: mail would go in circles; name the mail server of the domain`;

/** On every node, loopback means that node itself, so a loopback entry is compared only with the node on which it is set. */
const listensAt = (node: StoredNode, {host, port}: HostPort, isThisNode: boolean): boolean => {
  const listener = parseHostPort(node.smtp_listen ?? '');
  if (listener?.port !== port) return false;
  if (isThisNode && isOfThisMachine(host) && isOfThisMachine(listener.host)) return true;
  const addresses = isWildcard(listener.host) ? [] : [canonicalHost(listener.host)];
  return [...namesOf(node), ...addresses].includes(canonicalHost(host));
};

const isOfThisMachine = (host: string): boolean => isLoopback(host) || isWildcard(canonicalHost(host));
