// Output for monitoring systems: one line and a status (Monitoring Plugins Development Guidelines, "Plugin Output").
import {safeLine} from '../../shared/safe-text.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {type CheckStatus, type CliError, checkStatuses} from '../errors.ts';

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
