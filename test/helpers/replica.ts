// Configurations of several nodes in one process that replicate without a network.

import {type Configuration, createConfiguration} from '../../daemon/replication/configuration.ts';
import {createReplication} from '../../daemon/replication/replication.ts';
import type {Replication} from '../../daemon/services/cluster/replication-ports.ts';
import type {ConfigTransaction} from '../../daemon/services/ports.ts';
import {newFields} from './config-history.ts';
import {type Teardown, type TestStore, testStore} from './store.ts';

export interface Replica {
  nodeNo: number;
  store: TestStore;
  configuration: Configuration;
  replication: Replication;
}

export const everything = {limit: 1000, maxChars: Number.MAX_SAFE_INTEGER};

/** The identity of a replica as a sender. */
export const sender = (nodeNo: number) => ({nodeId: `mx${nodeNo}`, nodeNo});

export const createReplica = async (t: Teardown, nodeNo: number, now = Date.now): Promise<Replica> => {
  const {store} = await testStore(t, {isDurable: false});
  const configuration = createConfiguration({store, nodeNo, now});
  const nameOf = (no: number) => sender(no).nodeId;
  return {nodeNo, store, configuration, replication: createReplication({store, configuration, nodeNo, now, nameOf})};
};

export const addDomain = async ({configuration}: Replica, name: string): Promise<number> =>
  configuration.change(async (tx: ConfigTransaction) => {
    const id = await tx.nextId('domain');
    await tx.create('domain', id, {...newFields.domain(name), backend_servers: ['127.0.0.1:25'], created_at: tx.at});
    return id;
  });

/** Sends everything that `from` has and `to` has not applied; resolves with the answer of `to`. */
export const send = async (from: Replica, to: Replica, after?: number) => {
  const applied = (await to.replication.applied()).get(from.nodeNo) ?? 0;
  return to.replication.receive(sender(from.nodeNo), await from.replication.batchAfter(after ?? applied, everything));
};

export const catchUp = async (from: Replica, to: Replica): Promise<void> => {
  const page = await from.replication.recordsPage(undefined);
  await to.replication.recover(page.applied[to.nodeNo] ?? 0);
  await to.replication.merge(page.records, {node: sender(from.nodeNo), path: 'snapshot'});
  await to.replication.caughtUp(page.applied);
};

export const hashOf = async ({store}: Replica): Promise<string> => (await store.config.configHash()).config_hash;
