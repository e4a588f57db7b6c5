// Report on released or discarded mails.
import type {ActionOutcome, BulkResult, HoldAction} from '../../shared/held-mail.ts';
import {inMfctlWords} from '../client/request-failure.ts';
import {countText, plural, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Printer} from '../output/printer.ts';
import type {Listed} from '../output/resource.ts';
import {mailId} from './mail-id.ts';

const columns: Column<ActionOutcome>[] = [
  {title: 'ID', cell: mailId},
  {title: 'STATE', cell: outcome => outcome.state},
  {title: 'AT', cell: outcome => timeText(outcome.acted_at)},
  {title: 'BY KEY', cell: outcome => outcome.acted_by_key_id, align: 'right'},
  {title: 'NOTE', cell: outcome => (outcome.already ? 'was done before' : '')},
];

export const actionOutcomes: Listed<ActionOutcome> = {
  fields: ['node_id', 'queue_id', 'state', 'acted_at', 'acted_by_key_id', 'already'],
  nameOf: mailId,
  columns,
};

/** Failures are among the results, except in the table. */
export const bulkResults: Listed<BulkResult, ActionOutcome> = {
  ...actionOutcomes,
  fields: [...actionOutcomes.fields, 'error'],
  linesOf: all => all.filter(result => 'state' in result),
  none: 'nothing was done',
};

export const pastTense: Record<HoldAction, string> = {release: 'released', discard: 'discarded'};

/** The format `name` lists only what was done; the other formats for programs also list failures. */
export const printResults = (printer: Printer, results: readonly BulkResult[]): void =>
  printer.list(printer.format === 'name' ? results.filter(result => 'state' in result) : results, bulkResults);

/** Prints failures for output formats that do not contain them. Returns their number. */
export const warnOfFailures = (printer: Printer, results: readonly BulkResult[]): number => {
  const failed = results.filter(result => 'error' in result);
  if (printer.isForPeople || printer.format === 'name')
    for (const result of failed) {
      const {code, detail, fields = []} = result.error;
      const replies = fields.map(({path, detail: reply}) => `; ${path}: ${reply}`).join('');
      printer.warn(`${mailId(result)}: ${inMfctlWords(detail)} (${code})${replies}`);
    }
  return failed.length;
};

/** `990 mails released, 8 of them before by somebody else`. */
export const countResults = (action: HoldAction, results: readonly BulkResult[]): string => {
  const done = results.filter(result => 'state' in result);
  const before = done.filter(({already}) => already).length;
  return `${plural(done.length, 'mail')} ${pastTense[action]}${before > 0 ? `, ${countText(before)} of them before this` : ''}`;
};
