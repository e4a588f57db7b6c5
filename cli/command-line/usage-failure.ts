// Usage errors of commander as errors of mfctl, with a suggestion.
import type {Command, CommanderError} from 'commander';
import {type CliError, usageError} from '../errors.ts';
import {collected} from './option-values.ts';
import {pathOf, readWords, subcommandOf} from './typed-words.ts';

/** Commander says `error: unknown option '--foo'` and, on the next line, `(Did you mean --food?)`. */
export const usageFailure = ({message}: CommanderError, program: Command, argv: readonly string[]): CliError => {
  const [what = '', suggestion] = message.replace(/^error: /, '').split('\n');
  const help = `${commandPath(program, argv)} --help`;
  const meant = withoutNoun(program, argv) ?? /^\(Did you mean (.*)\?\)$/.exec(suggestion ?? '')?.[1];
  return usageError(
    what
      .replace(/\.$/, '')
      .replace(/^command-argument value '(.*)' is invalid for argument '([^']+)'/s, "'$1' is not valid as '$2'"),
    meant === undefined ? help : `did you mean ${meant}? See ${help}`,
  );
};

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

/** The commands of that name, for a command line that lacks the noun: `list` gives `quarantine list, domain list or key list`. */
const withoutNoun = (program: Command, argv: readonly string[]): string | undefined => {
  const {command, operands} = readWords(program, argv);
  const [word] = operands;
  if (command !== program || word === undefined) return undefined;
  const nouns = program.createHelp().visibleCommands(program);
  const found = [nouns, nouns.flatMap(noun => noun.commands)].map(parents =>
    parents.filter(parent => subcommandOf(parent, word)),
  );
  const [first, ...others] = (found.find(parents => parents.length > 0) ?? []).map(parent => [...pathOf(parent), word].join(' '));
  return others.length === 0 ? first : `${[first, ...others.slice(0, -1)].join(', ')} or ${others.at(-1)}`;
};
