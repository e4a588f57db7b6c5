// Completion values that a node provides, each with a short description.

import {stat} from 'node:fs/promises';
import type {Command} from 'commander';
import type {ApiKey} from '../../shared/api-key.ts';
import {eventTypes} from '../../shared/event-type.ts';
import {mailEvents} from '../../shared/mail-event-name.ts';
import type {GlobalFilter} from '../../shared/mail-filter.ts';
import {type Client, createClient} from '../client/client.ts';
import {type ConnectionFlags, resolveConnection} from '../client/connection.ts';
import type {Terminal} from '../command-line/terminal.ts';
import {pathOf} from '../command-line/typed-words.ts';
import {findDomainId} from '../domain/find-domain.ts';
import type {ContextStore} from '../files/context-store.ts';
import {senderText} from '../output/cell-text.ts';
import {mailId} from '../quarantine/held-mail-columns.ts';
import {mailOf} from '../trace/event-fields.ts';

export interface Candidate {
  value: string;
  /** Hostile text; sanitised when it is printed. */
  about: string;
}

interface LiveQuestion {
  client: Client;
  /** The typed beginning of the value. */
  prefix: string;
  /** The arguments typed before. */
  operands: readonly string[];
}

/** More values do not help; lists of mail are requested up to this limit. */
export const maxValues = 200;

export const liveValues = (kind: LiveKind, question: LiveQuestion): Promise<Candidate[]> => askers[kind](question);

const askers: Record<LiveKind, (question: LiveQuestion) => Promise<Candidate[]>> = {
  node: async ({client}) => {
    const {data} = await client.cluster.status();
    return data.peers.map(({node_id, healthy, fqdn}) => ({value: node_id, about: `${healthy}, ${fqdn}`}));
  },
  mail: async ({client, prefix}) => {
    const [node] = prefix.includes('/') ? prefix.split('/') : [];
    const {data} = await client.quarantine.list({limit: maxValues, node});
    return data.map(mail => ({value: mailId(mail), about: `${mail.subject} (${senderText(mail.sender)})`}));
  },
  tracedMail: async ({client, prefix}) => {
    const [node] = prefix.includes('/') ? prefix.split('/') : [];
    const {data} = await client.trace.find({limit: maxValues, node});
    const newest = new Map(
      data.flatMap(event => (event.queue_id === null ? [] : [[mailOf(event) ?? '', event] as const])).toReversed(),
    );
    return [...newest]
      .toReversed()
      .map(([value, {event, subject, sender}]) => ({value, about: `${event}: ${subject ?? ''} (${senderText(sender)})`}));
  },
  domain: async ({client}) => {
    const {data} = await client.domains.list();
    return data.map(({name, direction, active}) => ({value: name, about: active ? direction : `${direction}, inactive`}));
  },
  key: async ({client, prefix}) => {
    const {data: keys} = await client.keys.list();
    const isOnlyOne = ({name}: ApiKey) => keys.filter(key => key.name === name).length === 1;
    const about = ({scope, revoked_at}: ApiKey) => `${scope}${revoked_at === null ? '' : ', revoked'}`;
    return [
      ...keys.map(key => ({value: String(key.id), about: `${key.name} (${about(key)})`})),
      // Names are offered once something is typed; until then each key appears once.
      ...keys.filter(key => prefix !== '' && isOnlyOne(key)).map(key => ({value: key.name, about: about(key)})),
    ];
  },
  filter: async ({client, operands: [domain = '']}) => {
    const {data} = await client.domains.filters(await findDomainId(client, domain));
    return filterCandidates(data);
  },
  globalFilter: async ({client}) => filterCandidates((await client.filters.list()).data),
  selector: async ({client, operands: [domain = '']}) => {
    const {data} = await client.domains.dkimKeys(await findDomainId(client, domain));
    return data.map(({selector, algorithm}) => ({value: selector, about: algorithm}));
  },
  webhook: async ({client}) => {
    const {data} = await client.webhooks.list();
    return data.map(({id, url, description}) => ({value: String(id), about: description ?? url}));
  },
  action: async ({client}) => {
    const {data} = await client.audit.list({limit: 1000});
    return [...new Set(data.map(({action}) => action))].toSorted().map(value => ({value, about: ''}));
  },
};

const filterCandidates = (filters: readonly GlobalFilter[]): Candidate[] =>
  filters.map(({id, action, match, pattern}) => ({value: String(id), about: `${action} ${match} ${pattern}`}));

interface AskNeeds {
  terminal: Terminal;
  flags: ConnectionFlags;
  contexts: ContextStore;
  version: string;
  /** Ends every request. */
  signal: AbortSignal;
}

export const createQuickClient = async ({terminal, flags, contexts, version, signal}: AskNeeds): Promise<Client> => {
  const [apiKeyFile, cacert] = await Promise.all([
    regularFile(flags.apiKeyFile, terminal.env, 'MFCTL_API_KEY_FILE'),
    regularFile(flags.cacert, terminal.env, 'MFCTL_CACERT'),
  ]);
  const connection = await resolveConnection(terminal, {...flags, apiKeyFile, cacert}, contexts);
  return createClient({connection, version, log: () => undefined, end: signal});
};

/**
 * Standard input belongs to the shell, and reading a pipe would take the data from the command itself. The shell has not yet
 * expanded `~`.
 */
const regularFile = async (given: string | undefined, env: Terminal['env'], variable: string): Promise<string | undefined> => {
  const file = given?.replace(/^~(?=\/)/, () => env.HOME ?? '~') ?? (env[variable] || undefined);
  if (file === undefined) return undefined;
  if (file === '-' || !(await stat(file)).isFile()) throw new Error(`${file} is not a file`);
  return file;
};

// Kinds of values that complete each argument and option, by its name. A test knows those that cannot be completed, and finds
// others that are missing here.

/** Kinds whose values only a node knows. */
export type LiveKind =
  | 'node'
  | 'mail'
  | 'tracedMail'
  | 'domain'
  | 'key'
  | 'filter'
  | 'globalFilter'
  | 'selector'
  | 'action'
  | 'webhook';

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
  'filter <id>': 'globalFilter',
  'webhook <id>': 'webhook',
  '<selector>': 'selector',

  'quarantine <id>': 'mail',
  'trace <mail>': 'tracedMail',
  '--event': {listOf: mailEvents},
  '--events': {listOf: mailEvents},
  '--output-file': 'file',

  '<node>': 'node',
  '--node': 'node',

  '--key-id': 'key',
  '--action': 'action',
  '--target': 'mail',
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
