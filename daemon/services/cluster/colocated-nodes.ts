// Detection of nodes that run on the same machine. It uses the addresses of their connections, not what the nodes claim.

import {canonicalHost, isLoopback, parseHostPort} from '../../../shared/host-port.ts';
import type {StoredNode} from '../records.ts';

export interface ColocatedNodes {
  /** Records the address from which a node has sent a request. */
  noteAddress(nodeNo: number, remoteAddress: string | null): void;
  /** Whether a request from `remoteAddress` comes from the machine of `node`. */
  areColocated(node: Pick<StoredNode, 'id' | 'cluster_url'>, remoteAddress: string | null): boolean;
}

interface Needs {
  nodeNo: number;
  /** The current addresses of this machine. */
  ownAddresses(): string[];
}

/** Stands for all addresses of this machine. */
const thisMachine = 'this machine';

export const createColocatedNodes = ({nodeNo, ownAddresses}: Needs): ColocatedNodes => {
  const lastAddress = new Map<number, string>();
  const machineOf = (address: string): string =>
    isLoopback(address) || ownAddresses().map(canonicalHost).includes(canonicalHost(address))
      ? thisMachine
      : canonicalHost(address);

  return {
    noteAddress(no, remoteAddress) {
      if (remoteAddress !== null) lastAddress.set(no, remoteAddress);
    },
    areColocated(node, remoteAddress) {
      if (remoteAddress === null) return false;
      // A node with a loopback URL can only be reached from this machine.
      const host = parseHostPort((node.cluster_url ?? '').replace(/^https:\/\//, ''))?.host ?? '';
      const isOnThisMachine = node.id === nodeNo || isLoopback(host);
      const address = lastAddress.get(node.id);
      const machine = isOnThisMachine ? thisMachine : address === undefined ? undefined : machineOf(address);
      return machine === machineOf(remoteAddress);
    },
  };
};
