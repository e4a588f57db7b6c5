// Usage errors of commander as errors of mfctl, with a suggestion.
import type {Command, CommanderError} from 'commander';
import {quoted} from '../../shared/shell-word.ts';
import {type CliError, usageError} from '../errors.ts';
import {collected} from './option-values.ts';
import {meantCommands, meantOption} from './suggestion.ts';
import {isOptionWord, readWords, subcommandOf, type TypedWords} from './typed-words.ts';

/** Commander says `error: unknown option '--foo'`, and names any option that looks similar, which may do the opposite. */
export const usageFailure = ({message, code}: CommanderError, program: Command, argv: readonly string[]): CliError => {
  const [what = ''] = message.replace(/^error: /, '').split('\n');
  // Without the value behind an equals sign, which may be a key.
  const [keyOption] = /^unknown option '--(api-?key|key|token|password)\b/i.exec(what) ?? [];
  if (keyOption !== undefined)
    return usageError(
      `${keyOption}': keys are never arguments, which every user of a machine can see`,
      'use --api-key-file FILE, or MFCTL_API_KEY',
    );
  if (code === 'commander.excessArguments') {
    const unquoted = unquotedValue(program, argv);
    if (unquoted !== undefined) return usageError(what.replace(/\.$/, ''), `put a value with blanks in quotes: ${unquoted}`);
    const one = onlyOne(readWords(program, argv).command);
    if (one !== undefined) return usageError(what.replace(/\.$/, ''), `${one}; see ${commandPath(program, argv)} --help`);
  }
  const help = `${commandPath(program, argv)} --help`;
  const meant = meantBy(code, readWords(program, argv), what);
  return usageError(
    what
      .replace(/\.$/, '')
      .replace(/^command-argument value '(.*)' is invalid for argument '([^']+)'/s, "'$1' is not valid as '$2'"),
    meant === undefined ? help : `did you mean ${meant}? See ${help}`,
  );
};

/** `--subject 'two words'`, when the words that are too many stand behind the value of an option. */
const unquotedValue = (program: Command, argv: readonly string[]): string | undefined => {
  const at = argv.findIndex((_, index) => isValue(program, argv, index) && isOperand(program, argv, index + 1));
  if (at < 0) return undefined;
  const end = argv.findIndex((word, index) => index > at && isOptionWord(word));
  return `${argv[at - 1]} ${quoted(argv.slice(at, end < 0 ? undefined : end).join(' '))}`;
};

/** Whether the word is the value of the option before it. No value of the options of all commands has blanks. */
const isValue = (program: Command, argv: readonly string[], at: number): boolean => {
  const {awaiting} = readWords(program, argv.slice(0, at));
  return isOptionWord(argv[at - 1] ?? '') && awaiting !== undefined && !program.options.includes(awaiting);
};

/** Not the name of a command: what stands behind `-c NAME` is one, most often. */
const isOperand = (program: Command, argv: readonly string[], at: number): boolean => {
  const [before, after] = [at, at + 1].map(end => readWords(program, argv.slice(0, end)).operands.length);
  return at < argv.length && after !== before;
};

/** `one id at a time`, for a command that takes one argument. */
const onlyOne = ({registeredArguments: [only, ...others]}: Command): string | undefined =>
  only === undefined || others.length > 0 || only.variadic ? undefined : `one ${only.name()} at a time`;

const meantBy = (code: string, {command, operands: [word = '']}: TypedWords, what: string): string | undefined => {
  if (code === 'commander.unknownOption') return meantOption(command, /^unknown option '(.*)'$/.exec(what)?.[1] ?? '');
  return code === 'commander.unknownCommand' ? alternatives(meantCommands(command, word)) : undefined;
};

const alternatives = (names: readonly string[]): string | undefined =>
  names.length < 2 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;

/** Commander takes the last of two values, and the last of `--dkim --no-dkim`; which one was meant is a guess. `--url` may be repeated. */
export const refuseContradictions = (program: Command, argv: readonly string[]): void => {
  const {given} = readWords(program, argv);
  const help = `${commandPath(program, argv)} --help`;
  for (const [option, {length}] of given) {
    const takesMore = option.variadic || option.parseArg === collected || option.long === '--url';
    if (length > 1 && !takesMore) throw usageError(`option '${option.flags}' is given ${length} times`, help);
    const other = [...given.keys()].find(
      each => each.negate && !option.negate && each.attributeName() === option.attributeName(),
    );
    if (other) throw usageError(`option '${option.flags}' cannot be used with option '${other.flags}'`, help);
  }
};

/** The command that was typed as far as it exists: `mfctl domain dkim`. */
export const commandPath = (program: Command, argv: readonly string[]): string => {
  let command = program;
  const path = [program.name()];
  for (const word of argv) {
    const next = subcommandOf(command, word);
    if (!next) continue;
    command = next;
    path.push(next.name());
  }
  return path.join(' ');
};
