import type {ClusterStatus, License, Peer} from '../../../../shared/cluster-status.ts';
import {type Drift, shortHash} from '../../../cluster/cluster-drift.ts';
import {conditionTone} from '../../../cluster/node-condition.ts';
import {countText, durationText} from '../../../output/cell-text.ts';
import type {TuiColumn} from '../../list/list.ts';
import type {Style} from '../../shell/theme.ts';
import {healthMark, healthTone, seenSecondsAgo} from './alarms.ts';
import type {CertificateEnd} from './cluster-sources.ts';

export interface NodeFacts {
  status: ClusterStatus;
  drift: Drift | undefined;
  certificates: ReadonlyMap<string, CertificateEnd>;
  nowMs: number;
}

const dayMs = 86_400_000;
/** Nodes renew what they have made themselves long before. */
const certificateDays = {warn: 21, bad: 7};
const licenseDays = {warn: 30, bad: 7};

/** That of a node that is going away, before its health says so. */
const markOf = (peer: Peer): string =>
  healthMark[peer.healthy === 'online' && (peer.unanswered_since ?? null) !== null ? 'stale' : peer.healthy];

export const nodeColumns = ({status, drift, certificates, nowMs}: NodeFacts): TuiColumn<Peer>[] => {
  const isOdd = ({node_id}: Peer): boolean => drift?.oddNodes.includes(node_id) ?? false;
  const endOf = ({node_id}: Peer): CertificateEnd | undefined => certificates.get(node_id);
  return [
    {title: ' ', width: 1, cell: peer => (peer.node_id === status.local_node_id ? '*' : ' '), style: () => 'accent'},
    {title: 'NODE', width: 10, grow: 2, cell: peer => peer.node_id, style: () => 'bold'},
    {title: 'FQDN', width: 16, grow: 3, dropRank: 2, cell: peer => peer.fqdn},
    {
      title: 'HEALTH',
      width: 9,
      cell: peer => `${markOf(peer)} ${peer.healthy}`,
      style: peer => conditionTone(peer, status),
    },
    {
      title: 'SEEN',
      width: 8,
      cell: peer => ageCell(seenSecondsAgo(status, peer)),
      style: ({healthy}) => (healthy === 'online' ? undefined : healthTone[healthy]),
    },
    {
      title: 'CONFIG',
      width: 10,
      cell: peer => `${isOdd(peer) ? '≠' : ' '} ${shortHash(peer.config_hash)}`,
      style: peer => (isOdd(peer) ? driftStyle(drift) : undefined),
    },
    {title: 'SINCE', width: 5, align: 'right', dropRank: 4, cell: peer => durationText(peer.config_hash_age_s)},
    {
      title: 'BACKLOG',
      width: 7,
      align: 'right',
      cell: peer => countText(peer.outbox_backlog_to_us),
      style: peer => (peer.outbox_backlog_to_us > 0 ? 'warn' : undefined),
    },
    {
      title: 'CERT',
      width: 7,
      align: 'right',
      dropRank: 6,
      cell: peer => certificateText(endOf(peer), nowMs),
      style: peer => daysStyle(endOf(peer)?.endsAtMs, nowMs, certificateDays),
    },
    {
      title: 'LICENCE',
      width: 7,
      align: 'right',
      dropRank: 5,
      cell: ({license}) => licenseText(license, nowMs),
      style: ({license}) => (license.valid ? daysStyle(Date.parse(license.expires_at), nowMs, licenseDays) : 'bad'),
    },
    {title: 'TYPE', width: 12, dropRank: 3, cell: ({license}) => `${license.type} ${license.status}`, grow: 1},
    {title: 'API', width: 24, grow: 2, dropRank: 1, cell: peer => peer.api_url},
  ];
};

export const driftStyle = (drift: Drift | undefined): Style => (drift?.isAlarm ? 'bad' : 'warn');

const ageCell = (seconds: number): string => (seconds < 2 ? 'now' : `${durationText(seconds)} ago`);

/** `?` where it could not be read, or shows what is not to be trusted. */
export const certificateText = (end: CertificateEnd | undefined, nowMs: number): string => {
  if (end === undefined) return '…';
  if (end.endsAtMs === undefined || end.problem !== undefined) return '?';
  return daysText(end.endsAtMs, nowMs);
};

export const licenseText = ({valid, expires_at}: License, nowMs: number): string => {
  const endsAtMs = Date.parse(expires_at);
  if (!valid) return endsAtMs <= nowMs ? 'expired' : 'invalid';
  return endsAtMs - nowMs > 3650 * dayMs ? 'no end' : daysText(endsAtMs, nowMs);
};

const daysText = (endsAtMs: number, nowMs: number): string =>
  endsAtMs <= nowMs ? 'expired' : `${countText(Math.floor((endsAtMs - nowMs) / dayMs))}d`;

const daysStyle = (endsAtMs: number | undefined, nowMs: number, {warn, bad}: {warn: number; bad: number}): Style | undefined => {
  if (endsAtMs === undefined) return undefined;
  const days = (endsAtMs - nowMs) / dayMs;
  if (days < bad) return 'bad';
  return days < warn ? 'warn' : undefined;
};
