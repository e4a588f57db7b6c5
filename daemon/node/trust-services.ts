// Services that admit nodes to the cluster, issue their certificates and remove them.
import {networkInterfaces} from 'node:os';
import {isTokenFor} from '../cluster/authority.ts';
import type {Keys} from '../services/access/keys.ts';
import type {Authorities} from '../services/cluster/authority.ts';
import {createColocatedNodes} from '../services/cluster/colocated-nodes.ts';
import {createIssuedNames} from '../services/cluster/issued-names.ts';
import {createJoinTokens} from '../services/cluster/join-tokens.ts';
import {createJoining} from '../services/cluster/joining.ts';
import {createNodeAnnouncement} from '../services/cluster/node-announcement.ts';
import type {PeerActors} from '../services/cluster/peer-actors.ts';
import {createRemoval} from '../services/cluster/removal.ts';
import type {AwaitReplication, Store} from '../services/ports.ts';
import type {Records} from './records.ts';
import type {Trust} from './trust.ts';

interface Needs {
  store: Store;
  nodeNo: number;
  records: Pick<Records, 'configuration' | 'nodeDirectory'>;
  trust: Pick<Trust, 'ca' | 'hasAuthority'>;
  authorities: Authorities;
  keys: Pick<Keys, 'list'>;
  actors: PeerActors;
  awaitReplication: AwaitReplication;
  now: () => number;
}

export const createTrustServices = ({store, nodeNo, records, trust, authorities, keys, actors, now, ...needs}: Needs) => {
  const {configuration, nodeDirectory: directory} = records;
  const colocatedNodes = createColocatedNodes({nodeNo, ownAddresses});
  const issuedNames = createIssuedNames({store, hasAuthority: trust.hasAuthority, nodes: directory.list});
  const common = {configuration, authorities, directory, nodeNo, now};
  return {
    colocatedNodes,
    issuedNames,
    announcement: createNodeAnnouncement({configuration, nodeNo}),
    joinTokens: createJoinTokens({...common, actors, isOurs: token => isTokenFor(trust.ca, token)}),
    joining: createJoining({...common, store, issuedNames, colocatedNodes}),
    removal: createRemoval({...common, keys, awaitReplication: needs.awaitReplication}),
  };
};

const ownAddresses = (): string[] => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address));
