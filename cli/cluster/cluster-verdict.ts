// Verdict on the cluster, from its status alone.
import {clockBelievedSeconds, clockWarningSeconds} from '../../shared/clock-limits.ts';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import {safeLine} from '../../shared/safe-text.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {type CheckStatus, type CliError, checkStatuses} from '../errors.ts';
import {countText} from '../output/cell-text.ts';
import {driftOf} from './cluster-drift.ts';
import {type CheckLimits, findingsOf} from './cluster-findings.ts';
import {clockSkew, unansweredSeconds, unreachableFrom} from './node-condition.ts';

export const judgeCluster = (status: ClusterStatus, limits: CheckLimits): Verdict => {
  const findings = findingsOf(status, limits);
  const worst = findings[0]?.status ?? checkStatuses.ok;
  const text = findings.length > 0 ? findings.map(finding => finding.text).join(', ') : wellText(status);
  return {status: worst, text, figures: figuresOf(status, limits)};
};

const wellText = (status: ClusterStatus): string => {
  const {peers} = status;
  if (peers.length === 1) return '1 node, online';
  const config = driftOf(status) ? ', a change of configuration is under way' : ' and configured alike';
  return `${countText(peers.length)} nodes, all online${config}`;
};

const figuresOf = (status: ClusterStatus, {backlog, driftAgeSeconds}: CheckLimits): Figure[] => {
  const {peers} = status;
  const drift = driftOf(status, driftAgeSeconds);
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
