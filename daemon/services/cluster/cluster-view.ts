// Status of the cluster, as this node sees it.
import type {ClusterStatus, DependencyPart, License, Peer, Problem} from '../../../shared/cluster-status.ts';
import {healthOf} from '../../../shared/health.ts';
import {permissionsOf} from '../../../shared/scopes.ts';
import type {Actor} from '../actor.ts';
import type {ConfigReads} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import type {NodeDirectory} from './membership.ts';
import {type DmarcState, shownDmarc} from './peer-protocol.ts';
import type {PeerStates} from './peer-states.ts';
import type {Presences} from './presences.ts';
import type {Refusals} from './refusals.ts';

export interface ClusterView {
  status(): Promise<ClusterStatus>;
  /** As a caller sees it: only full-admin keys learn where a store or a webhook is. */
  statusFor(actor: Pick<Actor, 'scope' | 'reach'>): Promise<ClusterStatus>;
}

interface Needs {
  config: Pick<ConfigReads, 'configHash'>;
  /** In a store that all nodes share. */
  presences?: Pick<Presences, 'of'>;
  directory: NodeDirectory;
  peerStates: PeerStates;
  refusals: Pick<Refusals, 'whyOfPeer' | 'peersThatRefuse'>;
  nodeId: string;
  nodeNo: number;
  hostname: string;
  /** Known once the API listens. */
  apiUrl(): string;
  license(): License;
  hasAuthority: boolean;
  dmarc(): DmarcState;
  problems(): Problem[];
  /** Since when this node is cut off from all other nodes, ISO 8601; undefined while it is not. */
  cutOffSince(): string | undefined;
  now: () => number;
}

export const createClusterView = (needs: Needs): ClusterView => {
  const {config, presences, directory, peerStates, refusals, nodeId, nodeNo, hostname, now} = needs;

  const isRefused = (node: StoredNode): boolean =>
    refusals.whyOfPeer(node.id) !== undefined || peerStates.latest(node.id)?.outbox_refused === true;

  const own = async (generatedAt: string): Promise<Peer> => {
    const {config_hash, changed_at_ms} = await config.configHash();
    return {
      node_id: nodeId,
      fqdn: directory.findByNo(nodeNo)?.fqdn ?? hostname,
      api_url: needs.apiUrl(),
      last_seen: presences?.of(nodeNo)?.lastSeen ?? generatedAt,
      healthy: healthOf(0),
      config_hash,
      config_hash_age_s: Math.max(0, Math.floor((now() - changed_at_ms) / 1000)),
      outbox_backlog_to_us: 0,
      license: licenseAt(needs.license(), now()),
      unanswered_since: null,
      unreachable_from: peerStates.unreachableFrom(nodeNo),
      config_differs_since: null,
      clock_skew_s: 0,
      outbox_refused: refusals.peersThatRefuse().some(no => directory.findByNo(no)),
      cut_off_since: needs.cutOffSince() ?? null,
      has_authority: needs.hasAuthority,
      ...shownDmarc(needs.dmarc()),
      problems: needs.problems(),
    };
  };

  const status = async (): Promise<ClusterStatus> => {
    const generated_at = new Date(now()).toISOString();
    const peers: Peer[] = [];
    for (const node of directory.list())
      if (node.id === nodeNo) peers.push(await own(generated_at));
      else peers.push({...(await peerStates.entryOf(node)), outbox_refused: isRefused(node), cut_off_since: null});
    // A removed node is not in its directory any more, but still lists itself.
    if (!directory.findByNo(nodeNo)) peers.unshift(await own(generated_at));
    return {local_node_id: nodeId, local_hostname: hostname, peers, generated_at};
  };

  return {
    status,
    async statusFor({scope, reach}) {
      const whole = await status();
      if (permissionsOf(scope, reach).includes('cluster:write')) return whole;
      return {...whole, peers: whole.peers.map(withoutAdminDetails)};
    },
  };
};

/** The detail of a problem with a store names its address and database, or a file; that of a webhook, a server inside. */
const adminParts: readonly string[] = ['store', 'webhook'] satisfies DependencyPart[];

const withoutAdminDetails = (peer: Peer): Peer => ({
  ...peer,
  ...(peer.problems && {
    problems: peer.problems.map(problem => (adminParts.includes(problem.part) ? {...problem, detail: hiddenDetail} : problem)),
  }),
});

const hiddenDetail = 'a full-admin key sees why';

/** The licence at a time: an expired one is not valid, whatever the configuration says. */
export const licenseAt = (license: License, nowMs: number): License => ({
  ...license,
  valid: license.valid && Date.parse(license.expires_at) > nowMs,
});
