// Start and end of the dashboard: takes the terminal over, and gives it back as it was.
import {render} from 'ink';
import {CliError} from '../errors.ts';
import {Dashboard} from './dashboard.tsx';
import type {AppContext} from './shell/app-context.ts';
import {inkOutput} from './shell/ink-output.ts';
import {type AppOptions, type AppPlace, firstPlace, openApp, reopenApp} from './shell/open-app.ts';
import {guardScreen, type ScreenGuard} from './shell/screen-guard.ts';
import type {ScreenName} from './shell/shell.ts';
import {createTerminalInput, type TerminalInput} from './shell/terminal-input.ts';

interface DashboardNeeds extends AppOptions {
  startScreen: ScreenName;
  /** How long a confirmed action can be taken back. */
  undoMs: number;
}

type Ending =
  | {kind: 'quit'}
  | {kind: 'interrupted'}
  | {kind: 'crashed'; error: unknown}
  | {kind: 'move'; to: () => Promise<AppPlace>; screen: ScreenName};

/**
 * Resolves when it was left; true when that was by an interrupt or a signal. Rejects with a CliError before anything is drawn, and with
 * whatever a screen throws, the terminal being restored by then.
 */
export const startDashboard = async (needs: DashboardNeeds): Promise<boolean> => {
  let app = await openApp(needs, await firstPlace(needs.session));
  let {startScreen} = needs;
  const guard = guardScreen({fd: 1, stdin: process.stdin});
  const input = createTerminalInput(process.stdin);
  try {
    for (;;) {
      const ending = await show({...needs, startScreen}, app, {guard, input});
      app.live.stop();
      if (ending.kind === 'crashed') throw ending.error;
      if (ending.kind !== 'move') return ending.kind === 'interrupted';
      startScreen = ending.screen;
      const next = await move(needs, app, ending.to);
      if (!next) return true;
      app = next;
    }
  } finally {
    app.live.stop();
    guard.leave();
  }
};

/** Undefined when it was interrupted: nothing is drawn meanwhile that could take a key. */
const move = async (needs: DashboardNeeds, app: AppContext, to: () => Promise<AppPlace>): Promise<AppContext | undefined> => {
  const ended = new AbortController();
  const interrupt = (): void => ended.abort(new CliError('interrupted', 'the dashboard was left'));
  for (const signal of signals) process.on(signal, interrupt);
  try {
    const next = await reopenApp(needs, app, {to, ended});
    if (!ended.signal.aborted) return next;
    next.live.stop();
    return undefined;
  } catch (error) {
    if (ended.signal.aborted) return undefined;
    throw error;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
};

const signals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

const show = async (
  {startScreen, undoMs, session}: DashboardNeeds,
  app: AppContext,
  {guard, input}: {guard: ScreenGuard; input: TerminalInput},
): Promise<Ending> => {
  let ending: Ending = {kind: 'quit'};
  const ink = render(
    <Dashboard
      app={app}
      undoMs={undoMs}
      startScreen={startScreen}
      terminal={process.stdout}
      input={input}
      guard={guard}
      onQuit={isInterrupted => {
        ending = {kind: isInterrupted ? 'interrupted' : 'quit'};
      }}
      onSwitch={(name, screen) => {
        ending = {kind: 'move', screen, to: async () => ({name, connection: await session.connectionOf(name)})};
      }}
      onReconnect={(connection, screen, greeting) => {
        ending = {kind: 'move', screen, to: async () => ({name: app.name, connection, greeting})};
      }}
    />,
    {stdin: input.stdin, stdout: inkOutput(process.stdout), exitOnCtrlC: false, patchConsole: false},
  );
  const endWith = (how: Ending): void => {
    ending = how;
    ink.unmount();
  };
  const stop = () => endWith({kind: 'interrupted'});
  /** What is thrown outside of drawing; on what is thrown while it draws, ink ends by itself. */
  const crash = (error: unknown) => endWith(isTerminalGone(error) ? {kind: 'interrupted'} : {kind: 'crashed', error});
  for (const signal of signals) process.on(signal, stop);
  process.on('uncaughtException', crash);
  process.stdout.on('error', crash);
  try {
    await ink.waitUntilExit();
  } finally {
    for (const signal of signals) process.off(signal, stop);
    process.off('uncaughtException', crash);
    process.stdout.off('error', crash);
  }
  return ending;
};

const isTerminalGone = (error: unknown): boolean =>
  ['EIO', 'EPIPE'].includes((error as NodeJS.ErrnoException | null)?.code ?? '');
