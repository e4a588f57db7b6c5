// Services of the shell for its screens.
import {createContext, useContext} from 'react';
import {type Permission, scopesWith} from '../../../shared/scopes.ts';
import type {Connection} from '../../client/connection.ts';
import type {Tone} from '../../output/column.ts';
import type {AppContext} from './app-context.ts';
import type {DeferredAction} from './deferred-actions.ts';
import type {Binding} from './keys.ts';
import type {Modal} from './modal.ts';
import type {ScreenName} from './screen-names.ts';

export interface Size {
  columns: number;
  rows: number;
}

/** A command that is typed after `:`. */
export interface ScreenCommand {
  name: string;
  help: string;
  /** Without this permission the command is refused. */
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
  /** The area of the screen, without the shell's lines. */
  size: Size;
  /** False while a modal takes the keys: the cursor of the screen is drawn faint then. */
  isActive: boolean;
  /** Shows a message for some seconds. */
  say(text: string, tone?: Tone): void;
  /** Shows any thrown value as a message. */
  fail(error: unknown): void;
  open(modal: Modal): void;
  /** Opens a modal at once, or after the open one is closed: for results that arrive while the user may be typing elsewhere. */
  openLater(modal: Modal): void;
  close(): void;
  goTo(screen: ScreenName): void;
  /** Runs the action after a short delay in which `u` undoes it. */
  defer(action: DeferredAction): void;
  bind(bindings: ScreenBindings): void;
  /** Starts again with another key, and shows the greeting. */
  reconnect(connection: Connection, greeting: string): void;
}

/** Runs the action, and shows what it throws or rejects with. */
export const guarded = async ({fail}: Pick<Shell, 'fail'>, act: () => void | Promise<void>): Promise<void> => {
  try {
    await act();
  } catch (error) {
    fail(error);
  }
};

export const ShellContext = createContext<Shell | undefined>(undefined);

export const useShell = (): Shell => {
  const shell = useContext(ShellContext);
  if (shell === undefined) throw new Error('there is no shell around this component');
  return shell;
};

/** Why the permission is missing here, or undefined when it is not. */
export const whyNot = (
  {may, me, isReadOnly}: Pick<AppContext, 'may' | 'me' | 'isReadOnly'>,
  permission: Permission,
): string | undefined => {
  if (may(permission)) return undefined;
  if (me.permissions.includes(permission) && isReadOnly) return 'the dashboard was opened with --read-only: it changes nothing';
  return `this ${me.scope} key may not do that; it takes a ${scopesWith(permission).join(' or ')} key (c chooses another context)`;
};
