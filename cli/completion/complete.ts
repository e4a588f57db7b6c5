// Completions of the last word of a command line.

import type {Argument, Command, Option} from 'commander';
import {hasOwn} from '../../shared/has-own.ts';
import type {ConnectionFlags} from '../client/connection.ts';
import {collected} from '../command-line/option-values.ts';
import {
  isOptionWord,
  optionsOf,
  optionWord,
  readWords,
  subcommandOf,
  type TypedWords,
  takesValue,
} from '../command-line/typed-words.ts';
import {helpTopics} from '../help/help-topics.ts';
import type {Session} from '../session.ts';
import {
  type Candidate,
  createQuickClient,
  type LiveKind,
  liveValues,
  maxValues,
  type ValueKind,
  type ValueList,
  valueKindOf,
} from './live-values.ts';

export interface Completion {
  /** Whole words, with the part before the value, such as `--reason=`. */
  candidates: Candidate[];
  /** For files: the number of characters of the word before the file name. */
  filesFrom: number | undefined;
}

interface CompletionNeeds {
  program: Command;
  session: Pick<Session, 'terminal' | 'version' | 'contexts' | 'fieldsOf'>;
  signal: AbortSignal;
}

/** The word as it is typed: `head` stays, `part` is the beginning of the value. */
interface PartialWord {
  head: string;
  part: string;
}

const nothing: Completion = {candidates: [], filesFrom: undefined};

/** Rejects when the node does not answer. */
export const complete = async (needs: CompletionNeeds, words: readonly string[]): Promise<Completion> => {
  const current = words.at(-1) ?? '';
  const typed = readWords(needs.program, words.slice(0, -1));
  const {command, awaiting} = typed;

  if (awaiting?.required || (awaiting && !current.startsWith('-')))
    return values(needs, typed, {kind: kindOfOption(command, awaiting), word: {head: '', part: current}});
  if (current.startsWith('-') && !typed.isAfterDashes) {
    const {option, value} = isOptionWord(current) ? optionWord(command, current) : {};
    if (!option || value === undefined || !takesValue(option)) return among(optionNames(typed, current), current);
    const head = current.slice(0, current.length - value.length);
    return values(needs, typed, {kind: kindOfOption(command, option), word: {head, part: value}});
  }
  if (command.commands.length > 0) return typed.operands.length === 0 ? among(commandNames(command, current), current) : nothing;

  const argument = argumentAt(command, typed.operands.length);
  if (argument) return values(needs, typed, {kind: kindOfArgument(command, argument), word: {head: '', part: current}});
  return current === '' && !typed.isAfterDashes ? among(optionNames(typed, current), current) : nothing;
};

export const kindOfOption = (command: Command, option: Option): ValueKind | ValueList | undefined =>
  option.argChoices ?? valueKindOf(command, option.long ?? option.flags);

export const kindOfArgument = (command: Command, argument: Argument): ValueKind | ValueList | undefined =>
  argument.argChoices ?? valueKindOf(command, `<${argument.name()}>`);

/** The last argument takes all further words when it is variadic. */
const argumentAt = ({registeredArguments}: Command, at: number): Argument | undefined => {
  const last = registeredArguments.at(-1);
  return registeredArguments[at] ?? (last?.variadic ? last : undefined);
};

const values = async (
  needs: CompletionNeeds,
  typed: TypedWords,
  {kind, word}: {kind: ValueKind | ValueList | undefined; word: PartialWord},
): Promise<Completion> => {
  if (kind === undefined) return nothing;
  if (typeof kind === 'object' && hasOwn(kind, 'listOf')) {
    const comma = word.part.lastIndexOf(',') + 1;
    const rest = {head: word.head + word.part.slice(0, comma), part: word.part.slice(comma)};
    return values(needs, typed, {kind: kind.listOf, word: rest});
  }
  if (kind === 'file') return {candidates: [], filesFrom: word.head.length};
  if (kind === '@file') return word.part.startsWith('@') ? {candidates: [], filesFrom: word.head.length + 1} : nothing;
  const found = await valuesOf(needs, typed, {kind, word});
  // Values that were typed before are left out.
  const fit = found.filter(({value}) => isPlainWord(value) && !typed.operands.includes(value));
  return among(fit, word.part, word.head);
};

const valuesOf = async (
  {program, session, signal}: CompletionNeeds,
  typed: TypedWords,
  {kind, word}: {kind: Exclude<ValueKind, 'file' | '@file'>; word: PartialWord},
): Promise<Candidate[]> => {
  if (isList(kind)) return kind.map(value => ({value, about: ''}));
  if (kind === 'command') return commandsBelow(program, typed.operands);
  if (kind === 'field') {
    const {fields = [], answerFields = []} = session.fieldsOf(typed.command) ?? {};
    return [...fields, ...answerFields].map(value => ({value, about: ''}));
  }
  if (kind === 'recordField') return (session.fieldsOf(typed.command)?.fields ?? []).map(value => ({value, about: ''}));
  if (kind === 'context') {
    const {contexts} = await session.contexts.read();
    return contexts.map(({name, url}) => ({value: name, about: url}));
  }
  kind satisfies LiveKind;
  const client = await createQuickClient({...session, signal, flags: connectionFlags(typed)});
  return liveValues(kind, {client, prefix: word.part, operands: typed.operands});
};

const isList = (kind: ValueKind): kind is readonly string[] => Array.isArray(kind);

const connectionFlags = ({given}: TypedWords): ConnectionFlags => {
  const flags: Record<string, string | undefined> = {};
  for (const [option, texts] of given) flags[option.attributeName()] = texts.at(-1);
  const {context, url, apiKeyFile, cacert} = flags;
  return {context, url, apiKeyFile, cacert};
};

const commandsBelow = (program: Command, path: readonly string[]): Candidate[] => {
  let command: Command | undefined = program;
  for (const word of path) command = command && subcommandOf(command, word);
  if (!command) return [];
  const topics = path.length === 0 ? helpTopics.map(({name, about}) => ({value: name, about})) : [];
  return [...commandNames(command, ''), ...topics];
};

/** Aliases are offered only when their beginning is typed. */
const commandNames = (command: Command, current: string): Candidate[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .flatMap(sub => {
      const aliases = current === '' ? [] : sub.aliases();
      return [sub.name(), ...aliases].map(value => ({value, about: sub.summary() || sub.description()}));
    });

/** For an empty word only the options of the command itself, mandatory ones first. */
const optionNames = ({command, given}: TypedWords, current: string): Candidate[] => {
  const own = command.createHelp().visibleOptions(command);
  const inherited = optionsOf(command).filter(option => !own.includes(option));
  return [...own.filter(({mandatory}) => mandatory), ...own.filter(({mandatory}) => !mandatory), ...(current ? inherited : [])]
    .filter(option => !given.has(option) || option.variadic || option.parseArg === collected)
    .flatMap(({long, short, description}) => {
      const names = [long ?? short, current === short ? short : undefined];
      return [...new Set(names)].flatMap(value => (value === undefined ? [] : [{value, about: description}]));
    });
};

/** Words that no shell has to quote, and that no shell interprets. */
const isPlainWord = (value: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$/.test(value);

const among = (candidates: readonly Candidate[], part: string, head = ''): Completion => ({
  candidates: candidates
    .filter(({value}) => value.startsWith(part))
    .slice(0, maxValues)
    .map(({value, about}) => ({value: head + value, about})),
  filesFrom: undefined,
});

/** The word without quotes and backslashes (POSIX shell, section 2.2). Nothing in it is expanded; an open quote ends with the word. */
export const unquoted = (word: string): string => {
  let text = '';
  let quote = '';
  for (let at = 0; at < word.length; at += 1) {
    const char = word.charAt(at);
    const next = word.charAt(at + 1);
    if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
    else if (char === '\\' && quote !== "'" && (quote === '' || '$`"\\'.includes(next))) {
      text += next;
      at += 1;
    } else text += char;
  }
  return text;
};
