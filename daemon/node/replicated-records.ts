// Records of a node that has a store of its own: they are checked when the node starts.
import {createConfiguration} from '../replication/configuration.ts';
import {findDamagedRecords} from '../replication/rebuild.ts';
import {restampFuture} from '../replication/restamp.ts';
import type {NodeStore} from '../services/node-store.ts';
import type {OpenCluster} from './cluster.ts';
import {CommandError} from './command-error.ts';
import {openDirectories, type Records, type RecordsNeeds} from './records.ts';
import {openReplicatedCluster} from './replicated-cluster.ts';

export const openReplicatedRecords = async (
  store: NodeStore,
  needs: RecordsNeeds,
): Promise<{records: Records; openCluster: OpenCluster}> => {
  const {nodeNo, reserveFile, log, now} = needs;
  const damaged = await findDamagedRecords(store.records);
  if (damaged.length > 0)
    throw new CommandError(
      `the configuration has changed on the disk (${damaged.map(({kind, id}) => `${kind} ${id}`).join(', ')}); mfd repair removes these records, or restore the database from a backup`,
    );
  const restampedCount = await reserveFile.withReserve(async () => restampFuture(store, now()));
  if (restampedCount > 0)
    log.warn({count: restampedCount}, 'configuration timestamps more than a day ahead of this clock were corrected');
  const configuration = createConfiguration({
    store,
    nodeNo,
    now,
    withReserve: reserveFile.withReserve,
    onListenerFailure: error => log.error({err: error}, 'a stored change could not be applied; retrying'),
    onUnknownKinds: unknown =>
      log.warn(
        {kinds: unknown},
        'another node sent record kinds that this version does not know; they were ignored; upgrade this node',
      ),
  });
  await configuration.rebuild();
  const records = await openDirectories({
    ...needs,
    store,
    configuration,
    appliedOf: store.applied.of,
    // Every change of another node arrives late: nobody waits for the others.
    requireFresh: () => {},
  });
  const own = {store, configuration, begunAt: await store.outbox.last()};
  return {records, openCluster: (base, version, closers) => openReplicatedCluster(base, own, {version, closers})};
};
