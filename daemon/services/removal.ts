// Taking a node out of the cluster, for good: its number is never given again, and its certificate names that number.
import {Fault} from '../../shared/fault.ts';
import {listNodes} from '../store/node.ts';
import type {Authorities} from './authority.ts';
import type {Configuration} from './configuration.ts';
import type {Actor, Spread} from './ports.ts';

export interface Removal {
  /** Resolves once every node that can be reached refuses it, with the ids of those that could not be told. */
  remove(actor: Actor, nodeId: string, isForced: boolean): Promise<{unreachable: string[]}>;
}

interface Needs {
  configuration: Configuration;
  authorities: Authorities;
  nodeNo: number;
  spread: Spread;
}

export const createRemoval = ({configuration, authorities, nodeNo, spread}: Needs): Removal => ({
  async remove(actor, nodeId, isForced) {
    const holders = await authorities.holders();
    await configuration.change(async draft => {
      const node = (await listNodes(await draft.tables())).find(({node_id}) => node_id === nodeId);
      if (!node) throw new Fault('unknown_node', `there is no node ${nodeId} in this cluster`);
      if (node.id === nodeNo) throw new Fault('conflict', `${nodeId} is the node you ask; have another node remove it`);
      const isLastHolder = holders.length === 1 && holders[0]?.id === node.id;
      if (isLastHolder && !isForced)
        throw new Fault(
          'conflict',
          `${nodeId} is the only node known to have the key of the cluster’s authority, without which no node can join or renew its certificates; copy its tls/ca.key into tls/ of another node and restart that one first, or repeat with ?force=true`,
        );
      await draft.remove('node', node.id);
      await draft.audit(actor, 'cluster.remove', nodeId, `number ${node.id}${isForced ? ', forced' : ''}`);
    });
    return {unreachable: await spread()};
  },
});
