// What the screens of one context work with.
import type {Me} from '../../shared/api-key.ts';
import type {Permission} from '../../shared/scopes.ts';
import type {CliError} from '../cli-error.ts';
import type {Client} from '../client.ts';
import type {ContextStore} from '../context-store.ts';
import type {Terminal} from '../terminal.ts';
import type {Live} from './live.ts';
import {createSource, type Source, type SourceNeeds} from './source.ts';
import type {Theme} from './theme.ts';

export interface Desk {
  client: Client;
  /** Of the context, or the address of the node where there is none. */
  name: string;
  terminal: Terminal;
  contexts: ContextStore;
  live: Live;
  me: Me;
  theme: Theme;
  isReadOnly: boolean;
  /** What to say first. */
  greeting?: CliError;
  now(): number;
  /** Whether the key may do it, and the dashboard was not started to look only. */
  may(permission: Permission): boolean;
  /** The one source of that name; made at the first time. */
  source<T>(name: string, needs: Pick<SourceNeeds<T>, 'load' | 'refreshOn' | 'everyMs'>): Source<T>;
  /** What screens keep while another one is shown, by name. */
  kept: Map<string, unknown>;
}

export type DeskNeeds = Omit<Desk, 'may' | 'source' | 'kept' | 'now'> & {now?(): number};

const readingPermissions: readonly Permission[] = [
  'me:read',
  'keys:read',
  'domains:read',
  'quarantine:read',
  'cluster:read',
  'audit:read',
];

export const createDesk = ({now = Date.now, ...needs}: DeskNeeds): Desk => {
  const {live, me, isReadOnly} = needs;
  const sources = new Map<string, unknown>();
  return {
    ...needs,
    now,
    kept: new Map(),
    may: permission => me.permissions.includes(permission) && (!isReadOnly || readingPermissions.includes(permission)),
    source: <T>(name: string, source: Pick<SourceNeeds<T>, 'load' | 'refreshOn' | 'everyMs'>) => {
      const known = sources.get(name) as Source<T> | undefined;
      if (known) return known;
      const made = createSource<T>({...source, live, now});
      sources.set(name, made);
      return made;
    },
  };
};
