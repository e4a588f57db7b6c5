// What a monitoring system reads: one line and a status (Monitoring Plugins Development Guidelines, "Plugin Output").
import {safeLine} from '../../shared/safe-text.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {type CheckStatus, type CliError, checkStatuses} from '../errors.ts';

export interface Figure {
  label: string;
  value: number;
  /** `s` for seconds; nothing for a number of things. */
  unit?: 's';
  /** It is a warning, or critical, when the value is above. */
  warnAbove?: number;
  criticalAbove?: number;
  max?: number;
}

export interface Verdict {
  status: CheckStatus;
  text: string;
  figures: Figure[];
}

/** Some systems keep no more than this of a line. */
const maxTextChars = 600;

export const checkLine = ({status, text, figures}: Verdict): string =>
  `MFD CLUSTER ${nameOf(status)}: ${plainText(text)} | ${figures.map(figureText).join(' ')}\n`;

/** Of wrong usage and the like: nothing is known of the cluster. */
export const reportUnknown = ({stdout}: Terminal, {detail, hint}: CliError): CheckStatus => {
  const text = hint === undefined ? detail : `${detail}; ${hint}`;
  stdout.write(checkLine({status: checkStatuses.unknown, text, figures: [{label: 'time', value: 0, unit: 's'}]}));
  return checkStatuses.unknown;
};

const nameOf = (status: CheckStatus): string =>
  Object.entries(checkStatuses)
    .find(([, number]) => number === status)?.[0]
    .toUpperCase() ?? 'UNKNOWN';

/** A bar would begin the figures. */
const plainText = (text: string): string => {
  const line = safeLine(text).replaceAll('|', '/');
  return line.length > maxTextChars ? `${line.slice(0, maxTextChars)}...` : line;
};

/** `'label'=value[UOM];[warn];[crit];[min];[max]` */
const figureText = ({label, value, unit, warnAbove, criticalAbove, max}: Figure): string => {
  const limits = [warnAbove, criticalAbove, 0, max].map(limit => (limit === undefined ? '' : numberText(limit)));
  return `'${label}'=${numberText(value)}${unit ?? ''};${limits.join(';')}`.replace(/;+$/, '');
};

/** The program that reads it knows neither exponents nor groups of digits. */
const numberText = (value: number): string => String(Math.round(value * 1000) / 1000);
