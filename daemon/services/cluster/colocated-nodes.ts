// Which nodes are on one machine, as far as that can be seen and need not be believed: their connections come from one address.

import {canonicalHost, isLoopback, parseHostPort} from '../../../shared/host-port.ts';
import type {StoredNode} from '../records.ts';

export interface ColocatedNodes {
  /** A node has asked something, from that address. */
  noteAddress(nodeNo: number, remoteAddress: string | null): void;
  /** Whether who asks from that address does so from the machine `node` is on. */
  areTogether(node: Pick<StoredNode, 'id' | 'cluster_url'>, remoteAddress: string | null): boolean;
}

interface Needs {
  nodeNo: number;
  /** Of this machine, at the moment. */
  ownAddresses(): string[];
}

/** The address of this machine, whichever of them was used. */
const here = 'here';

export const createColocatedNodes = ({nodeNo, ownAddresses}: Needs): ColocatedNodes => {
  const heardFrom = new Map<number, string>();
  const placeOf = (address: string): string =>
    isLoopback(address) || ownAddresses().map(canonicalHost).includes(canonicalHost(address)) ? here : canonicalHost(address);

  return {
    noteAddress(no, remoteAddress) {
      if (remoteAddress !== null) heardFrom.set(no, remoteAddress);
    },
    areTogether(node, remoteAddress) {
      if (remoteAddress === null) return false;
      // Others can reach a node on loopback from this machine only.
      const at = parseHostPort((node.cluster_url ?? '').replace(/^https:\/\//, ''))?.host ?? '';
      const isHere = node.id === nodeNo || isLoopback(at);
      const from = heardFrom.get(node.id);
      const place = isHere ? here : from === undefined ? undefined : placeOf(from);
      return place === placeOf(remoteAddress);
    },
  };
};
