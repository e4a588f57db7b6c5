// `store.url`: the address of a PostgreSQL database. It never contains a password.
import {parseHostPort} from '../../shared/host-port.ts';

export interface StoreAddress {
  /** A host name, an address, or the folder of a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string;
}

const defaultPort = 5432;
const forms = 'postgres://USER@HOST:PORT/DB, or postgres:///DB?host=/PATH&user=USER for a Unix socket';
const passwordAdvice = 'must not contain a password; put it into a file, and name that in store.password_file';

/** What is wrong with the text of `store.url`. It never repeats the text, which may contain a password. */
class StoreUrlFault extends Error {}

/** How to correct the text; undefined when it is a valid address. */
export const storeUrlFault = (text: string): string | undefined => {
  try {
    parseStoreUrl(text);
    return undefined;
  } catch (error) {
    if (error instanceof StoreUrlFault) return error.message;
    throw error;
  }
};

/** Throws for a text that has a fault. */
export const parseStoreUrl = (text: string): StoreAddress => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.password || url?.searchParams.has('password')) throw new StoreUrlFault(passwordAdvice);
  if (!url || !/^postgres(ql)?:\/\//i.test(text)) throw new StoreUrlFault(`must be ${forms}`);
  if (text.includes('#')) throw new StoreUrlFault('must not contain #; write %23');

  const parameters = parametersOf(url);
  const database = decoded('a database', url.pathname.slice(1));
  const user = decoded('a user', url.username) || (parameters.user ?? '');
  if (database === '') throw new StoreUrlFault(`must name a database: ${forms}`);
  if (url.pathname.slice(1).includes('/')) throw new StoreUrlFault('must name one database; write / in its name as %2F');
  if (user === '') throw new StoreUrlFault(`must name a user: ${forms}`);
  return {...(url.host === '' ? socketOf(parameters) : serverOf(url)), database, user};
};

type Parameters = Partial<Record<'host' | 'port' | 'user', string>>;

const parametersOf = ({host, username, searchParams}: URL): Parameters => {
  const known = [...(host === '' ? ['host', 'port'] : []), ...(username === '' ? ['user'] : [])];
  for (const name of searchParams.keys()) {
    // Other text than a name may be the rest of a password with a question mark.
    const shown = /^[a-z_]{1,40}$/i.test(name) ? `parameter ${name}` : 'part after ?';
    if (!known.includes(name)) throw new StoreUrlFault(`has the ${shown}, which is unknown here; remove it`);
    if (searchParams.getAll(name).length > 1) throw new StoreUrlFault(`has the parameter ${name} twice; remove one`);
  }
  return Object.fromEntries([...searchParams].map(([name, value]) => [name, withoutControls(`a ${name}`, value)]));
};

const socketOf = ({host, port = String(defaultPort)}: Parameters): Pick<StoreAddress, 'host' | 'port'> => {
  if (host === undefined) throw new StoreUrlFault(`must name a host: ${forms}`);
  if (!host.startsWith('/'))
    throw new StoreUrlFault('has a parameter host that is not an absolute path; a server is named before the database');
  const parsed = parseHostPort(`socket:${port}`);
  if (!parsed) throw new StoreUrlFault('has a parameter port that is not between 1 and 65535');
  return {host, port: parsed.port};
};

const serverOf = ({hostname, port}: URL): Pick<StoreAddress, 'host' | 'port'> => {
  const parsed = parseHostPort(`${hostname}:${port || defaultPort}`);
  if (!parsed) throw new StoreUrlFault('must name a host name or an address, IPv6 in brackets, and a port between 1 and 65535');
  return parsed;
};

const decoded = (what: string, text: string): string => {
  try {
    return withoutControls(what, decodeURIComponent(text));
  } catch (error) {
    if (error instanceof StoreUrlFault) throw error;
    throw new StoreUrlFault(`names ${what} with a % that is not followed by two hexadecimal digits; write % as %25`);
  }
};

/** A zero byte would end the value in the protocol of PostgreSQL, and begin another setting. */
const withoutControls = (what: string, text: string): string => {
  if (/\p{Cc}/u.test(text)) throw new StoreUrlFault(`names ${what} with a control character`);
  return text;
};
