// Services of the shell for its screens.
import {createContext, useContext} from 'react';
import type {Permission} from '../../../shared/scopes.ts';
import type {Connection} from '../../client/connection.ts';
import type {Tone} from '../../output/tone.ts';
import type {AppContext} from './app-context.ts';
import type {DeferredAction} from './deferred-actions.ts';
import type {Binding} from './keys.ts';
import type {Modal} from './modal.ts';

export const screenNames = ['cluster', 'quarantine', 'domains', 'keys', 'audit', 'events'] as const;
export type ScreenName = (typeof screenNames)[number];

export interface Size {
  columns: number;
  rows: number;
}

/** What is typed after `:`. */
export interface ScreenCommand {
  name: string;
  help: string;
  /** Said to be refused without it. */
  needs?: Permission;
  /** Rejects or throws with a CliError that is shown. */
  run(argument: string): void;
  complete?(argument: string): readonly string[];
}

/** Keys and commands of the screen that is shown. */
export interface ScreenBindings {
  bindings: readonly Binding[];
  commands?: readonly ScreenCommand[];
}

export interface Shell {
  app: AppContext;
  /** When this is drawn. */
  nowMs: number;
  /** Room for the screen. */
  size: Size;
  /** False while a modal has the keys: its cursor is drawn faint then. */
  isActive: boolean;
  /** In the message line, for some seconds. */
  say(text: string, tone?: Tone): void;
  /** Anything thrown, in the message line. */
  fail(error: unknown): void;
  open(modal: Modal): void;
  /** At once, or when the one that is open is closed: for what comes after waiting, when somebody may be typing elsewhere. */
  openLater(modal: Modal): void;
  close(): void;
  goTo(screen: ScreenName): void;
  /** Does it after a short delay in which `u` takes it back. */
  defer(action: DeferredAction): void;
  bind(bindings: ScreenBindings): void;
  /** Goes on as another key, from the beginning, and says that. */
  reconnect(connection: Connection, greeting: string): void;
}

export const ShellContext = createContext<Shell | undefined>(undefined);

export const useShell = (): Shell => {
  const shell = useContext(ShellContext);
  if (shell === undefined) throw new Error('there is no shell around this component');
  return shell;
};
