// Changes and alarms of nodes in words: a change is reported once, an alarm stays as long as its cause.
import type {ClusterStatus} from '../../../../shared/cluster-status.ts';
import type {Drift} from '../../../cluster/cluster-drift.ts';
import {type Finding, findingsOf} from '../../../cluster/cluster-findings.ts';
import {healthMark} from '../../../cluster/node-condition.ts';
import {checkStatuses} from '../../../errors.ts';
import {durationText} from '../../../output/cell-text.ts';
import {healthTones, type Tone} from '../../../output/column.ts';
import type {Notice} from '../../shell/notices.ts';
import type {HealthChange} from './history.ts';

export const changesBetween = (before: ClusterStatus, after: ClusterStatus, atMs: number): HealthChange[] => {
  const nodes = new Set([...before.peers, ...after.peers].map(({node_id}) => node_id));
  return [...nodes].flatMap(node => {
    const [from, to] = [before, after].map(({peers}) => peers.find(({node_id}) => node_id === node)?.healthy);
    return from === to ? [] : [{atMs, node, from, to}];
  });
};

export const changeText = ({node, from, to}: HealthChange): {text: string; tone: Tone} => {
  if (to === undefined) return {text: `${node} is no longer in the cluster`, tone: 'warn'};
  if (from === undefined) return {text: `${node} has joined the cluster and is ${to}`, tone: healthTones[to]};
  return {text: `${healthMark[to]} ${node} is ${to}${to === 'online' ? ' again' : ''}; it was ${from}`, tone: healthTones[to]};
};

interface AlarmMark {
  mark: '✗' | '!';
  tone: Tone;
}

const markOf = ({status}: Finding): AlarmMark =>
  status === checkStatuses.critical ? {mark: '✗', tone: 'bad'} : {mark: '!', tone: 'warn'};

export const alarmsOf = (status: ClusterStatus): Notice[] =>
  findingsOf(status).map(finding => {
    const {mark, tone} = markOf(finding);
    return {text: `${mark} ${finding.brief ?? finding.text}`, tone};
  });

/** The mark of the worst alarm that each node has caused. */
export const alarmMarks = (status: ClusterStatus): ReadonlyMap<string, AlarmMark> => {
  const marks = new Map<string, AlarmMark>();
  for (const finding of findingsOf(status).toReversed()) for (const node of finding.nodes ?? []) marks.set(node, markOf(finding));
  return marks;
};

export const driftText = ({oddNodes, ageSeconds}: Drift): string =>
  `${oddNodes.join(', ')} ${oddNodes.length === 1 ? 'differs' : 'differ'} from the rest for ${durationText(ageSeconds)}`;
