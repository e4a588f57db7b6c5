// Removal of nodes from the cluster. It is permanent: a node's certificate contains its number, and the number is never reused.

import type {ApiKey} from '../../../shared/api-key.ts';
import type {ClusterNode, RemovedNode} from '../../../shared/cluster-node.ts';
import {Fault} from '../../../shared/fault.ts';
import type {Actor} from '../actor.ts';
import type {AwaitReplication, ConfigReads, ConfigStore, ConfigTransaction} from '../ports.ts';
import {makerOf, type StoredApiKey, type StoredNode} from '../records.ts';
import type {Authorities} from './authority.ts';
import type {NodeDirectory} from './membership.ts';

export interface Removal {
  /** The node, with the API keys that were created on it. */
  describe(nodeId: string): Promise<ClusterNode>;
  /**
   * Resolves when every reachable node refuses the removed one, with the ids of the unreachable nodes. `removed` is null unless
   * `revokesKeys` is set.
   */
  remove(actor: Actor, nodeId: string, options: RemovalOptions): Promise<{unreachable: string[]; removed: RemovedNode | null}>;
}

interface RemovalOptions {
  isForced: boolean;
  /** Also revokes the API keys that were created on the node, except the caller's own. */
  revokesKeys: boolean;
}

interface Needs {
  configuration: ConfigStore;
  directory: Pick<NodeDirectory, 'findById'>;
  keys: {list(): Promise<ApiKey[]>};
  authorities: Authorities;
  nodeNo: number;
  awaitReplication: AwaitReplication;
  /** Whether a removed node still knows the password of the store that the others use. */
  sharesStore?: boolean;
}

export const createRemoval = (needs: Needs): Removal => {
  const {configuration, directory, keys, authorities, nodeNo, awaitReplication, sharesStore = false} = needs;
  const requireRemovable = async (node: StoredNode, isForced: boolean): Promise<void> => {
    if (node.id === nodeNo) throw new Fault('conflict', `${node.node_id} is the node you ask; have another node remove it`);
    const holders = await authorities.holders();
    const isLastHolder = holders.length === 1 && holders[0]?.id === node.id;
    if (isLastHolder && !isForced)
      throw new Fault(
        'conflict',
        `${node.node_id} is the only node known to have the key of the cluster’s authority, without which no node can join or renew its certificates; copy its tls/ca.key into tls/ of another node and restart that one first, or repeat with ?force=true`,
      );
  };

  return {
    async describe(nodeId) {
      const node = directory.findById(nodeId);
      if (!node) throw unknown(nodeId);
      const {id, node_id, fqdn, created_at} = node;
      const createdKeys = (await keys.list()).filter(key => isCreatedOn(id, key));
      return {node_id, node_no: id, fqdn, joined_at: created_at, shares_store: sharesStore, keys: createdKeys};
    },

    async remove(actor, nodeId, {isForced, revokesKeys}) {
      const removed = await configuration.change(async tx => {
        const node = (await tx.config.listNodes()).find(({node_id}) => node_id === nodeId);
        if (!node) throw unknown(nodeId);
        await requireRemovable(node, isForced);
        await tx.remove('node', node.id);
        const details = [`number ${node.id}`, ...(isForced ? ['forced'] : []), ...(sharesStore ? [passwordAdvice] : [])];
        await tx.audit(actor, 'cluster.remove', nodeId, details.join(', '));
        return revokesKeys ? revokeKeys(tx, actor, await activeKeysOf(tx.config, node)) : null;
      });
      return {unreachable: await awaitReplication(), removed};
    },
  };
};

const passwordAdvice = 'it still knows the password of the store: change it';

const isCreatedOn = (nodeNo: number, {id}: {id: number}): boolean => makerOf({kind: 'api_key', id}) === nodeNo;

const activeKeysOf = async (config: ConfigReads, node: StoredNode): Promise<StoredApiKey[]> =>
  (await config.listApiKeys()).filter(key => isCreatedOn(node.id, key) && key.revoked_at === null);

/** Does not revoke the caller's own key, so that the caller is not locked out. */
const revokeKeys = async (tx: ConfigTransaction, actor: Actor, found: StoredApiKey[]): Promise<RemovedNode> => {
  const revoked = found.filter(({id}) => id !== actor.keyId);
  for (const {id, name} of revoked) {
    await tx.update('api_key', id, {revoked_at: tx.at});
    await tx.audit(actor, 'key.revoke', String(id), `${name}, made on a node that was removed`);
  }
  return {
    revoked_key_ids: revoked.map(({id}) => id),
    kept_key_ids: found.filter(({id}) => id === actor.keyId).map(({id}) => id),
  };
};

const unknown = (nodeId: string): Fault => new Fault('unknown_node', `there is no node ${nodeId} in this cluster`);
