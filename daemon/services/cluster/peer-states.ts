// States of the other nodes: the last heartbeat of each, and when it was received by this node's clock.

import type {License, Peer} from '../../../shared/cluster-status.ts';
import {type Health, healthOf, isHeardDespite} from '../../../shared/health.ts';
import type {Store} from '../ports.ts';
import type {StoredNode} from '../records.ts';
import {parseSafely} from '../validate.ts';
import type {NodeDirectory} from './membership.ts';
import {type Heartbeat, heartbeatSchema, shownDmarc} from './peer-protocol.ts';
import {createPeerSilences, type PeerSilences} from './peer-silences.ts';
import type {Presences} from './presences.ts';

export interface PeerStates {
  /** Records a received heartbeat or an answer to one. */
  received(heartbeat: Heartbeat): void;
  /** Records an answer to the heartbeat that this node sent then, by the monotonic clock; `unanswered`, that there was none. */
  answered(nodeNo: number, askedAtMs: number): void;
  unanswered(nodeNo: number): void;
  /** When the last heartbeat of the node was received, in milliseconds of the monotonic clock. */
  heardAtMs(nodeNo: number): number | undefined;
  /** The node has announced that it stops. */
  stopped(nodeNo: number): void;
  /** Records whether a node has the same configuration as this one, according to its latest heartbeat. */
  compared(nodeNo: number, isAlike: boolean): void;
  /** The numbers of the nodes that do not answer this one. */
  unreached(): number[];
  /** The ids of the nodes that get no answer from the node: this node, and online nodes that report it in their heartbeats. */
  unreachableFrom(nodeNo: number): string[];
  /** The last heartbeat of the node; undefined if none was ever received. */
  latest(nodeNo: number): Heartbeat | undefined;
  healthOf(node: StoredNode): Health;
  /** The node's entry of the cluster status. */
  entryOf(node: StoredNode): Promise<Omit<Peer, 'outbox_refused' | 'cut_off_since'>>;
  /** By node id, for nodes with a heartbeat since the start: the seconds by which its clock is ahead of this node's clock. */
  skews(): Record<string, number>;
  /** Checks the health of every node and calls the listeners of `onHealth` for each change. */
  checkHealth(): void;
  onHealth(listener: (change: HealthChange) => void): void;
  /** A node that does not answer is heard. It may have been started again: asking it shows that. */
  onHeardAgain(listener: (nodeNo: number) => void): void;
  /** Stores the states for the next start. */
  flush(): Promise<void>;
}

export interface HealthChange {
  node_id: string;
  from: Health;
  to: Health;
}

interface State {
  heartbeat: Heartbeat;
  /** Milliseconds of the monotonic clock, so that a jump of the wall clock makes no node stale. */
  heardAtMs: number;
  /** Undefined for a heartbeat from before this start. */
  skewSeconds?: number;
  isWritten: boolean;
}

interface Needs {
  store: Store;
  directory: NodeDirectory;
  nodeNo: number;
  /** The number of the last event of another node that this node has applied. */
  appliedOf(nodeNo: number): Promise<number>;
  /** In a store that all nodes share, a node lives while it writes to the store. */
  presences?: Pick<Presences, 'of'>;
  /** The pause between two heartbeats; without it no node counts as one that has just started. */
  intervalMs?: number;
  now: () => number;
  monotonic: () => number;
}

const unknownLicense: License = {valid: false, type: 'unknown', status: 'unknown', expires_at: '1970-01-01T00:00:00.000Z'};
const maxReorderMs = 5000;
/** In so many intervals a node that has just started is asked by all others, and their next heartbeats say that it answers. */
const startIntervals = 2.5;
const noHash = `sha256:${'0'.repeat(64)}`;

export const openPeerStates = async (needs: Needs): Promise<PeerStates> => {
  const {directory, nodeNo, now, monotonic} = needs;
  const states = await readStates(needs);
  const silences = createPeerSilences(monotonic);
  /** By node number: since when its configuration differs from this node's. */
  const differing = new Map<number, number>();
  /** A monotonic time as wall clock time, ISO 8601. */
  const wallTimeOf = (ms: number): string => new Date(now() - (monotonic() - ms)).toISOString();

  /** Milliseconds since the node was last seen or, if it never was, since it joined. */
  const silenceMs = (node: StoredNode): number => {
    if (needs.presences) return needs.presences.of(node.id)?.ageMs ?? Math.max(0, now() - Date.parse(node.created_at));
    const state = states.get(node.id);
    return state ? monotonic() - state.heardAtMs : Math.max(0, now() - Date.parse(node.created_at));
  };
  const health = (node: StoredNode) => healthOf(silenceMs(node) / 1000);
  /** Only the configuration of connected nodes is compared. */
  const isConnected = (node: StoredNode): boolean => health(node) === 'online' && !silences.isSilent(node.id);
  const returns = createReturns(needs, states);
  const heardAgain: ((nodeNo: number) => void)[] = [];
  const whoMisses = createWhoMisses(needs, {states, silences, isOnline: node => health(node) === 'online'});
  const unreachableFrom = (no: number): string[] => (returns.isJustBack(no) ? [] : whoMisses(no));
  const watch = createHealthWatch(health);

  return {
    ...{unreachableFrom, healthOf: health, onHealth: watch.onHealth, unreached: silences.list},
    ...{answered: silences.answered, unanswered: silences.unanswered},
    onHeardAgain: listener => void heardAgain.push(listener),
    stopped(no) {
      silences.stopped(no);
      returns.left(no);
    },
    received(heartbeat) {
      returns.heard(heartbeat.node_no);
      const before = states.get(heartbeat.node_no)?.heartbeat;
      const node = directory.findByNo(heartbeat.node_no);
      if (node && !isConnected(node)) differing.delete(heartbeat.node_no);
      const skewSeconds = (heartbeat.clock_ms - now()) / 1000;
      const latest = latestOf(before, heartbeat);
      states.set(heartbeat.node_no, {heartbeat: latest, heardAtMs: monotonic(), skewSeconds, isWritten: false});
      if (silences.isSilent(heartbeat.node_no)) for (const listener of heardAgain) listener(heartbeat.node_no);
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
      const differsSince = isConnected(node) ? differing.get(node.id) : undefined;
      return {
        ...entryOf(node, {state: states.get(node.id), applied: await needs.appliedOf(node.id), ageMs: silenceMs(node), now}),
        ...lastSeenOf(needs, node),
        unanswered_since: silentSince === undefined ? null : wallTimeOf(silentSince),
        unreachable_from: unreachableFrom(node.id),
        config_differs_since: differsSince === undefined ? null : wallTimeOf(differsSince),
      };
    },

    checkHealth() {
      const nodes = directory.list().filter(({id}) => id !== nodeNo);
      watch.check(nodes);
      const numbers = nodes.map(({id}) => id);
      silences.retain(numbers);
      for (const no of differing.keys()) if (!numbers.includes(no)) differing.delete(no);
    },
    flush: async () => writeStates(needs, states, wallTimeOf),
  };
};

/**
 * The nodes that have just been started, this one included: what others say of them may be from before. A node is back with its first
 * heartbeat after it had said that it stops, or after a pause.
 */
const createReturns = ({nodeNo, intervalMs = 0, monotonic}: Needs, states: ReadonlyMap<number, State>) => {
  const backAtMs = new Map([[nodeNo, monotonic()]]);
  const away = new Set<number>();
  return {
    isJustBack: (no: number): boolean =>
      monotonic() - (backAtMs.get(no) ?? Number.NEGATIVE_INFINITY) < startIntervals * intervalMs,
    left(no: number): void {
      away.add(no);
      backAtMs.delete(no);
    },
    heard(no: number): void {
      const heardAtMs = states.get(no)?.heardAtMs ?? Number.NEGATIVE_INFINITY;
      if (away.delete(no) || monotonic() - heardAtMs > 2 * intervalMs) backAtMs.set(no, monotonic());
    },
  };
};

interface MissesNeeds {
  states: ReadonlyMap<number, State>;
  silences: Pick<PeerSilences, 'isSilent' | 'sinceMs'>;
  isOnline(node: StoredNode): boolean;
}

/** The nodes that get no answer from node `no`: this one, and those that say so. */
const createWhoMisses =
  ({directory, nodeNo}: Needs, {states, silences, isOnline}: MissesNeeds) =>
  (no: number): string[] =>
    directory
      .list()
      .filter(({id}) => id !== no)
      .filter(node =>
        node.id === nodeNo
          ? silences.isSilent(no)
          : isOnline(node) && saysUnreached(states.get(node.id), {no, silentSinceMs: silences.sinceMs(node.id)}),
      )
      .map(({node_id}) => node_id);

/** By the clock of the store that the nodes share. */
const lastSeenOf = ({presences}: Needs, {id}: StoredNode): {last_seen: string} | undefined => {
  const presence = presences?.of(id);
  return presence && {last_seen: presence.lastSeen};
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
  wallTimeOf: (ms: number) => string,
): Promise<void> => {
  const unwritten = [...states].filter(([id, {isWritten}]) => !isWritten && directory.findByNo(id));
  if (unwritten.length === 0) return;
  // In one order: the other nodes of a common store write the same rows.
  const reports = unwritten
    .toSorted(([a], [b]) => a - b)
    .map(([node_no, {heartbeat, heardAtMs}]) => ({
      node_no,
      last_seen: wallTimeOf(heardAtMs),
      report: heartbeat,
    }));
  await store.transaction(async tx => {
    await tx.trust.savePeerReports(reports);
    await tx.trust.keepPeerReports(directory.list().map(({id}) => id));
  });
  for (const [, state] of unwritten) state.isWritten = true;
};

/** The later of two heartbeats, as they may arrive out of order. A clock that is back by more than `maxReorderMs` was set back. */
const latestOf = (before: Heartbeat | undefined, heartbeat: Heartbeat): Heartbeat => {
  const behindMs = (before?.clock_ms ?? 0) - heartbeat.clock_ms;
  return before && behindMs > 0 && behindMs < maxReorderMs ? before : heartbeat;
};

/** Whether a node reports that node `no` does not answer it. If it does not answer itself, it must still be sending heartbeats. */
const saysUnreached = (
  state: State | undefined,
  {no, silentSinceMs}: {no: number; silentSinceMs: number | undefined},
): boolean => {
  if (!state?.heartbeat.unreached?.includes(no)) return false;
  return silentSinceMs === undefined || isHeardDespite(silentSinceMs, state.heardAtMs);
};

interface Observation {
  state: State | undefined;
  /** The number of the node's last event that this node has applied. */
  applied: number;
  ageMs: number;
  now: () => number;
}

/** The part of a status entry that comes from the node's last heartbeat; defaults if there is none. */
const entryOf = (node: StoredNode, {state, applied, ageMs, now}: Observation) => {
  const heartbeat = state?.heartbeat;
  return {
    node_id: node.node_id,
    fqdn: node.fqdn,
    // Before the first heartbeat, the address is only a statement of other nodes.
    api_url: (heartbeat && node.api_url) ?? '',
    last_seen: new Date(now() - ageMs).toISOString(),
    healthy: healthOf(ageMs / 1000),
    config_hash: heartbeat?.config_hash ?? noHash,
    config_hash_age_s: heartbeat ? heartbeat.config_hash_age_s + Math.floor(ageMs / 1000) : 0,
    outbox_backlog_to_us: Math.max(0, (heartbeat?.last_seq ?? 0) - applied),
    license: heartbeat?.license ?? unknownLicense,
    has_authority: heartbeat?.has_authority ?? null,
    ...shownDmarc(heartbeat?.dmarc),
    ...(heartbeat?.problems && {problems: heartbeat.problems}),
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
