// Drift detection: two nodes applied the same events but their configurations differ, because something was lost in transit or on
// a disk. They compare their records, report the differences, and each applies the records of the other.

import type {ClusterDrift, DriftRecord} from '../../shared/cluster-drift.ts';
import {Fault} from '../../shared/fault.ts';
import {ownValue} from '../../shared/has-own.ts';
import type {Json} from '../../shared/merge-patch.ts';
import type {NodeDirectory} from '../services/cluster/membership.ts';
import type {Heartbeat} from '../services/cluster/peer-protocol.ts';
import type {PeerStates} from '../services/cluster/peer-states.ts';
import type {Refusals} from '../services/cluster/refusals.ts';
import type {RemoteRecords, Replication} from '../services/cluster/replication-ports.ts';
import type {Store} from '../services/ports.ts';
import {isComplete} from '../services/readable-record.ts';
import type {ConfigRecord, RecordKey} from '../services/records.ts';
import type {Configuration} from './configuration.ts';

export interface Drift {
  /** Compares a received heartbeat with the configuration of this node. */
  compare(heartbeat: Heartbeat): Promise<void>;
  /**
   * Repairs from peers that have differed for long enough and calls `onRepair` with the result. Tries all peers, then rejects if
   * one failed; failed peers are tried again after the same interval.
   */
  repair(peers: readonly RemoteRecords[]): Promise<void>;
  /** Reads every record of every node. One comparison runs at a time, and callers that arrive meanwhile share its result. */
  explain(peers: readonly RemoteRecords[]): Promise<ClusterDrift>;
}

interface Needs {
  refusals: Pick<Refusals, 'ofPeer'>;
  differences: RecordDifferences;
  store: Store;
  configuration: Configuration;
  replication: Replication;
  directory: NodeDirectory;
  peerStates: PeerStates;
  nodeId: string;
  afterMs(): number;
  now: () => number;
  monotonic: () => number;
  onRepair(repair: {node: string; records: number; differing: string[]}): void;
}

const shownPerNode = 100;
const keptRepairs = 20;

export const createDrift = (needs: Needs): Drift => {
  const {store, configuration, replication, directory, peerStates, refusals, differences, nodeId, now, monotonic} = needs;
  const since = new Map<number, number>();
  /** The time of the last failed repair, by node number. */
  const failedAt = new Map<number, number>();
  const repairs: ClusterDrift['repairs'] = [];

  /** Whether both nodes have applied the same events of every known node, so their configurations can be compared. */
  const isComparable = async ({applied}: Heartbeat): Promise<boolean> => {
    const own = await replication.applied();
    return directory.list().every(({id}) => (own.get(id) ?? 0) === (ownValue(applied, id) ?? 0));
  };

  const agree = (nodeNo: number): void => {
    refusals.ofPeer(nodeNo, 'records', undefined);
    since.delete(nodeNo);
    failedAt.delete(nodeNo);
  };

  const isDue = ({nodeNo}: RemoteRecords): boolean => {
    const began = failedAt.get(nodeNo) ?? since.get(nodeNo);
    return began !== undefined && monotonic() - began >= needs.afterMs();
  };

  const repairFrom = async (peer: RemoteRecords): Promise<void> => {
    const applied = await differences.apply(peer, 'repair');
    // The peer fetches what it lacks.
    if (applied.length === 0) return;
    repairs.unshift({at: new Date(now()).toISOString(), node_id: peer.nodeId, records: applied.length});
    repairs.splice(keptRepairs);
    const names = applied.slice(0, shownPerNode).map(({kind, id}) => `${kind}/${id}`);
    needs.onRepair({node: peer.nodeId, records: applied.length, differing: names});
  };

  const explain: Drift['explain'] = async peers => {
    const {config_hash} = await store.config.configHash();
    const compared = await Promise.all(peers.map(async peer => explainOne(needs, peer).catch(() => undefined)));
    return {
      local_node_id: nodeId,
      config_hash,
      nodes: peers.map((peer, n) => {
        const began = since.get(peer.nodeNo);
        return {
          node_id: peer.nodeId,
          config_hash: peerStates.latest(peer.nodeNo)?.config_hash ?? '',
          differs_since: began === undefined ? null : new Date(now() - (monotonic() - began)).toISOString(),
          differing_records: compared[n]?.count ?? null,
        };
      }),
      records: compared.flatMap(one => one?.records ?? []),
      repairs: [...repairs],
      generated_at: new Date(now()).toISOString(),
    };
  };

  return {
    async compare(heartbeat) {
      const {node_no} = heartbeat;
      const wasComparable = await isComparable(heartbeat);
      const {config_hash} = await store.config.configHash();
      peerStates.compared(node_no, config_hash === heartbeat.config_hash);
      // Checked twice: a change that was committed between the two reads is in only one of them.
      const hasDrifted = wasComparable && (await isComparable(heartbeat)) && config_hash !== heartbeat.config_hash;
      // Events in transit may explain the difference: it counts only when none are left.
      if (!hasDrifted) agree(node_no);
      else if (!since.has(node_no)) since.set(node_no, monotonic());
    },

    async repair(peers) {
      const due = peers.filter(isDue);
      if (due.length === 0) return;
      // An error in this node's own hash is not a difference between nodes.
      await configuration.rebuild();
      const failures: unknown[] = [];
      for (const peer of due)
        try {
          await repairFrom(peer);
          agree(peer.nodeNo);
        } catch (error) {
          failures.push(error);
          if (since.has(peer.nodeNo)) failedAt.set(peer.nodeNo, monotonic());
        }
      // Prefer a bug over an unreachable peer, which is tried again.
      const worst = failures.find(error => !(error instanceof Fault)) ?? failures[0];
      if (worst !== undefined) throw worst;
    },

    explain: oneAtATime(explain),
  };
};

/** Callers that arrive during a comparison get its result. */
const oneAtATime = (explain: Drift['explain']): Drift['explain'] => {
  let running: Promise<ClusterDrift> | undefined;
  return async peers => {
    running ??= explain(peers).finally(() => {
      running = undefined;
    });
    return running;
  };
};

const explainOne = async ({differences, replication}: Needs, peer: RemoteRecords) => {
  const keys = await differences.find(peer);
  const shown = keys.slice(0, shownPerNode);
  const [here, there] = shown.length === 0 ? [[], []] : await Promise.all([replication.records(shown), peer.records(shown)]);
  const records = shown.map(key => differenceOf({key, nodeId: peer.nodeId, here: find(here, key), there: find(there, key)}));
  return {count: keys.length, records};
};

const find = (records: ConfigRecord[], {kind, id}: RecordKey): ConfigRecord | undefined =>
  records.find(record => record.kind === kind && record.id === id);

interface Compared {
  key: RecordKey;
  nodeId: string;
  here: ConfigRecord | undefined;
  there: ConfigRecord | undefined;
}

/** Also the address of a webhook, which may hold what lets anybody write there: other keys than full-admin ones see these differences. */
const secretFields = ['key_hash', 'private_key_pem', 'secret', 'url'];

const differenceOf = ({key: {kind, id}, nodeId, here, there}: Compared): DriftRecord => {
  const names = new Set([...Object.keys(here?.fields ?? {}), ...Object.keys(there?.fields ?? {})]);
  const fields = [...names].sort().flatMap(name => {
    const [mine, theirs] = [valueIn(here, name), valueIn(there, name)];
    if (JSON.stringify(mine) === JSON.stringify(theirs)) return [];
    return [secretFields.includes(name) ? {name, here: '(secret)', there: '(another)'} : {name, here: mine, there: theirs}];
  });
  const named = here?.fields.name ?? there?.fields.name ?? here?.fields.node_id ?? here?.fields.selector;
  const name = typeof named?.[0] === 'string' ? named[0] : null;
  return {node_id: nodeId, kind, id, name, here: presenceOf(here), there: presenceOf(there), fields};
};

const valueIn = (record: ConfigRecord | undefined, name: string): Json => (record && ownValue(record.fields, name)?.[0]) ?? null;

const presenceOf = (record: ConfigRecord | undefined): DriftRecord['here'] => {
  if (!record) return 'absent';
  if (record.deleted !== null) return 'deleted';
  return isComplete(record) ? 'live' : 'absent';
};

export interface RecordDifferences {
  /** The records that differ between this node and the peer. */
  find(peer: RemoteRecords): Promise<RecordKey[]>;
  /** Fetches all differing records and applies those that the peer may change; resolves with what changed here. */
  apply(peer: RemoteRecords, path: 'repair' | 'snapshot'): Promise<RecordKey[]>;
}

interface RecordDifferencesNeeds {
  replication: Replication;
  refusals: Pick<Refusals, 'ofPeer'>;
}

const recordsPerRequest = 250;

export const createRecordDifferences = ({replication, refusals}: RecordDifferencesNeeds): RecordDifferences => {
  const find: RecordDifferences['find'] = async peer => {
    const own = await collectDigests(async after => replication.digestsPage(after));
    const theirs = await collectDigests(async after => peer.digestsPage(after));
    const keys = new Map([...own, ...theirs]);
    return [...keys].filter(([name]) => own.get(name)?.digest !== theirs.get(name)?.digest).map(([, {kind, id}]) => ({kind, id}));
  };

  return {
    find,
    async apply(peer, path) {
      const keys = await find(peer);
      const applied: RecordKey[] = [];
      const left: string[] = [];
      for (let from = 0; from < keys.length; from += recordsPerRequest) {
        const records = await peer.records(keys.slice(from, from + recordsPerRequest));
        const {changed, leftOut} = await replication.merge(records, {node: peer, path});
        applied.push(...changed.map(({after: {kind, id}}) => ({kind, id})));
        if (leftOut !== '') left.push(leftOut);
      }
      refusals.ofPeer(peer.nodeNo, 'records', left.length === 0 ? undefined : left.join(', '));
      return applied;
    },
  };
};

/** All pages of digests, by record name. */
const collectDigests = async (
  page: (after: RecordKey | undefined) => ReturnType<Replication['digestsPage']>,
): Promise<Map<string, RecordKey & {digest: string}>> => {
  const all = new Map<string, RecordKey & {digest: string}>();
  let after: RecordKey | undefined;
  do {
    const {digests, next} = await page(after);
    for (const [kind, id, digest] of digests) all.set(`${kind}/${id}`, {kind, id, digest});
    after = next ?? undefined;
  } while (after);
  return all;
};
