import type {Me} from '../../shared/api-key.ts';
import {type Connection, chosenContext} from '../api/connection.ts';
import {asCliError} from '../cli-error.ts';
import type {Session} from '../session.ts';
import {createDesk, type Desk} from './desk.ts';
import {startLive} from './live.ts';
import {createTheme} from './theme.ts';

export interface DeskPlace {
  /** Of the context, or the address of the node where there is none. */
  name: string;
  connection: Connection;
  /** What to say first. */
  greeting?: string;
}

export interface DeskOpening {
  session: Session;
  isReadOnly: boolean;
  isColour: boolean;
}

/** Rejects with a CliError when the node does not answer or refuses the key. */
export const openDesk = async (opening: DeskOpening, {name, connection, greeting}: DeskPlace): Promise<Desk> => {
  const {session, isReadOnly, isColour} = opening;
  const {terminal, contexts, clientFor} = session;
  const client = await clientFor(connection);
  const {data: me} = await client.send<Me>({path: 'auth/me'});
  const live = startLive(client, Date.now);
  const theme = createTheme(isColour);
  return createDesk({
    ...{client, connection, clientFor, name, terminal, contexts, live, me, theme, isReadOnly},
    ...(greeting !== undefined && {greeting}),
  });
};

/** What the flags, the environment and the contexts say. */
export const firstPlace = async (session: Session): Promise<DeskPlace> => {
  // The address is checked by that.
  const connection = await session.connection();
  return {name: await nameOf(session), connection};
};

/** The one that was left again, with what to say, when the other does not work. */
export const movedDesk = async (opening: DeskOpening, left: Desk, place: () => Promise<DeskPlace>): Promise<Desk> => {
  try {
    return await openDesk(opening, await place());
  } catch (error) {
    const live = startLive(left.client, Date.now);
    return {...createDesk({...left, live}), greeting: asCliError(error)};
  }
};

const nameOf = async ({terminal, flags, contexts}: Session): Promise<string> => {
  const {url} = flags();
  const address = url ?? (terminal.env.MFCTL_URL || undefined);
  if (address !== undefined) return new URL(address).host;
  return (await chosenContext(terminal, flags(), contexts))?.name ?? '';
};
