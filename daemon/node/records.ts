// Records of the configuration, as far as they are kept in memory. `replicated-records.ts` and `common-records.ts` open them.
import type {Logger} from 'pino';
import type {Config} from '../config/schema.ts';
import type {ReserveFile} from '../hold/reserve-file.ts';
import {createKeyDirectory, type KeyDirectory} from '../services/access/key-directory.ts';
import type {RequireFresh} from '../services/access/keys.ts';
import {createNodeDirectory, type Membership, type NodeDirectory, openMembership} from '../services/cluster/membership.ts';
import {openPeerStates, type PeerStates} from '../services/cluster/peer-states.ts';
import type {Presences} from '../services/cluster/presences.ts';
import {createDomainDirectory, type DomainDirectory} from '../services/domains/domain-directory.ts';
import type {ConfigStore, Store} from '../services/ports.ts';
import type {LiveSettings} from './live-settings.ts';

export interface Records {
  configuration: ConfigStore;
  membership: Membership;
  nodeDirectory: NodeDirectory;
  keyDirectory: KeyDirectory;
  domainDirectory: DomainDirectory;
  peerStates: PeerStates;
  requireFresh: RequireFresh;
}

/** What both makes of a store need to open the records. */
export interface RecordsNeeds {
  config: Pick<Config, 'cluster'>;
  nodeNo: number;
  reserveFile: ReserveFile;
  settings(): LiveSettings;
  log: Logger;
  now: () => number;
}

interface DirectoriesNeeds extends Pick<RecordsNeeds, 'config' | 'nodeNo' | 'reserveFile' | 'log' | 'now'> {
  store: Store;
  configuration: ConfigStore;
  /** The number of the last event of another node that this node has applied. */
  appliedOf(nodeNo: number): Promise<number>;
  presences?: Presences;
  requireFresh: RequireFresh;
}

export const openDirectories = async (needs: DirectoriesNeeds): Promise<Records> => {
  const {store, configuration, nodeNo, reserveFile, log, now} = needs;
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
    ...{membership, configuration, requireFresh: needs.requireFresh},
    nodeDirectory,
    keyDirectory: await createKeyDirectory(store, configuration),
    domainDirectory: await createDomainDirectory(store, configuration, {
      onUnreadableRetention: ({name}) =>
        log.warn(
          {domain: name},
          'this version cannot read how long mail of this domain is held: none of it expires; upgrade this node, or set the retention again',
        ),
    }),
    peerStates: await openPeerStates({
      store,
      directory: nodeDirectory,
      nodeNo,
      appliedOf: needs.appliedOf,
      ...(needs.presences && {presences: needs.presences}),
      intervalMs: needs.config.cluster.heartbeat_interval * 1000,
      now,
      monotonic: () => performance.now(),
    }),
  };
};
