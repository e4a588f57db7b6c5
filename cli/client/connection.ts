// Address, key and trust of a connection. Flags win over the environment, and that wins over the context, setting by setting.
import {readFile} from 'node:fs/promises';
import {resolve} from 'node:path';
import {readStdin, type Terminal} from '../command-line/terminal.ts';
import {CliError, exitCodes, usageError} from '../errors.ts';
import type {Context, ContextStore} from '../files/context-store.ts';
import {fileFailure} from '../files/text-file.ts';
import {pinnedIn} from './trust.ts';

export interface ConnectionFlags {
  context?: string | undefined;
  url?: string | undefined;
  apiKeyFile?: string | undefined;
  cacert?: string | undefined;
}

export interface Connection {
  /** Ends in `/api/v1/`. */
  baseUrl: URL;
  /** Of other nodes of the cluster, used when `baseUrl` does not answer. */
  others?: readonly URL[];
  apiKey: string | undefined;
  /** PEM; undefined trusts what Node trusts. */
  ca: string | undefined;
  /** What named the file of `ca`. */
  caSource?: string | undefined;
  /** Of `ca`, when a person has checked and trusted it, of whatever kind it is: `sha256:` and hexadecimal digits. */
  fingerprint?: string | undefined;
  /** The context that the address and the CA file are of. */
  context?: Context | undefined;
}

export const resolveConnection = async (terminal: Terminal, flags: ConnectionFlags, store: ContextStore): Promise<Connection> => {
  const {env} = terminal;
  const context = await chosenContext(terminal, flags, store);

  const givenUrl = firstGiven(['--url', flags.url], ['MFCTL_URL', env.MFCTL_URL]);
  const url = givenUrl ?? firstGiven([`url of the context ${context?.name}`, context?.url]);
  if (url === undefined) throw await noNode(store);
  const address = url === givenUrl ? typedUrl(url.value, url.source) : url.value;
  const givenCa = givenCaFile(terminal, flags);
  const caFile = givenCa ?? firstGiven([`cacert of the context ${context?.name}`, context?.cacert]);

  const connection: Connection = {
    baseUrl: apiUrl(address, url.source),
    others: context && givenUrl === undefined ? otherUrls(context, givenCa) : [],
    context: context && givenUrl === undefined && isCaOf(context, givenCa) ? context : undefined,
    apiKey: (await givenKey(terminal, flags)) ?? (context && (await store.keyOf(context.name))),
    ca: caFile === undefined ? undefined : await readCa(caFile),
    caSource: caFile && `${caFile.value} (${caFile.source})`,
  };
  if (givenCa !== undefined || context?.fingerprint === undefined) return connection;
  return {...connection, ca: pinnedCa(connection.ca, context), fingerprint: context.fingerprint};
};

/** The current context may have been removed while there are others. */
const noNode = async (store: ContextStore): Promise<CliError> => {
  const {contexts} = await store.read();
  if (contexts.length === 0) return usageError('no node to talk to', 'mfctl login https://HOST:8443');
  const names = contexts.map(({name}) => name).join(', ');
  return usageError('no node to talk to: no context is the current one', `mfctl context use NAME, of ${names}`);
};

/**
 * The other addresses of a context with its own CA file may be claims of a node. They are used only with that file: another CA may sign for
 * any server.
 */
const otherUrls = (context: Context, givenCa: Given | undefined): URL[] => {
  const {name, others = [], cacert} = context;
  return cacert === undefined || isCaOf(context, givenCa) ? others.map(url => apiUrl(url, `urls of the context ${name}`)) : [];
};

const isCaOf = ({cacert}: Context, givenCa: Given | undefined): boolean =>
  givenCa === undefined || (cacert !== undefined && resolve(givenCa.value) === cacert);

/** A setting, and its name for errors. */
export interface Given {
  value: string;
  source: string;
}

/** An empty variable counts as unset; an empty option is a mistake. */
const firstGiven = (...all: [source: string, value: string | undefined][]): Given | undefined => {
  const found = all.find(([source, value]) => value !== undefined && (value !== '' || source.startsWith('--')));
  return found && {source: found[0], value: found[1] ?? ''};
};

/** The CA file from the command line or the environment. */
export const givenCaFile = ({env}: Pick<Terminal, 'env'>, {cacert}: ConnectionFlags): Given | undefined =>
  firstGiven(['--cacert', cacert], ['MFCTL_CACERT', env.MFCTL_CACERT]);

/** The file lies beside the fingerprint, but another user may be able to write it. */
const pinnedCa = (ca: string | undefined, {name, cacert, fingerprint = ''}: Context): string => {
  const pinned = ca && pinnedIn(ca, fingerprint);
  if (pinned) return pinned;
  throw new CliError('tls_changed', `${cacert ?? 'the certificate'} is not what was trusted for the context ${name}`, {
    exitCode: exitCodes.unreachable,
    hint: 'check the server and trust it again: mfctl login URL',
  });
};

/** The named context, else the current one, if any. */
export const chosenContext = async (
  {env}: Pick<Terminal, 'env'>,
  flags: ConnectionFlags,
  store: ContextStore,
): Promise<Context | undefined> => {
  const {current, contexts} = await store.read();
  const asked = flags.context ?? (env.MFCTL_CONTEXT || undefined);
  const context = contexts.find(({name}) => name === (asked ?? current));
  if (asked !== undefined && context === undefined) throw unknownContext(asked);
  return context;
};

export const unknownContext = (name: string): CliError =>
  new CliError('unknown_context', `no context is called ${name}`, {exitCode: exitCodes.usage, hint: 'mfctl context list'});

/** The key from the command line or the environment, without reading a context. */
export const givenKey = async (terminal: Terminal, flags: ConnectionFlags): Promise<string | undefined> => {
  const {env} = terminal;
  if (flags.apiKeyFile !== undefined) return readKey(flags.apiKeyFile, terminal);
  if (env.MFCTL_API_KEY) return checkedKey(env.MFCTL_API_KEY, 'MFCTL_API_KEY');
  return env.MFCTL_API_KEY_FILE ? readKey(env.MFCTL_API_KEY_FILE, terminal) : undefined;
};

/** From a file, or from standard input for `-`. */
export const readKey = async (file: string, terminal: Terminal): Promise<string> => {
  if (file === '-') return checkedKey(await readStdin(terminal), 'standard input');
  return checkedKey(
    await readFile(file, 'utf8').catch(error => {
      throw fileFailure(file, error, 'read');
    }),
    file,
  );
};

/** The base URL of the API from an address as people write it. */
export const apiUrl = (address: string, source?: string): URL => new URL('api/v1/', `${checkedUrl(address, source)}/`);

/** The source of the key that `givenKey` returns, for messages. */
export const givenKeySource = ({env}: Pick<Terminal, 'env'>, {apiKeyFile}: ConnectionFlags): string | undefined => {
  if (apiKeyFile !== undefined) return apiKeyFile === '-' ? 'standard input' : apiKeyFile;
  return env.MFCTL_API_KEY ? 'MFCTL_API_KEY' : env.MFCTL_API_KEY_FILE || undefined;
};

/** The base address without a trailing slash. Plain HTTP is refused, as it would show the key to everyone on the way. `source` names the setting. */
export const checkedUrl = (text: string, source?: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.username || url.password || url.search || url.hash)
    throw usageError(
      `${source === undefined ? '' : `${source}: `}${JSON.stringify(withoutPassword(text))} is not the address of a node`,
      'it looks like https://mx1.example.com:8443',
    );
  return (url.origin + url.pathname).replace(/(\/api\/v1)?\/*$/, '');
};

/** The same for what a person has typed, where a name alone, or with a port, can mean only `https://` and the usual port. */
export const typedUrl = (text: string, source?: string): string => checkedUrl(completeAddress(text), source);

const completeAddress = (text: string): string => {
  if (!/^[\w.-]+(:\d+)?$/.test(text)) return text;
  return `https://${text}${text.includes(':') ? '' : ':8443'}`;
};

const withoutPassword = (address: string): string => address.replace(/\/\/[^/]*@/, '//…@');

/** The absolute path of a certificate file that can be read. */
export const checkedCaFile = async (given: Given): Promise<string> => {
  await readCa(given);
  return resolve(given.value);
};

export const readCa = async ({value: file, source}: Given): Promise<string> => {
  const pem = await readFile(file, 'utf8').catch(error => {
    const failure = fileFailure(file, error, 'read');
    throw failure.with({detail: `${source}: ${failure.detail}`});
  });
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new CliError('invalid_cacert', `${source}: ${file} holds no PEM certificate`, {
      hint: 'the CA of a cluster is the ca_file that mfd init names',
    });
  return pem;
};

/** Anything else cannot be sent in a header, and is most often the wrong file. */
export const checkedKey = (text: string, source: string): string => {
  const key = text.trim();
  if (!/^[!-~]{1,200}$/.test(key))
    throw usageError(
      key === '' ? `${source} is empty: there is no API key` : `${source} holds no API key`,
      'a key is one line that begins with mfk_; mfctl key create makes one',
    );
  return key;
};
