// Condition of a node in words: its health, and faults that the health does not show yet.
import {clockBelievedSeconds, clockWarningSeconds} from '../../shared/clock-limits.ts';
import type {ClusterStatus, DependencyPart, Peer} from '../../shared/cluster-status.ts';
import {ownValue} from '../../shared/has-own.ts';
import {type Health, isHeardDespite} from '../../shared/health.ts';
import {durationWords} from '../output/cell-text.ts';
import {healthTones, type Tone} from '../output/column.ts';

type Moment = Pick<ClusterStatus, 'generated_at'>;

/** Undefined while the node answers, by the clock of the answering node. Nodes of an older version do not report it. */
export const unansweredSeconds = (peer: Peer, {generated_at}: Moment): number | undefined => {
  const since: string | null | undefined = peer.unanswered_since;
  return since ? Math.max(0, Math.floor((Date.parse(generated_at) - Date.parse(since)) / 1000)) : undefined;
};

/** By the clock of the answering node, as the local one may differ. */
export const seenSecondsAgo = ({generated_at}: Moment, {last_seen}: Peer): number =>
  Math.max(0, Math.floor((Date.parse(generated_at) - Date.parse(last_seen)) / 1000));

export const healthMark: Record<Health, string> = {online: '●', stale: '◐', offline: '✗'};

/** The certificate has expired, so that no other node accepts its requests. Nodes of an older version do not report it. */
export const isCutOff = ({cut_off_since: since}: {cut_off_since?: string | null}): boolean => Boolean(since);

/** The consequence and the remedy, for the peer that reports it. */
export const cutOffText = ({node_id, cut_off_since}: Peer): string =>
  `${node_id} is cut off from the other nodes, its certificate expired at ${cut_off_since}: start the node that has tls/ca.key, or put that file into tls/ of ${node_id} for one start`;

/**
 * The nodes that get no answer from a node whose heartbeats still arrive. A node without heartbeats and answers may just have been
 * stopped: its silence is reported.
 */
export const unreachableFrom = ({healthy, last_seen, unanswered_since, unreachable_from}: Peer): string[] => {
  const isSending = !unanswered_since || isHeardDespite(Date.parse(unanswered_since), Date.parse(last_seen));
  return healthy === 'online' && isSending ? ((unreachable_from as string[] | undefined) ?? []) : [];
};

/** Such as `online, no answer for 32 s`. */
export const conditionText = (peer: Peer, status: Moment): string => {
  const silence = unansweredSeconds(peer, status);
  const from = unreachableFrom(peer);
  return [
    peer.healthy,
    ...(from.length > 0 ? [`not reached from ${from.join(', ')}`] : []),
    ...(silence === undefined || from.length > 0 ? [] : [`no answer for ${durationWords(silence)}`]),
    ...(clockProblem(peer) === undefined ? [] : [`clock ${clockText(peer)}`]),
    ...(peer.outbox_refused ? ['changes refused'] : []),
    ...(isCutOff(peer) ? ['cut off'] : []),
    ...problemWords(peer),
  ].join(', ');
};

const partWords: Record<DependencyPart, string> = {
  scanner: 'no scanner',
  backend: 'backend unreachable',
  smarthost: 'smarthost unreachable',
  store: 'no store',
  name_servers: 'no name servers',
  postfix: 'no Postfix',
  postfix_log: 'no log of Postfix',
  password_file: 'open password file',
  webhook: 'failing webhook',
  digest: 'failing digests',
  recipients_url: 'no pages for recipients',
};

/** What the node depends on and does not work, each once. Nodes of an older version do not report it. */
const problemWords = ({problems = []}: Peer): string[] => [
  ...new Set(problems.map(({part}) => ownValue<string>(partWords, part) ?? `no ${part}`)),
];

/** Undefined when unknown: nodes of an older version do not report it. */
export const clockSkew = ({clock_skew_s}: Pick<Peer, 'clock_skew_s'>): number | undefined =>
  typeof clock_skew_s === 'number' ? clock_skew_s : undefined;

export const clockProblem = (peer: Peer): 'warning' | 'critical' | undefined => {
  const seconds = Math.abs(clockSkew(peer) ?? 0);
  if (seconds < clockWarningSeconds) return undefined;
  return seconds < clockBelievedSeconds ? 'warning' : 'critical';
};

/** Such as `45 s ahead`, compared with the clock of the answering node. */
export const clockText = (peer: Peer): string => {
  const seconds = clockSkew(peer);
  if (seconds === undefined) return 'not known';
  if (Math.abs(seconds) < 1) return 'right';
  return `${durationWords(Math.floor(Math.abs(seconds)))} ${seconds > 0 ? 'ahead' : 'behind'}`;
};

/** Such as `45 s ahead of that of mx1`, when it is off. */
export const clockComparison = (peer: Peer, nodeId: string): string => {
  const text = clockText(peer);
  return clockSkew(peer) === undefined || text === 'right'
    ? text
    : `${text}${text.endsWith('ahead') ? ' of' : ''} that of ${nodeId}`;
};

export const conditionTone = (peer: Peer, status: Moment): Tone => {
  const clock = clockProblem(peer);
  if (peer.outbox_refused || isCutOff(peer) || clock === 'critical') return 'bad';
  const {problems = []} = peer;
  if (peer.healthy === 'online' && problems.some(({refuses_mail}) => refuses_mail)) return 'bad';
  const isSilent = unansweredSeconds(peer, status) !== undefined || unreachableFrom(peer).length > 0;
  const isOdd = isSilent || clock !== undefined || problems.length > 0;
  return peer.healthy === 'online' && isOdd ? 'warn' : healthTones[peer.healthy];
};
