// App context: client, state and services for the screens of one mfctl context.
import type {Me} from '../../../shared/api-key.ts';
import type {Permission} from '../../../shared/scopes.ts';
import type {Client} from '../../client/client.ts';
import type {Connection} from '../../client/connection.ts';
import type {Terminal} from '../../command-line/terminal.ts';
import type {CliError} from '../../errors.ts';
import type {ContextStore} from '../../files/context-store.ts';
import {type EventLog, startEventLog} from './event-log.ts';
import type {Live} from './live.ts';
import {createNotices, type Notices} from './notices.ts';
import {createSource, type Source, type SourceOptions} from './source.ts';
import type {Theme} from './theme.ts';

type SourceOf<T> = Omit<SourceOptions<T>, 'live' | 'now'>;

export interface AppContext {
  client: Client;
  /** The connection of `client`. */
  connection: Connection;
  clientFor(connection: Connection): Promise<Client>;
  /** Of the context, or the address of the node where there is none. */
  name: string;
  terminal: Terminal;
  contexts: ContextStore;
  live: Live;
  /** Records events from the start, so that the events screen shows what happened before it was opened. */
  eventLog: EventLog;
  me: Me;
  theme: Theme;
  isReadOnly: boolean;
  /** The first message. */
  greeting?: CliError | string;
  now(): number;
  /** Whether the key has the permission, and `--read-only` does not exclude it. */
  may(permission: Permission): boolean;
  /** The source of that name, created at the first call. */
  source<T>(name: string, needs: SourceOf<T>): Source<T>;
  notices: Notices;
  /** State of that name, made at the first call: it stays while another screen is shown. */
  kept<T>(name: string, make: () => T): T;
}

type AppContextNeeds = Omit<AppContext, 'may' | 'source' | 'kept' | 'notices' | 'now' | 'eventLog'> & {now?(): number};

const readingPermissions: readonly Permission[] = [
  'me:read',
  'keys:read',
  'domains:read',
  'quarantine:read',
  'cluster:read',
  'audit:read',
  'trace:read',
];

export const createAppContext = ({now = Date.now, ...needs}: AppContextNeeds): AppContext => {
  const {live, me, isReadOnly} = needs;
  const byName = new Map<string, unknown>();
  const kept: AppContext['kept'] = <T>(name: string, make: () => T) => {
    if (!byName.has(name)) byName.set(name, make());
    return byName.get(name) as T;
  };
  return {
    ...needs,
    now,
    eventLog: startEventLog({live, now}),
    kept,
    notices: createNotices(),
    may: permission => me.permissions.includes(permission) && (!isReadOnly || readingPermissions.includes(permission)),
    source: (name, source) => kept(`source ${name}`, () => createSource({...source, live, now})),
  };
};
