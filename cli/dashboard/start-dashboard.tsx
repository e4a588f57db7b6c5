// From the terminal as it was to the dashboard, and back.
import {render} from 'ink';
import {CliError} from '../errors.ts';
import {Dashboard} from './dashboard.tsx';
import type {Desk} from './shell/app-context.ts';
import {inkOutput} from './shell/ink-output.ts';
import {type DeskOpening, type DeskPlace, firstPlace, movedDesk, openDesk} from './shell/open-app.ts';
import {guardScreen, type ScreenGuard} from './shell/screen-guard.ts';
import type {ScreenName} from './shell/shell.ts';
import {createTerminalInput, type TerminalInput} from './shell/terminal-input.ts';

export interface DashboardNeeds extends DeskOpening {
  startScreen: ScreenName;
  /** How long a confirmed action can be taken back. */
  undoMs: number;
}

type Ending =
  | {kind: 'quit'}
  | {kind: 'interrupted'}
  | {kind: 'crashed'; error: unknown}
  | {kind: 'move'; to: () => Promise<DeskPlace>; screen: ScreenName};

/**
 * Resolves when it was left; true when that was by an interrupt or a signal. Rejects with a CliError before anything is drawn, and with
 * whatever a screen throws, the terminal being restored by then.
 */
export const startDashboard = async (needs: DashboardNeeds): Promise<boolean> => {
  let desk = await openDesk(needs, await firstPlace(needs.session));
  let {startScreen} = needs;
  const guard = guardScreen({fd: 1, stdin: process.stdin});
  const input = createTerminalInput(process.stdin);
  try {
    for (;;) {
      const ending = await show({...needs, startScreen}, desk, {guard, input});
      desk.live.stop();
      if (ending.kind === 'crashed') throw ending.error;
      if (ending.kind !== 'move') return ending.kind === 'interrupted';
      startScreen = ending.screen;
      const next = await move(needs, desk, ending.to);
      if (!next) return true;
      desk = next;
    }
  } finally {
    desk.live.stop();
    guard.leave();
  }
};

/** Undefined when it was interrupted: nothing is drawn meanwhile that could take a key. */
const move = async (needs: DashboardNeeds, desk: Desk, to: () => Promise<DeskPlace>): Promise<Desk | undefined> => {
  const ended = new AbortController();
  const interrupt = (): void => ended.abort(new CliError('interrupted', 'the dashboard was left'));
  for (const signal of signals) process.on(signal, interrupt);
  try {
    const next = await movedDesk(needs, desk, {to, ended});
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
  desk: Desk,
  {guard, input}: {guard: ScreenGuard; input: TerminalInput},
): Promise<Ending> => {
  let ending: Ending = {kind: 'quit'};
  const app = render(
    <Dashboard
      desk={desk}
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
        ending = {kind: 'move', screen, to: async () => ({name: desk.name, connection, greeting})};
      }}
    />,
    {stdin: input.stdin, stdout: inkOutput(process.stdout), exitOnCtrlC: false, patchConsole: false},
  );
  const endWith = (how: Ending): void => {
    ending = how;
    app.unmount();
  };
  const stop = () => endWith({kind: 'interrupted'});
  /** What is thrown outside of drawing; on what is thrown while it draws, ink ends by itself. */
  const crash = (error: unknown) => endWith(isTerminalGone(error) ? {kind: 'interrupted'} : {kind: 'crashed', error});
  for (const signal of signals) process.on(signal, stop);
  process.on('uncaughtException', crash);
  process.stdout.on('error', crash);
  try {
    await app.waitUntilExit();
  } finally {
    for (const signal of signals) process.off(signal, stop);
    process.off('uncaughtException', crash);
    process.stdout.off('error', crash);
  }
  return ending;
};

const isTerminalGone = (error: unknown): boolean =>
  ['EIO', 'EPIPE'].includes((error as NodeJS.ErrnoException | null)?.code ?? '');
