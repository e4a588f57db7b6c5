import {ownValue} from '../../shared/has-own.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {usageError} from '../errors.ts';
import type {Fields} from './table.ts';

export const outputFormats = ['table', 'wide', 'json', 'ndjson', 'yaml', 'csv', 'name'] as const;
export type OutputFormat = (typeof outputFormats)[number];

export interface OutputFlags {
  output?: OutputFormat;
  /** Names of fields, separated by commas. */
  json?: string;
}

/** The fields to print: those of each record, or of the answer around the records. */
export interface FieldChoice {
  names: readonly string[];
  isOfAnswer: boolean;
}

/** `--json` wins over the environment like every flag, and contradicts a format without fields. */
export const outputFormat = ({env}: Pick<Terminal, 'env'>, {output, json}: OutputFlags): OutputFormat => {
  if (json !== undefined) {
    if (output === undefined) return 'json';
    if (output === 'table' || output === 'wide' || output === 'name')
      throw usageError(
        `--json picks fields, and -o ${output} has none to pick`,
        'leave one of the two out; --json goes with -o json, ndjson, yaml and csv',
      );
    return output;
  }
  const asked = output ?? (env.MFCTL_OUTPUT || 'table');
  const format = outputFormats.find(name => name === asked);
  if (format === undefined)
    throw usageError(`MFCTL_OUTPUT is ${JSON.stringify(asked)}: it must be one of ${outputFormats.join(', ')}`);
  return format;
};

/** The fields of `--json`, each once, in its order. */
export const chooseFields = (text: string, {fields, answerFields = []}: Fields<never>): FieldChoice => {
  const names = [...new Set(text.split(',').map(name => name.trim()))];
  if (names.every(name => fields.includes(name))) return {names, isOfAnswer: false};
  if (names.every(name => answerFields.includes(name))) return {names, isOfAnswer: true};

  const known = [fields, answerFields].filter(list => list.length > 0).map(list => list.join(', '));
  const unknown = names.find(name => !fields.includes(name) && !answerFields.includes(name));
  const what = unknown === undefined ? 'these fields are not of one record' : `there is no field ${JSON.stringify(unknown)}`;
  throw usageError(`${what}; there are ${known.join('; or of the whole answer ')}`);
};

/** Missing members become null, so that all records have the same members. */
export const pick = (record: unknown, {names}: FieldChoice): Record<string, unknown> => {
  const members = record as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.map(name => [name, ownValue(members, name) ?? null]));
};
