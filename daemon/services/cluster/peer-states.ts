// What this node knows of each other node: what it last said, and when that was, by this node's own clock.

import type {License, Peer} from '../../../shared/cluster-status.ts';
import {type Health, healthOf, isHeardDespite} from '../../../shared/health.ts';
import type {Store} from '../../services/ports.ts';
import type {StoredNode} from '../records.ts';
import {parseSafely} from '../safe-parse.ts';
import type {NodeDirectory} from './node-directory.ts';
import {type Heartbeat, heartbeatSchema} from './peer-protocol.ts';
import {createPeerSilences} from './peer-silences.ts';

export interface PeerStates {
  /** A heartbeat has come from a node, or the answer to one. */
  received(heartbeat: Heartbeat): void;
  /** The node has answered a heartbeat of this one, or has not. */
  answered(nodeNo: number): void;
  unanswered(nodeNo: number): void;
  /** When the node was last heard, by the clock that never jumps. */
  heardAtMs(nodeNo: number): number | undefined;
  /** The node says that it stops. */
  stopped(nodeNo: number): void;
  /** Whether a node that was just heard is configured as this one is. */
  compared(nodeNo: number, isAlike: boolean): void;
  /** The numbers of the nodes that do not answer this one. */
  unreached(): number[];
  /** The ids of the nodes that the node does not answer: this one, and those that are heard and say so. */
  unreachableFrom(nodeNo: number): string[];
  /** The last heartbeat, undefined when none ever came. */
  latest(nodeNo: number): Heartbeat | undefined;
  healthOf(node: StoredNode): Health;
  /** The node's entry of the cluster status. */
  entryOf(node: StoredNode): Promise<Omit<Peer, 'outbox_refused' | 'cut_off_since'>>;
  /** Seconds by which the clocks of the nodes that were heard since the start are ahead of this one's, by node id. */
  skews(): Record<string, number>;
  /** Looks at every node's health again and tells of what has changed. */
  checkHealth(): void;
  onHealth(listener: (change: HealthChange) => void): void;
  /** Writes down what was heard, for the next start. */
  flush(): Promise<void>;
}

export interface HealthChange {
  node_id: string;
  from: Health;
  to: Health;
}

interface State {
  heartbeat: Heartbeat;
  /** By a clock that never jumps: a wall clock that does makes nobody stale. */
  heardAtMs: number;
  /** Unknown for what was heard before this start. */
  skewSeconds?: number;
  isWritten: boolean;
}

interface Needs {
  store: Store;
  directory: NodeDirectory;
  nodeNo: number;
  /** How far this node has applied the changes of another one. */
  appliedOf(nodeNo: number): Promise<number>;
  now: () => number;
  monotonic: () => number;
}

const neverHeard: License = {valid: false, type: 'unknown', status: 'unknown', expires_at: '1970-01-01T00:00:00.000Z'};
const overtakenMs = 5000;
const noHash = `sha256:${'0'.repeat(64)}`;

export const openPeerStates = async (needs: Needs): Promise<PeerStates> => {
  const {directory, nodeNo, now, monotonic} = needs;
  const states = await readStates(needs);
  const silences = createPeerSilences(monotonic);
  /** By node number: since when it is configured otherwise than this node. */
  const differing = new Map<number, number>();
  const agoText = (ms: number): string => new Date(now() - (monotonic() - ms)).toISOString();

  /** Of a node that has never been heard: since it is known. */
  const silenceMs = (node: StoredNode): number => {
    const state = states.get(node.id);
    return state ? monotonic() - state.heardAtMs : Math.max(0, now() - Date.parse(node.created_at));
  };
  const health = (node: StoredNode) => healthOf(silenceMs(node) / 1000);
  /** A node that is not heard, or does not answer, has no say in how the nodes are configured. */
  const isInTouch = (node: StoredNode): boolean => health(node) === 'online' && !silences.isSilent(node.id);
  const unreachableFrom = (no: number): string[] =>
    directory
      .list()
      .filter(({id}) => id !== no)
      .filter(node =>
        node.id === nodeNo
          ? silences.isSilent(no)
          : health(node) === 'online' && saysUnreached(states.get(node.id), {no, silentSinceMs: silences.sinceMs(node.id)}),
      )
      .map(({node_id}) => node_id);
  const watch = createHealthWatch(health);

  return {
    ...{unreachableFrom, healthOf: health, onHealth: watch.onHealth, unreached: silences.list},
    ...{answered: silences.answered, unanswered: silences.unanswered, stopped: silences.stopped},
    received(heartbeat) {
      const before = states.get(heartbeat.node_no)?.heartbeat;
      const node = directory.findByNo(heartbeat.node_no);
      if (node && !isInTouch(node)) differing.delete(heartbeat.node_no);
      const skewSeconds = (heartbeat.clock_ms - now()) / 1000;
      const latest = latestOf(before, heartbeat);
      states.set(heartbeat.node_no, {heartbeat: latest, heardAtMs: monotonic(), skewSeconds, isWritten: false});
    },
    heardAtMs: no => states.get(no)?.heardAtMs,
    compared(no, isAlike) {
      if (isAlike) differing.delete(no);
      else if (!differing.has(no)) differing.set(no, monotonic());
    },
    latest: no => states.get(no)?.heartbeat,
    skews: () =>
      Object.fromEntries(
        directory.list().flatMap(({id, node_id}) => {
          const seconds = states.get(id)?.skewSeconds;
          return seconds === undefined ? [] : [[node_id, seconds]];
        }),
      ),

    async entryOf(node) {
      const silentSince = silences.sinceMs(node.id);
      const differsSince = isInTouch(node) ? differing.get(node.id) : undefined;
      return {
        ...entryOf(node, {state: states.get(node.id), applied: await needs.appliedOf(node.id), ageMs: silenceMs(node), now}),
        unanswered_since: silentSince === undefined ? null : agoText(silentSince),
        unreachable_from: unreachableFrom(node.id),
        config_differs_since: differsSince === undefined ? null : agoText(differsSince),
      };
    },

    checkHealth() {
      const nodes = directory.list().filter(({id}) => id !== nodeNo);
      watch.check(nodes);
      const numbers = nodes.map(({id}) => id);
      silences.retain(numbers);
      for (const no of differing.keys()) if (!numbers.includes(no)) differing.delete(no);
    },
    flush: async () => writeStates(needs, states, agoText),
  };
};

const readStates = async ({store, now, monotonic}: Needs): Promise<Map<number, State>> => {
  const states = new Map<number, State>();
  for (const {node_no, last_seen, report} of await store.trust.listPeerReports()) {
    const parsed = parseSafely(heartbeatSchema, report);
    if (!parsed.success) continue;
    const ageMs = Math.max(0, now() - Date.parse(last_seen));
    states.set(node_no, {heartbeat: parsed.data, heardAtMs: monotonic() - ageMs, isWritten: true});
  }
  return states;
};

const writeStates = async (
  {store, directory}: Needs,
  states: ReadonlyMap<number, State>,
  timeText: (ms: number) => string,
): Promise<void> => {
  const unwritten = [...states].filter(([id, {isWritten}]) => !isWritten && directory.findByNo(id));
  if (unwritten.length === 0) return;
  const reports = unwritten.map(([node_no, {heartbeat, heardAtMs}]) => ({
    node_no,
    last_seen: timeText(heardAtMs),
    report: heartbeat,
  }));
  await store.transaction(async tx => {
    await tx.trust.savePeerReports(reports);
    await tx.trust.keepPeerReports(directory.list().map(({id}) => id));
  });
  for (const [, state] of unwritten) state.isWritten = true;
};

/** An answer may be overtaken by a later heartbeat. A clock that was set back looks like that too, but by more. */
const latestOf = (before: Heartbeat | undefined, heartbeat: Heartbeat): Heartbeat => {
  const behindMs = (before?.clock_ms ?? 0) - heartbeat.clock_ms;
  return before && behindMs > 0 && behindMs < overtakenMs ? before : heartbeat;
};

/** Whether a node says that the node number `no` does not answer it. While it does not answer itself, it has to be heard all the same. */
const saysUnreached = (
  state: State | undefined,
  {no, silentSinceMs}: {no: number; silentSinceMs: number | undefined},
): boolean => {
  if (!state?.heartbeat.unreached?.includes(no)) return false;
  return silentSinceMs === undefined || isHeardDespite(silentSinceMs, state.heardAtMs);
};

interface Seen {
  state: State | undefined;
  /** The number of the last of its events that this node has applied. */
  applied: number;
  ageMs: number;
  now: () => number;
}

/** What the node itself has said, as far as it has. */
const entryOf = (node: StoredNode, {state, applied, ageMs, now}: Seen) => {
  const heartbeat = state?.heartbeat;
  return {
    node_id: node.node_id,
    fqdn: node.fqdn,
    // Until a node has spoken for itself, its address is what others say.
    api_url: (heartbeat && node.api_url) ?? '',
    last_seen: new Date(now() - ageMs).toISOString(),
    healthy: healthOf(ageMs / 1000),
    config_hash: heartbeat?.config_hash ?? noHash,
    config_hash_age_s: heartbeat ? heartbeat.config_hash_age_s + Math.floor(ageMs / 1000) : 0,
    outbox_backlog_to_us: Math.max(0, (heartbeat?.last_seq ?? 0) - applied),
    license: heartbeat?.license ?? neverHeard,
    clock_skew_s: state?.skewSeconds === undefined ? null : Math.round(state.skewSeconds * 10) / 10,
  };
};

/** Notices when the health of a node changes. */
const createHealthWatch = (health: (node: StoredNode) => Health) => {
  const before = new Map<number, Health>();
  const listeners: ((change: HealthChange) => void)[] = [];
  return {
    onHealth: (listener: (change: HealthChange) => void) => void listeners.push(listener),
    check(nodes: readonly StoredNode[]) {
      for (const node of nodes) {
        const from = before.get(node.id);
        const to = health(node);
        before.set(node.id, to);
        if (from !== undefined && from !== to) for (const listener of listeners) listener({node_id: node.node_id, from, to});
      }
      for (const no of before.keys()) if (!nodes.some(({id}) => id === no)) before.delete(no);
    },
  };
};
