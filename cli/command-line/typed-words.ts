// Parser of a partly typed command line, which follows the tree of commands as commander does, but never fails.
import type {Command, Option} from 'commander';
import {quoted} from '../../shared/shell-word.ts';

export interface TypedWords {
  command: Command;
  operands: string[];
  /** Values by given option; empty for flags. */
  given: Map<Option, string[]>;
  /** The option whose value comes next. */
  awaiting: Option | undefined;
  /** After `--` no word is an option. */
  isAfterDashes: boolean;
}

export const readWords = (program: Command, words: readonly string[]): TypedWords => {
  const typed: TypedWords = {command: program, operands: [], given: new Map(), awaiting: undefined, isAfterDashes: false};
  for (const word of words) readWord(typed, word);
  return typed;
};

const readWord = (typed: TypedWords, word: string): void => {
  if (typed.isAfterDashes) typed.operands.push(word);
  else if (typed.awaiting && isValueOf(typed.awaiting, typed, word)) take(typed, typed.awaiting, word);
  else if (word === '--') typed.isAfterDashes = true;
  else if (isOptionWord(word)) readOption(typed, word);
  else readOperand(typed, word);
};

/** A value may begin with a hyphen, unless it is optional. */
const isValueOf = (option: Option, {given}: TypedWords, word: string): boolean =>
  !isOptionWord(word) || (option.required && !(option.variadic && given.get(option)?.length));

const take = (typed: TypedWords, option: Option, value: string): void => {
  typed.given.set(option, [...(typed.given.get(option) ?? []), value]);
  typed.awaiting = option.variadic ? option : undefined;
};

const readOption = (typed: TypedWords, word: string): void => {
  typed.awaiting = undefined;
  const {option, value} = optionWord(typed.command, word);
  if (option === undefined) return;
  typed.given.set(option, typed.given.get(option) ?? []);
  if (value !== undefined) take(typed, option, value);
  else if (takesValue(option)) typed.awaiting = option;
};

const readOperand = (typed: TypedWords, word: string): void => {
  typed.awaiting = undefined;
  const next = typed.operands.length === 0 ? subcommandOf(typed.command, word) : undefined;
  if (next) typed.command = next;
  else typed.operands.push(word);
};

export const isOptionWord = (word: string): boolean => word.length > 1 && word.startsWith('-');

/** The option of `--reason=spam`, `-ojson`, `-q` or `--quiet`, and its value if the word contains it. */
export const optionWord = (command: Command, word: string): {option: Option | undefined; value: string | undefined} => {
  const equals = word.startsWith('--') ? word.indexOf('=') : -1;
  const flag = equals > 0 ? word.slice(0, equals) : word;
  const exact = optionsOf(command).find(({long, short}) => long === flag || short === flag);
  if (exact !== undefined) return {option: exact, value: equals > 0 ? word.slice(equals + 1) : undefined};

  const option = word.startsWith('--') ? undefined : optionsOf(command).find(({short}) => short === word.slice(0, 2));
  return {option, value: option && takesValue(option) ? word.slice(2) : undefined};
};

export const takesValue = ({required, optional}: Option): boolean => required || optional;

/** The options of the command, then those of the commands above it, which every command accepts. */
export const optionsOf = (command: Command): readonly Option[] => [
  ...command.options.filter(({hidden}) => !hidden),
  ...(command.parent ? optionsOf(command.parent) : []),
];

export const subcommandOf = (command: Command, word: string): Command | undefined =>
  command.commands.find(candidate => candidate.name() === word || candidate.aliases().includes(word));

/** The names that lead to a command, without that of the program. */
export const pathOf = (command: Command): string[] => (command.parent ? [...pathOf(command.parent), command.name()] : []);

/** The typed command with another `--offset`: the next page of the same list. */
export const withOffset = (argv: readonly string[], offset: number): string => {
  const kept = argv.filter((word, at) => word !== '--offset' && !word.startsWith('--offset=') && argv[at - 1] !== '--offset');
  return ['mfctl', ...kept, '--offset', String(offset)].map(quoted).join(' ');
};

/** Pairs of names that mean the same. */
const twins = [
  ['get', 'show'],
  ['delete', 'remove'],
] as const;

/** Gives each command that has one name of a pair the other one as an alias, so that nobody has to remember which noun uses which. */
export const addAliases = (command: Command): void => {
  for (const sub of command.commands) {
    const [one, other] = twins.find(names => names.some(name => name === sub.name())) ?? [];
    if (one !== undefined && other !== undefined) sub.alias(sub.name() === one ? other : one);
    addAliases(sub);
  }
};
