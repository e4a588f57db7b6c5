// Nodes of the cluster as mfctl knows them: each of their fields is declared once.
import type {ClusterStatus, License, Peer} from '../../shared/cluster-status.ts';
import {briefTimeText, countText, durationText, timeText} from '../output/cell-text.ts';
import {healthTones, type Tone} from '../output/column.ts';
import type {Field} from '../output/field.ts';
import {type Drift, shortHash} from './cluster-drift.ts';
import {conditionText, conditionTone, healthMark, seenSecondsAgo} from './node-condition.ts';

/** What a node is compared with. Screens alone depend on more than the status. */
export interface NodeFacts {
  status: ClusterStatus;
  drift?: Drift | undefined;
  nowMs?: number;
}

const {node, fqdn, since, backlog, license, api} = {
  node: {label: 'Node', cell: peer => peer.node_id, column: {}, screen: {width: 10, grow: 2, style: () => 'bold'}},
  fqdn: {
    label: 'FQDN',
    cell: ({fqdn}) => fqdn,
    column: {isFlexible: true, dropRank: 4},
    screen: {width: 16, grow: 3, dropRank: 2},
  },
  since: {
    label: 'Since',
    cell: peer => durationText(peer.config_hash_age_s),
    column: {sortBy: peer => peer.config_hash_age_s, align: 'right', dropRank: 3},
    screen: {width: 5, dropRank: 4},
  },
  backlog: {
    label: 'Backlog',
    cell: peer => peer.outbox_backlog_to_us,
    column: {align: 'right'},
    screen: {
      width: 7,
      cell: peer => countText(peer.outbox_backlog_to_us),
      style: peer => (peer.outbox_backlog_to_us > 0 ? 'warn' : undefined),
    },
  },
  license: {
    label: 'License',
    cell: ({license}) => `${license.type} ${license.status}`,
    column: {dropRank: 2, tone: ({license}) => (license.valid ? undefined : 'bad')},
    screen: {title: 'TYPE', width: 12, grow: 1, dropRank: 3},
  },
  api: {
    label: 'API',
    cell: peer => peer.api_url,
    column: {isFlexible: true, dropRank: 1},
    screen: {width: 24, grow: 2, dropRank: 1},
  },
} satisfies Record<string, Field<Peer>>;

/** In the order of columns. */
export const nodeFields = ({status, drift, nowMs = 0}: NodeFacts) => {
  const isOdd = ({node_id}: Peer): boolean => drift?.oddNodes.includes(node_id) ?? false;
  return {
    local: {
      label: 'Local',
      cell: peer => (peer.node_id === status.local_node_id ? '*' : ' '),
      column: {},
      screen: {title: ' ', width: 1, style: () => 'accent'},
    },
    ...{node, fqdn},
    health: {
      label: 'Health',
      cell: peer => conditionText(peer, status),
      column: {tone: peer => conditionTone(peer, status)},
      screen: {width: 9, cell: peer => `${markOf(peer)} ${peer.healthy}`, style: peer => conditionTone(peer, status)},
    },
    seen: {
      label: 'Last seen',
      cell: peer => timeText(peer.last_seen),
      column: {brief: peer => briefTimeText(peer.last_seen)},
      screen: {
        title: 'SEEN',
        width: 8,
        cell: peer => ageText(seenSecondsAgo(status, peer)),
        style: ({healthy}) => (healthy === 'online' ? undefined : healthTones[healthy]),
      },
    },
    config: {
      label: 'Config',
      cell: peer => shortHash(peer.config_hash, 12),
      column: {wide: peer => peer.config_hash},
      screen: {
        width: 10,
        cell: peer => `${isOdd(peer) ? '≠' : ' '} ${shortHash(peer.config_hash)}`,
        style: peer => (isOdd(peer) ? driftTone(drift) : undefined),
      },
    },
    ...{since, backlog, license, api},
    license_expires: {
      label: 'License expires',
      cell: ({license}) => timeText(license.expires_at),
      column: {isWideOnly: true},
      screen: {
        ...{title: 'LICENCE', width: 7, align: 'right', dropRank: 5},
        cell: ({license}) => licenseText(license, nowMs),
        style: ({license}) => (license.valid ? daysTone(Date.parse(license.expires_at), nowMs, licenseDays) : 'bad'),
      },
    },
  } satisfies Record<string, Field<Peer>>;
};

/** That of a node that is going away, before its health says so. */
const markOf = (peer: Peer): string =>
  healthMark[peer.healthy === 'online' && (peer.unanswered_since ?? null) !== null ? 'stale' : peer.healthy];

export const driftTone = (drift: Drift | undefined): Tone => (drift?.isAlarm ? 'bad' : 'warn');

const ageText = (seconds: number): string => (seconds < 2 ? 'now' : `${durationText(seconds)} ago`);

const dayMs = 86_400_000;
const licenseDays = {warn: 30, bad: 7};

export const licenseText = ({valid, expires_at}: License, nowMs: number): string => {
  const endsAtMs = Date.parse(expires_at);
  if (!valid) return endsAtMs <= nowMs ? 'expired' : 'invalid';
  return endsAtMs - nowMs > 3650 * dayMs ? 'no end' : daysText(endsAtMs, nowMs);
};

export const daysText = (endsAtMs: number, nowMs: number): string =>
  endsAtMs <= nowMs ? 'expired' : `${countText(Math.floor((endsAtMs - nowMs) / dayMs))}d`;

export const daysTone = (
  endsAtMs: number | undefined,
  nowMs: number,
  {warn, bad}: {warn: number; bad: number},
): Tone | undefined => {
  if (endsAtMs === undefined) return undefined;
  const days = (endsAtMs - nowMs) / dayMs;
  if (days < bad) return 'bad';
  return days < warn ? 'warn' : undefined;
};
