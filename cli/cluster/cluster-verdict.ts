// Verdict on the cluster, from its status alone.
import {clockBelievedSeconds, clockWarningSeconds} from '../../shared/clock-limits.ts';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import {safeLine} from '../../shared/safe-text.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {type CheckStatus, type CliError, checkStatuses} from '../errors.ts';
import {countText, durationWords, plural} from '../output/cell-text.ts';
import {type Drift, driftOf} from './cluster-drift.ts';
import {
  clockComparison,
  clockProblem,
  clockSkew,
  cutOffText,
  isCutOff,
  unansweredSeconds,
  unreachableFrom,
} from './node-condition.ts';

export interface CheckLimits {
  /** A longer backlog of replication events is a warning. */
  backlog: number;
  driftAgeSeconds: number;
}

interface Finding {
  status: CheckStatus;
  text: string;
}

/** The worst problem first, with the name of every affected node. */
export const judgeCluster = (status: ClusterStatus, limits: CheckLimits): Verdict => {
  const {peers} = status;
  const drift = driftOf(status, limits.driftAgeSeconds);
  const findings = [
    ...cutOffFindings(peers),
    ...healthFindings(peers),
    ...refusalFindings(peers),
    ...silenceFindings(status),
    ...reachFindings(status),
    ...clockFindings(status),
    ...driftFindings(peers, drift),
    ...backlogFindings(peers, limits),
    ...licenseFindings(peers),
    ...authorityFindings(peers),
    ...dmarcFindings(peers),
  ].sort((a, b) => b.status - a.status);
  const worst = findings[0]?.status ?? checkStatuses.ok;
  const text = findings.length > 0 ? findings.map(finding => finding.text).join(', ') : wellText(status);
  return {status: worst, text, figures: figuresOf(status, limits, drift)};
};

const {warning, critical} = checkStatuses;

const healthFindings = (peers: readonly Peer[]): Finding[] => {
  const inState = (state: string) => peers.filter(({healthy}) => healthy === state);
  const odd = peers.filter(({healthy}) => healthy !== 'online' && healthy !== 'stale' && healthy !== 'offline');
  return [
    ...(peers.length === 0 ? [{status: critical, text: 'the node knows of no nodes, not even itself'}] : []),
    ...finding(critical, inState('offline'), 'offline'),
    ...finding(warning, inState('stale'), 'stale'),
    ...finding(warning, odd, 'in a state that this program does not know'),
  ];
};

/** First, as it makes all other nodes seem offline. */
const cutOffFindings = (peers: readonly Peer[]): Finding[] =>
  peers.filter(isCutOff).map(peer => ({status: critical, text: cutOffText(peer)}));

/** Changes of that node have not reached all others, a revoked key for example. */
const refusalFindings = (peers: readonly Peer[]): Finding[] =>
  finding(
    critical,
    peers.filter(({outbox_refused}) => outbox_refused),
    'has changes that another node refuses',
  );

/** Nodes that do not answer while their health is still online. */
const silenceFindings = (status: ClusterStatus): Finding[] =>
  status.peers.flatMap(peer => {
    const seconds = unansweredSeconds(peer, status);
    if (seconds === undefined || peer.healthy !== 'online' || unreachableFrom(peer).length > 0) return [];
    return [{status: warning, text: `no answer from ${peer.node_id} for ${durationWords(seconds)}`}];
  });

/** Critical when a node will soon refuse the changes of the one that is ahead. */
const clockFindings = ({peers, local_node_id}: ClusterStatus): Finding[] =>
  peers.flatMap(peer => {
    const problem = clockProblem(peer);
    if (problem === undefined) return [];
    return [{status: checkStatuses[problem], text: `the clock of ${peer.node_id} is ${clockComparison(peer, local_node_id)}`}];
  });

/** Heartbeats of that node arrive, but it does not answer: changes reach it late, and its held mail cannot be listed. */
const reachFindings = (status: ClusterStatus): Finding[] =>
  status.peers.flatMap((peer): Finding[] => {
    const {node_id} = peer;
    const from = unreachableFrom(peer);
    if (from.length === 0) return [];
    const others = status.peers.filter(one => one.node_id !== node_id && one.healthy === 'online');
    if (others.every(other => from.includes(other.node_id)))
      return [
        {status: critical, text: `no node can reach ${node_id} (open its port for nodes, or correct its cluster.advertise)`},
      ];
    return [{status: warning, text: `${node_id} cannot be reached from ${from.join(', ')}`}];
  });

const driftFindings = (peers: readonly Peer[], drift: Drift | undefined): Finding[] => {
  if (!drift?.isAlarm) return [];
  const odd = peers.filter(({node_id}) => drift.oddNodes.includes(node_id));
  return finding(critical, odd, 'configured unlike the rest');
};

const backlogFindings = (peers: readonly Peer[], {backlog}: CheckLimits): Finding[] =>
  peers
    .filter(peer => peer.outbox_backlog_to_us > backlog)
    .map(peer => ({status: warning, text: `${plural(peer.outbox_backlog_to_us, 'change')} of ${peer.node_id} not applied yet`}));

const licenseFindings = (peers: readonly Peer[]): Finding[] =>
  finding(
    warning,
    peers.filter(({license}) => !license.valid),
    'without a valid licence',
  );

/** Nothing is said while a node that may have the key has not been heard, or is of a version that does not tell. */
const authorityFindings = (peers: readonly Peer[]): Finding[] =>
  peers.length > 0 && peers.every(({has_authority}) => has_authority === false)
    ? [
        {
          status: warning,
          text: 'no node has tls/ca.key, so certificates end without being renewed (copy it to tls/ of one node and restart that one)',
        },
      ]
    : [];

/** Nodes of an earlier version tell nothing of it. */
const dmarcFindings = (peers: readonly Peer[]): Finding[] => {
  const told = peers.filter(({dmarc_config}) => typeof dmarc_config === 'string');
  const unset = told.filter(({dmarc_unset}) => dmarc_unset);
  const kinds = new Set(told.map(({dmarc_config}) => dmarc_config));
  return [
    ...finding(
      warning,
      unset,
      'cannot send the DMARC reports that domains want (set an fqdn with a dot, or dmarc.report_from, in mfd.yaml)',
    ),
    ...(kinds.size > 1 ? [{status: warning, text: `dmarc.* differs between ${namesOf(told)}`}] : []),
  ];
};

const finding = (status: CheckStatus, peers: readonly Peer[], what: string): Finding[] =>
  peers.length === 0 ? [] : [{status, text: `${namesOf(peers)} ${what}`}];

const namedNodes = 5;

const namesOf = (peers: readonly Peer[]): string => {
  const names = peers.slice(0, namedNodes).map(({node_id}) => node_id);
  const rest = peers.length - names.length;
  return `${names.join(', ')}${rest > 0 ? ` and ${countText(rest)} more` : ''}`;
};

const wellText = (status: ClusterStatus): string => {
  const {peers} = status;
  if (peers.length === 1) return '1 node, online';
  const config = driftOf(status) ? ', a change of configuration is under way' : ' and configured alike';
  return `${countText(peers.length)} nodes, all online${config}`;
};

const figuresOf = (status: ClusterStatus, {backlog, driftAgeSeconds}: CheckLimits, drift: Drift | undefined): Figure[] => {
  const {peers} = status;
  const max = peers.length;
  const count = (isCounted: (peer: Peer) => boolean): number => peers.filter(isCounted).length;
  return [
    {label: 'nodes', value: max},
    {label: 'online', value: count(peer => peer.healthy === 'online'), max},
    {label: 'stale', value: count(peer => peer.healthy === 'stale'), warnAbove: 0, max},
    {label: 'offline', value: count(peer => peer.healthy === 'offline'), criticalAbove: 0, max},
    {label: 'backlog', value: Math.max(0, ...peers.map(peer => peer.outbox_backlog_to_us)), warnAbove: backlog},
    {label: 'drift_age', value: drift?.ageSeconds ?? 0, unit: 's', criticalAbove: driftAgeSeconds},
    {label: 'invalid_licenses', value: count(peer => !peer.license.valid), warnAbove: 0, max},
    {label: 'unanswered', value: count(peer => unansweredSeconds(peer, status) !== undefined), warnAbove: 0, max},
    {label: 'unreachable', value: count(peer => unreachableFrom(peer).length > 0), warnAbove: 0, max},
    {
      label: 'clock_skew',
      value: Math.max(0, ...peers.map(peer => Math.abs(clockSkew(peer) ?? 0))),
      unit: 's',
      warnAbove: clockWarningSeconds,
      criticalAbove: clockBelievedSeconds,
    },
    {label: 'refused', value: count(peer => peer.outbox_refused), criticalAbove: 0, max},
  ];
};

export interface Figure {
  label: string;
  value: number;
  /** `s` for seconds; empty for counts. */
  unit?: 's';
  /** A higher value is a warning, or critical. */
  warnAbove?: number;
  criticalAbove?: number;
  max?: number;
}

export interface Verdict {
  status: CheckStatus;
  text: string;
  figures: Figure[];
}

/** Some systems cut longer lines. */
const maxTextChars = 600;

export const checkLine = ({status, text, figures}: Verdict): string =>
  `MFD CLUSTER ${nameOf(status)}: ${plainText(text)} | ${figures.map(figureText).join(' ')}\n`;

/** For errors that say nothing about the cluster, such as wrong usage. */
export const reportUnknown = ({stdout}: Terminal, {detail, hint}: CliError): CheckStatus => {
  const text = hint === undefined ? detail : `${detail}; ${hint}`;
  stdout.write(checkLine({status: checkStatuses.unknown, text, figures: [{label: 'time', value: 0, unit: 's'}]}));
  return checkStatuses.unknown;
};

const nameOf = (status: CheckStatus): string =>
  Object.entries(checkStatuses)
    .find(([, number]) => number === status)?.[0]
    .toUpperCase() ?? 'UNKNOWN';

/** Without bars, which separate the text from the figures. */
const plainText = (text: string): string => {
  const line = safeLine(text).replaceAll('|', '/');
  return line.length > maxTextChars ? `${line.slice(0, maxTextChars)}...` : line;
};

/** `'label'=value[UOM];[warn];[crit];[min];[max]` */
const figureText = ({label, value, unit, warnAbove, criticalAbove, max}: Figure): string => {
  const limits = [warnAbove, criticalAbove, 0, max].map(limit => (limit === undefined ? '' : numberText(limit)));
  return `'${label}'=${numberText(value)}${unit ?? ''};${limits.join(';')}`.replace(/;+$/, '');
};

/** Without exponents and digit groups, which monitoring systems cannot parse. */
const numberText = (value: number): string => String(Math.round(value * 1000) / 1000);
