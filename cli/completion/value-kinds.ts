// Kinds of values that complete each argument and option, by its name. A test finds those that are missing here.
import type {Command} from 'commander';
import {eventTypes} from '../../shared/event-type.ts';

/** Kinds whose values only a node knows. */
export type LiveKind = 'node' | 'mail' | 'domain' | 'key' | 'filter' | 'selector' | 'action';

/** `free` cannot be completed. A list contains all choices. `@file` is a file after an @. */
export type ValueKind =
  | LiveKind
  | 'context'
  | 'command'
  | 'field'
  | 'recordField'
  | 'file'
  | '@file'
  | 'free'
  | readonly string[];

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
  '--url': 'free',
  '--metrics-url': 'free',
  '--api-key-file': 'file',
  '--cacert': 'file',
  '--json': {listOf: 'field'},
  '--sort': 'recordField',

  '<command>': 'command',
  '<name>': 'free',
  '<url>': 'free',
  'context use <name>': 'context',
  'context remove <name>': 'context',

  '--name': 'free',
  '--rate-limit': 'free',
  '--expires-at': 'free',
  '--expires-in': 'free',
  '--at': 'free',
  '--in': 'free',
  '--for': 'free',
  '--undo-delay': 'free',
  '--retry-for': 'free',
  '--fingerprint': 'free',
  '--overlap': 'free',
  '--key-file': 'file',
  '<key>': 'key',
  '--key': 'key',

  '<domain>': 'domain',
  '--domain': 'domain',
  '--backend': 'free',
  '--quarantine-threshold': 'free',
  '--reject-threshold': 'free',
  '--tenant-id': 'free',
  '<file>': 'file',
  '--file': 'file',
  'domain filters <id>': 'filter',
  '--score': 'free',
  '--sender-domain': 'free',
  '--header': 'free',
  '--comment': 'free',
  'domain dkim create --selector': 'free',
  '<selector>': 'selector',

  'quarantine <id>': 'mail',
  '--output-file': 'file',
  '--sender': 'free',
  '--recipient': 'free',
  '--subject': 'free',
  '--since': 'free',
  '--until': 'free',
  '--min-score': 'free',
  '--max-score': 'free',
  '--limit': 'free',
  '--last': 'free',
  '--offset': 'free',
  '--expect-count': 'free',
  '--interval': 'free',
  '--timeout': 'free',

  '<node>': 'node',
  '--node': 'node',
  '--backlog': 'free',
  '--drift-age': 'free',

  '--key-id': 'key',
  '--action': 'action',
  '--type': {listOf: eventTypes},

  'api <method>': ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  'api <path>': 'free',
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
