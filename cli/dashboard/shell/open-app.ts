import type {Client} from '../../client/client.ts';
import {type Connection, chosenContext} from '../../client/connection.ts';
import {asCliError, CliError} from '../../errors.ts';
import type {Session} from '../../session.ts';
import {type AppContext, createAppContext} from './app-context.ts';
import {createRoute, type Live, startLive} from './live.ts';
import {createTheme} from './theme.ts';

export interface AppPlace {
  /** Of the context, or the address of the node where there is none. */
  name: string;
  connection: Connection;
  /** What to say first. */
  greeting?: string;
}

export interface AppOptions {
  session: Session;
  isReadOnly: boolean;
  isColour: boolean;
}

/** Rejects with a CliError when the node does not answer or refuses the key, and with the reason of `ended` when that aborts. */
export const openApp = async (
  opening: AppOptions,
  {name, connection, greeting}: AppPlace,
  ended = new AbortController(),
): Promise<AppContext> => {
  const {session, isReadOnly, isColour} = opening;
  const {terminal, contexts} = session;
  const {client, startLive: start} = await connect(session, connection, ended);
  const {data: me} = await client.me();
  const live = start();
  const clientFor: AppContext['clientFor'] = to => session.clientFor(to, {onMove: unsaid});
  const theme = createTheme(isColour);
  return createAppContext({
    ...{client, connection, clientFor, name, terminal, contexts, live, me, theme, isReadOnly},
    ...(greeting !== undefined && {greeting}),
  });
};

/** A line that was cut says nothing, and what is on the screen is old then. A list of many nodes takes 3 s. */
const readSilenceMs = 10_000;

/** Stopping it also ends the requests of the app. A move to another node shows in the status line: text on stderr would damage the screen. */
const connect = async (
  session: Session,
  connection: Connection,
  ended: AbortController,
): Promise<{client: Client; startLive(): Live}> => {
  const route = createRoute(connection.baseUrl);
  const client = await session.clientFor(connection, {onMove: route.move, end: ended.signal, readSilenceMs});
  return {
    client,
    startLive: () => {
      const live = startLive(client, Date.now, route);
      return {
        ...live,
        stop: () => {
          live.stop();
          ended.abort(new CliError('ended', 'the dashboard has been left'));
        },
      };
    },
  };
};

/** For clients beside those of the screens. */
const unsaid = (): void => undefined;

/** What the flags, the environment and the contexts say. */
export const firstPlace = async (session: Session): Promise<AppPlace> => {
  // The address is checked by that.
  const connection = await session.connection();
  return {name: await nameOf(session), connection};
};

/** The one that was left again, with what to say, when the other does not work. Rejects when `ended` aborts. */
export const reopenApp = async (
  opening: AppOptions,
  left: AppContext,
  {to, ended}: {to: () => Promise<AppPlace>; ended: AbortController},
): Promise<AppContext> => {
  try {
    return await openApp(opening, await to(), ended);
  } catch (error) {
    if (ended.signal.aborted) throw error;
    const again = new AbortController();
    const {client, startLive: start} = await connect(opening.session, left.connection, again);
    return {...createAppContext({...left, client, live: start()}), greeting: asCliError(error)};
  }
};

const nameOf = async ({terminal, flags, contexts}: Session): Promise<string> => {
  const {url} = flags();
  const address = url ?? (terminal.env.MFCTL_URL || undefined);
  if (address !== undefined) return new URL(address).host;
  return (await chosenContext(terminal, flags(), contexts))?.name ?? '';
};
