// Suggestions for commands and options that do not exist: never one that does something else than what was typed.
import type {Command} from 'commander';
import {begunWord, nearestWord} from '../../shared/nearest-word.ts';
import {optionsOf, pathOf, subcommandOf} from './typed-words.ts';

/**
 * Groups of words with one meaning, as people and other programs use them. A word of one group is never taken for a misspelling of a
 * word in another. Where a word is in two groups, the first one with a command counts: what others delete, the quarantine discards.
 */
const meanings: readonly (readonly string[])[] = [
  ['list', 'ls', 'search', 'find', 'query', 'lookup'],
  ['status', 'list', 'ls', 'state', 'nodes', 'info'],
  ['show', 'get', 'view', 'describe', 'info', 'inspect'],
  ['create', 'add', 'new', 'make', 'insert'],
  ['add', 'create', 'new', 'make', 'insert'],
  ['delete', 'remove', 'rm', 'del', 'destroy', 'drop', 'erase'],
  ['discard', 'delete', 'remove', 'rm', 'del', 'destroy', 'drop', 'erase', 'purge', 'trash'],
  ['update', 'set', 'edit', 'modify', 'change'],
  ['release', 'deliver', 'unhold', 'forward', 'accept', 'approve'],
  // No command: a mail that was taken in is not answered with a bounce.
  ['reject', 'bounce'],
  ['revoke', 'disable'],
  ['rotate', 'renew', 'regenerate'],
  ['body', 'download', 'save', 'raw'],
  ['export', 'dump', 'backup'],
  ['apply', 'import', 'restore'],
  ['watch', 'follow', 'tail', 'monitor'],
  ['summary', 'count', 'stats', 'statistics'],
  ['use', 'switch', 'select'],
  ['check', 'verify', 'health'],
  ['allow', 'enable', 'activate', 'unblock'],
  ['block', 'deny', 'ban'],
  ['key', 'user', 'account', 'apikey', 'api-key'],
  ['events', 'log', 'history'],
  ['quarantine', 'mail', 'held', 'hold', 'queue', 'message', 'email'],
  ['filter', 'rule', 'allowlist', 'blocklist', 'whitelist', 'blacklist'],
  ['cluster', 'node', 'peer', 'member'],
  ['context', 'config', 'profile'],
  ['dashboard', 'top', 'ui', 'tui', 'gui'],
];

/** The commands that `word` means below `parent`, as they are typed after it; empty when that cannot be told. */
export const meantCommands = (parent: Command, word: string): string[] => {
  const found = commandFor(parent, word);
  if (found !== undefined) return [found];
  return parent.parent ? [] : withoutNoun(parent, word);
};

/** The option that was meant. */
export const meantOption = (command: Command, word: string): string | undefined => {
  const names = optionsOf(command).flatMap(({long}) => (long ? [long.slice(2)] : []));
  const typed = word.replace(/^-+/, '').replace(/=.*/s, '');
  const near = begunWord(typed, names) ?? nearestWord(typed, names);
  return near === undefined ? undefined : `--${near}`;
};

const commandFor = (parent: Command, word: string): string | undefined => {
  const groups = groupsOf(word);
  const [same] = groups
    .flatMap(names => names.map(name => subcommandOf(parent, name)?.name()))
    .filter(name => name !== undefined);
  if (same !== undefined || groups.length > 0) return same;

  const siblings = parent.commands.flatMap(command => [command.name(), ...command.aliases()]);
  const near = begunWord(word, siblings) ?? nearestWord(word, [...siblings, ...meanings.flat()]);
  if (near === undefined) return undefined;
  return subcommandOf(parent, near)?.name() ?? commandFor(parent, near);
};

/** `users` and `logs` are several of what `user` and `log` mean. */
const groupsOf = (word: string): readonly (readonly string[])[] =>
  [word, word.replace(/s$/, '')].map(name => meanings.filter(names => names.includes(name))).find(({length}) => length > 0) ?? [];

/** The commands of that name, or of that meaning, of every noun: `list` gives `quarantine list`, `domain list` and more. */
const withoutNoun = (program: Command, word: string): string[] => {
  const nouns = program.createHelp().visibleCommands(program);
  const places = [nouns, nouns.flatMap(noun => noun.commands)];
  for (const name of [word, ...groupsOf(word).flat()]) {
    const parents = places.map(all => all.filter(noun => subcommandOf(noun, name))).find(({length}) => length > 0);
    if (parents) return parents.map(parent => [...pathOf(parent), name].join(' '));
  }
  return [];
};
