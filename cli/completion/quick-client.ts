// Client for completion, while a person waits for the Tab key: no retries, and a deadline for all requests.
import {stat} from 'node:fs/promises';
import {type Client, createClient} from '../client/client.ts';
import {type ConnectionFlags, resolveConnection} from '../client/connection.ts';
import type {Terminal} from '../command-line/terminal.ts';
import type {ContextStore} from '../files/context-store.ts';

interface AskNeeds {
  terminal: Terminal;
  flags: ConnectionFlags;
  contexts: ContextStore;
  version: string;
  /** Ends every request. */
  signal: AbortSignal;
}

export const createQuickClient = async ({terminal, flags, contexts, version, signal}: AskNeeds): Promise<Client> => {
  const [apiKeyFile, cacert] = await Promise.all([
    regularFile(flags.apiKeyFile, terminal.env, 'MFCTL_API_KEY_FILE'),
    regularFile(flags.cacert, terminal.env, 'MFCTL_CACERT'),
  ]);
  const connection = await resolveConnection(
    terminal,
    {...flags, ...(apiKeyFile !== undefined && {apiKeyFile}), ...(cacert !== undefined && {cacert})},
    contexts,
  );
  return createClient({connection, version, log: () => undefined, end: signal});
};

/**
 * Standard input belongs to the shell, and reading a pipe would take the data from the command itself. The shell has not yet
 * expanded `~`.
 */
const regularFile = async (given: string | undefined, env: Terminal['env'], variable: string): Promise<string | undefined> => {
  const file = given?.replace(/^~(?=\/)/, () => env.HOME ?? '~') ?? (env[variable] || undefined);
  if (file === undefined) return undefined;
  if (file === '-' || !(await stat(file)).isFile()) throw new Error(`${file} is no file`);
  return file;
};
