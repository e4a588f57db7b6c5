// From the terminal as it was to the dashboard, and back.
import {render} from 'ink';
import type {Me} from '../../shared/api-key.ts';
import {asCliError} from '../cli-error.ts';
import type {Client} from '../client.ts';
import {chosenContext} from '../connection.ts';
import type {Session} from '../session.ts';
import {Dashboard} from './dashboard.tsx';
import {createDesk, type Desk} from './desk.ts';
import type {ScreenName} from './frame.ts';
import {startLive} from './live.ts';
import {guardScreen} from './screen-guard.ts';
import {createTheme} from './theme.ts';

export interface DashboardNeeds {
  session: Session;
  isReadOnly: boolean;
  isColour: boolean;
  startScreen: ScreenName;
  /** How long a confirmed action can be taken back. */
  undoMs: number;
}

type Ending = {kind: 'quit'} | {kind: 'interrupted'} | {kind: 'switch'; context: string};

/** Resolves when it was left; true when that was by an interrupt or a signal. Rejects with a CliError before anything is drawn. */
export const startDashboard = async (needs: DashboardNeeds): Promise<boolean> => {
  const {session} = needs;
  let desk = await openDesk(needs, await session.client(), await nameOf(session));
  const guard = guardScreen({fd: 1, stdin: process.stdin});
  try {
    for (;;) {
      const ending = await show(needs, desk);
      desk.live.stop();
      if (ending.kind !== 'switch') return ending.kind === 'interrupted';
      desk = await switched(needs, desk, ending.context);
    }
  } finally {
    desk.live.stop();
    guard.leave();
  }
};

const show = async ({startScreen, undoMs}: DashboardNeeds, desk: Desk): Promise<Ending> => {
  let ending: Ending = {kind: 'quit'};
  const app = render(
    <Dashboard
      desk={desk}
      undoMs={undoMs}
      startScreen={startScreen}
      onQuit={isInterrupted => {
        ending = {kind: isInterrupted ? 'interrupted' : 'quit'};
      }}
      onSwitch={context => {
        ending = {kind: 'switch', context};
      }}
    />,
    {exitOnCtrlC: false, patchConsole: false},
  );
  const stop = (): void => {
    ending = {kind: 'interrupted'};
    app.unmount();
  };
  const signals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
  for (const signal of signals) process.once(signal, stop);
  try {
    await app.waitUntilExit();
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
  return ending;
};

const openDesk = async (needs: DashboardNeeds, client: Client, name: string): Promise<Desk> => {
  const {session, isReadOnly, isColour} = needs;
  const {data: me} = await client.send<Me>({path: 'auth/me'});
  const {terminal, contexts} = session;
  const live = startLive(client, Date.now);
  return createDesk({client, name, terminal, contexts, live, me, theme: createTheme(isColour), isReadOnly});
};

/** The one that was left again, with what to say, when the other does not work. */
const switched = async (needs: DashboardNeeds, desk: Desk, context: string): Promise<Desk> => {
  try {
    return await openDesk(needs, await needs.session.clientOf(context), context);
  } catch (error) {
    const {client, name} = desk;
    const back = await openDesk(needs, client, name);
    return {...back, greeting: asCliError(error)};
  }
};

const nameOf = async ({terminal, flags, contexts}: Session): Promise<string> => {
  const {url} = flags();
  const address = url ?? (terminal.env.MFCTL_URL || undefined);
  if (address !== undefined) return new URL(address).host;
  return (await chosenContext(terminal, flags(), contexts))?.name ?? '';
};
