// Changes and alarms of nodes in words: a change is reported once, an alarm stays as long as its cause.
import type {ClusterStatus, Peer} from '../../../../shared/cluster-status.ts';
import type {Drift} from '../../../cluster/cluster-drift.ts';
import {
  clockComparison,
  clockProblem,
  cutOffText,
  isCutOff,
  unansweredSeconds,
  unreachableFrom,
} from '../../../cluster/node-condition.ts';
import {durationText, durationWords} from '../../../output/cell-text.ts';
import type {Tone} from '../../../output/column.ts';
import type {Notice} from '../../shell/notices.ts';
import type {HealthChange} from './history.ts';

export const healthTone = {online: 'good', stale: 'warn', offline: 'bad'} as const satisfies Record<Peer['healthy'], Tone>;
export const healthMark = {online: '●', stale: '◐', offline: '✗'} as const satisfies Record<Peer['healthy'], string>;

/** By the clock of the answering node, as the local one may differ. */
export const seenSecondsAgo = ({generated_at}: Pick<ClusterStatus, 'generated_at'>, {last_seen}: Peer): number =>
  Math.max(0, Math.floor((Date.parse(generated_at) - Date.parse(last_seen)) / 1000));

export const changesBetween = (before: ClusterStatus, after: ClusterStatus, atMs: number): HealthChange[] => {
  const nodes = new Set([...before.peers, ...after.peers].map(({node_id}) => node_id));
  return [...nodes].flatMap(node => {
    const [from, to] = [before, after].map(({peers}) => peers.find(({node_id}) => node_id === node)?.healthy);
    return from === to ? [] : [{atMs, node, from, to}];
  });
};

export const changeText = ({node, from, to}: HealthChange): {text: string; tone: Tone} => {
  if (to === undefined) return {text: `${node} is no longer in the cluster`, tone: 'warn'};
  if (from === undefined) return {text: `${node} has joined the cluster and is ${to}`, tone: healthTone[to]};
  return {text: `${healthMark[to]} ${node} is ${to}${to === 'online' ? ' again' : ''}; it was ${from}`, tone: healthTone[to]};
};

export const alarmsOf = (status: ClusterStatus, drift: Drift | undefined): Notice[] => {
  const away = status.peers
    .filter(({healthy}) => healthy !== 'online')
    .map(peer => ({
      text: `${healthMark[peer.healthy]} ${peer.node_id} is ${peer.healthy}, last seen ${durationText(seenSecondsAgo(status, peer))} ago`,
      tone: healthTone[peer.healthy],
    }));
  const unreached = status.peers.flatMap((peer): Notice[] => {
    const from = unreachableFrom(peer);
    if (from.length === 0) return [];
    return [{text: `${healthMark.stale} ${peer.node_id} cannot be reached from ${from.join(', ')}`, tone: 'warn'}];
  });
  const silent = status.peers.flatMap((peer): Notice[] => {
    const seconds = unansweredSeconds(peer, status);
    if (seconds === undefined || peer.healthy !== 'online' || unreachableFrom(peer).length > 0) return [];
    return [{text: `${healthMark.stale} no answer from ${peer.node_id} for ${durationWords(seconds)}`, tone: 'warn'}];
  });
  const cutOff = status.peers.filter(isCutOff).map((peer): Notice => ({text: `✗ ${cutOffText(peer)}`, tone: 'bad'}));
  const refused = status.peers
    .filter(({outbox_refused}) => outbox_refused)
    .map(({node_id}): Notice => ({text: `✗ changes made on ${node_id} are refused by another node`, tone: 'bad'}));
  const drifted: Notice[] = drift?.isAlarm ? [{text: `≠ configuration drift: ${driftText(drift)}`, tone: 'bad'}] : [];
  const clocks = status.peers.flatMap((peer): Notice[] => {
    const problem = clockProblem(peer);
    if (problem === undefined) return [];
    const text = `! the clock of ${peer.node_id} is ${clockComparison(peer, status.local_node_id)}`;
    return [{text, tone: problem === 'critical' ? 'bad' : 'warn'}];
  });
  return [...cutOff, ...refused, ...drifted, ...away, ...unreached, ...silent, ...clocks];
};

export const driftText = ({oddNodes, ageSeconds}: Drift): string =>
  `${oddNodes.join(', ')} ${oddNodes.length === 1 ? 'differs' : 'differ'} from the rest for ${durationText(ageSeconds)}`;
