// Start and end of the dashboard. It takes the terminal over and restores it.
import {render} from 'ink';
import {CliError} from '../errors.ts';
import {Dashboard} from './dashboard.tsx';
import type {AppContext} from './shell/app-context.ts';
import {type AppOptions, type AppTarget, initialTarget, openFirstApp, reopenApp} from './shell/open-app.ts';
import {guardScreen, inkOutput, type ScreenGuard} from './shell/screen-guard.ts';
import type {ScreenName} from './shell/screen-names.ts';
import {createTerminalKeys, type TerminalKeys} from './shell/terminal-keys.ts';

interface DashboardNeeds extends AppOptions {
  startScreen: ScreenName;
  /** How long a confirmed action can be undone. */
  undoMs: number;
}

type Ending =
  | {kind: 'quit'}
  | {kind: 'interrupted'}
  | {kind: 'crashed'; error: unknown}
  | {kind: 'move'; to: () => Promise<AppTarget>; screen: ScreenName};

/**
 * Resolves when the user leaves; true after an interrupt or a signal. Rejects with a CliError before anything is drawn, and with
 * any error of a screen, after the terminal is restored.
 */
export const startDashboard = async (needs: DashboardNeeds): Promise<boolean> => {
  let app = await openFirstApp(needs, await initialTarget(needs.session));
  let {startScreen} = needs;
  const guard = guardScreen({fd: 1, stdin: process.stdin});
  const input = createTerminalKeys(process.stdin);
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

/** Undefined after an interrupt, which is handled here as no screen can take the key. */
const move = async (needs: DashboardNeeds, app: AppContext, to: () => Promise<AppTarget>): Promise<AppContext | undefined> => {
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
  {guard, input}: {guard: ScreenGuard; input: TerminalKeys},
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
    {stdout: inkOutput(process.stdout), exitOnCtrlC: false, patchConsole: false},
  );
  const endWith = (how: Ending): void => {
    ending = how;
    ink.unmount();
  };
  const stop = () => endWith({kind: 'interrupted'});
  /** Errors outside of drawing; after an error while drawing, ink ends without help. */
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
