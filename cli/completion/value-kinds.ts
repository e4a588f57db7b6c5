// Kinds of values that complete each argument and option, by its name. A test knows those that cannot be completed, and finds
// others that are missing here.
import type {Command} from 'commander';
import {eventTypes} from '../../shared/event-type.ts';

/** Kinds whose values only a node knows. */
export type LiveKind = 'node' | 'mail' | 'domain' | 'key' | 'filter' | 'selector' | 'action';

/** A list contains all choices. `@file` is a file after an @. */
export type ValueKind = LiveKind | 'context' | 'command' | 'field' | 'recordField' | 'file' | '@file' | readonly string[];

/** Several of them, separated by commas. */
export interface ValueList {
  listOf: ValueKind;
}

/**
 * By the name of an argument or option, after as much of the command's path as makes it unique. Arguments that
 * declare their choices need no entry.
 */
const kinds: Record<string, ValueKind | ValueList> = {
  '--context': 'context',
  '--api-key-file': 'file',
  '--cacert': 'file',
  '--json': {listOf: 'field'},
  '--sort': 'recordField',

  '<command>': 'command',
  'context use <name>': 'context',
  'context remove <name>': 'context',

  '--key-file': 'file',
  '<key>': 'key',
  '--key': 'key',

  '<domain>': 'domain',
  '--domain': 'domain',
  '<file>': 'file',
  '--file': 'file',
  'domain filters <id>': 'filter',
  '<selector>': 'selector',

  'quarantine <id>': 'mail',
  '--output-file': 'file',

  '<node>': 'node',
  '--node': 'node',

  '--key-id': 'key',
  '--action': 'action',
  '--type': {listOf: eventTypes},

  'api <method>': ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  '--data': '@file',
};

/** `name` is `--flag`, or `<argument>` whether it is optional or repeated or not. Undefined when the table has no entry. */
export const valueKindOf = (command: Command, name: string): ValueKind | ValueList | undefined => {
  for (let path = pathOf(command); path.length > 0; path = path.slice(0, -1)) {
    const kind = kinds[[...path, name].join(' ')];
    if (kind !== undefined) return kind;
  }
  return kinds[name];
};

/** Without the program's own name. */
const pathOf = (command: Command): string[] => (command.parent ? [...pathOf(command.parent), command.name()] : []);
