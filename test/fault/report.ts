// The result table of a fault run, and its summary.
import {columns} from '../helpers/columns.ts';
import type {Fault, FaultReport} from './fault.ts';

export interface Outcome {
  fault: Fault;
  seconds: number;
  report: FaultReport;
  /** The reason why it was not run. */
  missing?: string;
}

export const tableOf = (outcomes: readonly Outcome[]): string =>
  columns([['fault', 'rounds', 'wanted', '', 'seen', 'seconds'], ...outcomes.map(cellsOf)]);

/** The last line of a run. */
export const summaryOf = (outcomes: readonly Outcome[], seed: string): string => {
  const failed = outcomes.filter(({report, missing}) => missing !== undefined || report.violations.length > 0);
  const passed = `${outcomes.length - failed.length} of ${outcomes.length} faults passed, seed ${seed}`;
  return failed.length === 0 ? passed : `${passed}; failed: ${failed.map(({fault}) => fault.name).join(', ')}`;
};

const cellsOf = ({fault, seconds, report: {rounds, violations, figures}, missing}: Outcome): string[] => {
  const seen = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  const verdict = missing === undefined ? (violations.length === 0 ? 'pass' : `${violations.length} VIOLATIONS`) : 'NOT RUN';
  return [
    `${fault.name}: ${fault.title}`,
    `${rounds} of ${fault.rounds}`,
    fault.pass,
    verdict,
    missing ?? seen.join(', '),
    String(seconds),
  ];
};
