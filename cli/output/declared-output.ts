// Declared output of each command: its help lists the fields, and the output options are checked
// before the command runs.
import type {Command} from 'commander';
import type {Terminal} from '../command-line/terminal.ts';
import {pathOf} from '../command-line/typed-words.ts';
import {usageError} from '../errors.ts';
import type {ToYaml} from './data-text.ts';
import {foldWords} from './display-width.ts';
import {chooseFields, type FieldChoice, type OutputFlags, type OutputFormat, outputFormat} from './output-format.ts';
import type {DrawTable, Fields} from './table.ts';

/** The result of `-o`, `--json` and the environment for one command. */
export interface OutputPlan {
  format: OutputFormat;
  choice: FieldChoice | undefined;
  toYaml: ToYaml | undefined;
  /** For kinds of records whose tables are short. */
  draw?: DrawTable | undefined;
}

export type DeclaredOutput = Map<Command, Fields<never>>;

export const planOutput = async (
  terminal: Terminal,
  flags: OutputFlags,
  {command, declared}: {command: Command; declared: DeclaredOutput},
): Promise<OutputPlan> => {
  const format = outputFormat(terminal, flags);
  const {json} = flags;
  const fields = declared.get(command);
  if (json !== undefined && fields === undefined)
    throw usageError(`mfctl ${pathOf(command).join(' ')} prints no records with fields that --json could pick`);
  return {
    format,
    choice: json === undefined || fields === undefined ? undefined : chooseFields(json, fields),
    toYaml: format === 'yaml' ? (await import('./safe-yaml.ts')).safeYaml : undefined,
    draw:
      fields?.isShort && (format === 'table' || format === 'wide')
        ? (await import('./short-table.ts')).drawShortTable
        : undefined,
  };
};

/** For the help of a command, as wide as the rest of it. */
export const fieldsHelp = (command: Command, {fields, answerFields = []}: Fields<never>): string => {
  const width = command.configureOutput().getOutHelpWidth?.() ?? 80;
  const lines = (names: readonly string[]): string => `  ${foldWords(names.join(', '), {indent: 2, width})}`;
  const ofAnswer = answerFields.length === 0 ? '' : `\nor, of the whole answer:\n${lines(answerFields)}`;
  return `\nFields for --json:\n${lines(fields)}${ofAnswer}`;
};
