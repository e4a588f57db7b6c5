// Changes of the nodes from one cluster status to the next.
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import {type Drift, driftOf} from './drift.ts';
import {clockProblem, isCutOff} from './node-condition.ts';

type DriftState = 'none' | 'differs' | 'drift';

export interface NodeState extends Peer {
  /** `differs`: its configuration is not that of most nodes; `drift`: and has not been for too long. */
  drift: DriftState;
}

/** The member that changed. `seen` and `removed` concern the node as a whole. */
const changeKinds = [
  'seen',
  'removed',
  'health',
  'config',
  'drift',
  'backlog',
  'license',
  'answer',
  'reach',
  'clock',
  'refusal',
  'contact',
] as const;
type ChangeKind = (typeof changeKinds)[number];

export interface NodeChange extends NodeState {
  /** When the answering node reported it. */
  at: string;
  changed: ChangeKind[];
  /** Undefined for a node that is seen for the first time. */
  before: NodeState | undefined;
}

interface ClusterChanges {
  /** In the order of the nodes; first all of them, then those that changed. */
  since(status: ClusterStatus): NodeChange[];
}

export const createClusterChanges = (): ClusterChanges => {
  let known = new Map<string, NodeState>();
  return {
    since(status) {
      const {peers, generated_at: at} = status;
      const drift = driftOf(status);
      const states = new Map(peers.map(peer => [peer.node_id, {...peer, drift: driftStateOf(peer, drift)}]));
      const changes = [...states.values()].flatMap(state => {
        const before = known.get(state.node_id);
        const changed: ChangeKind[] = before ? changesOf(before, state) : ['seen'];
        return changed.length > 0 ? [{...state, at, changed, before}] : [];
      });
      const gone = [...known.values()].filter(({node_id}) => !states.has(node_id));
      known = states;
      return [...changes, ...gone.map(before => ({...before, at, changed: ['removed'] satisfies ChangeKind[], before}))];
    },
  };
};

const driftStateOf = ({node_id}: Peer, drift: Drift | undefined): DriftState => {
  if (!drift?.oddNodes.includes(node_id)) return 'none';
  return drift.isAlarm ? 'drift' : 'differs';
};

const changesOf = (before: NodeState, now: NodeState): ChangeKind[] => {
  const watched: [ChangeKind, (state: NodeState) => unknown][] = [
    ['health', state => state.healthy],
    ['config', state => state.config_hash],
    ['drift', state => state.drift],
    ['backlog', state => state.outbox_backlog_to_us],
    ['answer', state => (state.unanswered_since ?? null) === null],
    ['reach', state => (state.unreachable_from ?? []).join()],
    ['clock', clockProblem],
    ['refusal', state => state.outbox_refused === true],
    ['contact', isCutOff],
    ['license', ({license}) => [license.valid, license.type, license.status, license.expires_at].join()],
  ];
  return watched.filter(([, of]) => of(before) !== of(now)).map(([kind]) => kind);
};
