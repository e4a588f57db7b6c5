// Replicated records, and the parts of them that are cached in memory.
import type {Logger} from 'pino';
import type {ReserveFile} from '../hold/reserve-file.ts';
import {createConfiguration} from '../replication/configuration.ts';
import {findDamagedRecords} from '../replication/rebuild.ts';
import {restampFuture} from '../replication/restamp.ts';
import {createKeyDirectory} from '../services/access/key-directory.ts';
import {createNodeDirectory, openMembership} from '../services/cluster/membership.ts';
import {openPeerStates} from '../services/cluster/peer-states.ts';
import {createDomainDirectory} from '../services/domains/domain-directory.ts';
import type {NodeStore} from '../services/node-store.ts';
import {CommandError} from './command-error.ts';

interface Needs {
  store: NodeStore;
  nodeNo: number;
  reserveFile: ReserveFile;
  log: Logger;
  now: () => number;
}

export type Records = Awaited<ReturnType<typeof openRecords>>;

export const openRecords = async ({store, nodeNo, reserveFile, log, now}: Needs) => {
  const damaged = await findDamagedRecords(store.records);
  if (damaged.length > 0)
    throw new CommandError(
      `the configuration has changed on the disk (${damaged.map(({kind, id}) => `${kind} ${id}`).join(', ')}); mfd repair takes these records out, or restore the database from a backup`,
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
  // The readable tables are derived from the records, which have been checked.
  await configuration.rebuild();
  const nodeDirectory = await createNodeDirectory(store, configuration);
  const membership = await openMembership({
    store,
    directory: nodeDirectory,
    nodeNo,
    now,
    withReserve: reserveFile.withReserve,
    onFailure: error => log.error({err: error}, 'the removal of this node could not be stored'),
  });
  membership.onRemoved(removal =>
    log.error(removal, 'this node was removed from its cluster: it serves no requests and accepts no mail; join it again'),
  );
  return {
    membership,
    configuration,
    begunAt: await store.outbox.last(),
    nodeDirectory,
    keyDirectory: await createKeyDirectory(store, configuration),
    domainDirectory: await createDomainDirectory(store, configuration),
    peerStates: await openPeerStates({
      store,
      directory: nodeDirectory,
      nodeNo,
      appliedOf: store.applied.of,
      now,
      monotonic: () => performance.now(),
    }),
  };
};
