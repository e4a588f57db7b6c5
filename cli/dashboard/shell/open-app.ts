import {safeLine} from '../../../shared/safe-text.ts';
import type {Client} from '../../client/client.ts';
import {type Connection, chosenContext, typedUrl} from '../../client/connection.ts';
import {isForGood, sleepUnlessInterrupted} from '../../client/retry.ts';
import {asCliError, CliError} from '../../errors.ts';
import type {Session} from '../../session.ts';
import {type AppContext, createAppContext} from './app-context.ts';
import {createRoute, type Live, startLive} from './live.ts';
import {createTheme} from './theme.ts';

export interface AppTarget {
  /** Of the context, or the address of the node where there is none. */
  name: string;
  connection: Connection;
  /** The first message. */
  greeting?: string;
}

export interface AppOptions {
  session: Session;
  isReadOnly: boolean;
  isColour: boolean;
}

/** Rejects with a CliError when the node does not answer or refuses the key, and with the reason of `ended` when that aborts. */
const openApp = async (
  opening: AppOptions,
  {name, connection, greeting}: AppTarget,
  ended = new AbortController(),
): Promise<AppContext> => {
  const {session, isReadOnly, isColour} = opening;
  const {terminal, contexts} = session;
  const {client, startLive: start} = await connect(session, connection, ended);
  const {data: me} = await client.me();
  const live = start();
  const clientFor: AppContext['clientFor'] = to => session.clientFor(to, {onMove: ignoreMove});
  const theme = createTheme(isColour);
  return createAppContext({
    ...{client, connection, clientFor, name, terminal, contexts, live, me, theme, isReadOnly},
    ...(greeting !== undefined && {greeting}),
  });
};

const waitMs = 2000;

/**
 * Opens the first app. While the node answers that its database is away, it waits and says so. Rejects as `openApp` does, and when
 * Ctrl-C is pressed.
 */
export const openFirstApp = async (opening: AppOptions, target: AppTarget, pauseMs = waitMs): Promise<AppContext> => {
  const {terminal} = opening.session;
  for (let isTold = false; ; isTold = true) {
    try {
      return await openApp(opening, target);
    } catch (error) {
      if (!isTransient(error)) throw error;
      if (!isTold) terminal.stderr.write(`${safeLine(`${target.name}: ${error.detail}; waiting, Ctrl-C ends it`)}\n`);
    }
    await sleepUnlessInterrupted(terminal, pauseMs, undefined);
  }
};

const isTransient = (error: unknown): error is CliError =>
  error instanceof CliError && error.code === 'unavailable' && !isForGood(error.retryAfterSeconds ?? 0);

/** Without an answer in this time the screen is marked as out of date. A list of many nodes takes 3 s. */
const readSilenceMs = 10_000;

/** Stopping `Live` also ends the requests of the app. The status line shows a move to another node, as text on stderr would damage the screen. */
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

/** For other clients than that of the screens. */
const ignoreMove = (): void => undefined;

/** The node of the flags, the environment or the context. */
export const initialTarget = async (session: Session): Promise<AppTarget> => {
  // This also checks the address.
  const connection = await session.connection();
  return {name: await nameOf(session), connection};
};

/** Opens another app; when that fails, opens `left` again with the error as its greeting. Rejects when `ended` aborts. */
export const reopenApp = async (
  opening: AppOptions,
  left: AppContext,
  {to, ended}: {to: () => Promise<AppTarget>; ended: AbortController},
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
  if (address !== undefined) return new URL(typedUrl(address)).host;
  return (await chosenContext(terminal, flags(), contexts))?.name ?? '';
};
