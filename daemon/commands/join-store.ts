// Store of a node that joins: that of the cluster, which must be reachable before the node is admitted.
import {CommandError} from '../node/command-error.ts';
import {clusterFingerprint} from '../node/identity-file.ts';
import {inspectPostgres} from '../store/postgres/inspect.ts';
import type {Ticket} from './join-request.ts';
import {type NewNode, type NewNodeOptions, planNode} from './new-node.ts';

interface Wanted {
  planned: NewNode;
  options: NewNodeOptions;
  /** The `store.url` of the cluster; undefined when every node of it has a store of its own. */
  storeUrl: string | undefined;
}

/** The plan with the store of the cluster. Refuses a node whose options or configuration name another kind of store. */
export const withStoreOfCluster = async ({planned, options, storeUrl}: Wanted): Promise<NewNode> => {
  const {storePasswordFile, storeCaFile} = options;
  if (storeUrl !== undefined) return planned.store ? planned : planNode({...options, storeUrl, nodeId: planned.nodeId});
  if (planned.store || storePasswordFile !== undefined || storeCaFile !== undefined)
    throw new CommandError(
      'every node of this cluster has a store of its own (SQLite), and this one must too: leave out --store-url, --store-password-file and --store-ca-file, and store in mfd.yaml; nothing was done. mfd migrate moves a cluster to PostgreSQL',
    );
  return planned;
};

/** Refuses a database that cannot be used, or is not the one of the cluster; resolves with warnings. */
export const checkStoreOf = async (
  {store}: Pick<NewNode, 'store'>,
  {caFingerprint}: Pick<Ticket, 'caFingerprint'>,
): Promise<string[]> => {
  if (!store) return [];
  try {
    const {hasCluster, warnings} = await inspectPostgres(store, clusterFingerprint(caFingerprint));
    if (!hasCluster) throw new CommandError(`the database ${store.database} is empty, so it is not that of the cluster`);
    return warnings;
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new CommandError(
      `the store of the cluster cannot be used from here: ${why}; nothing was done. --store-url, --store-password-file and --store-ca-file say how to reach it`,
    );
  }
};
