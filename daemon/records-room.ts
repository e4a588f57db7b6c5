// What is replicated, and the parts of it that are kept in memory.
import type {Ballast} from './hold/ballast.ts';
import {createConfiguration} from './services/configuration.ts';
import {createDomainDirectory} from './services/domain-directory.ts';
import {createKeyDirectory} from './services/key-directory.ts';
import {createNodeDirectory} from './services/node-directory.ts';
import {openPeerStates} from './services/peer-states.ts';
import type {Database} from './store/database.ts';
import {lastOutboxSeq} from './store/outbox.ts';

interface Needs {
  database: Database;
  nodeNo: number;
  ballast: Ballast;
}

export type Records = Awaited<ReturnType<typeof openRecords>>;

export const openRecords = async ({database, nodeNo, ballast}: Needs, now: () => number) => {
  const configuration = createConfiguration({database, nodeNo, now, withRoom: ballast.withRoom});
  const nodeDirectory = await createNodeDirectory(database, configuration);
  return {
    configuration,
    begunAt: await lastOutboxSeq(database.read),
    nodeDirectory,
    keyDirectory: await createKeyDirectory(database, configuration),
    domainDirectory: await createDomainDirectory(database, configuration),
    peerStates: await openPeerStates({
      database,
      directory: nodeDirectory,
      nodeNo,
      now,
      monotonic: () => performance.now(),
    }),
  };
};
