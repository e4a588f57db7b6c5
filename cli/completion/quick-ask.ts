// A question to a node while somebody waits for the Tab key: once, for a moment, and never for more than is useful. The client
// of the commands is made for the opposite.
import {stat} from 'node:fs/promises';
import {createAddresses} from '../client/addresses.ts';
import {type ConnectionFlags, resolveConnection} from '../client/connection.ts';
import {connectionFailure} from '../client/request-failure.ts';
import {trusting} from '../client/trust.ts';
import type {Terminal} from '../command-line/terminal.ts';
import type {ContextStore} from '../context/context-store.ts';

/** The `data` of the answer; rejects for anything but success. */
export type Ask = <T>(path: string) => Promise<T>;

export interface AskNeeds {
  terminal: Terminal;
  flags: ConnectionFlags;
  contexts: ContextStore;
  signal: AbortSignal;
}

const maxAnswerBytes = 16 * 1024 * 1024;

export const createAsk = async ({terminal, flags, contexts, signal}: AskNeeds): Promise<Ask> => {
  const [apiKeyFile, cacert] = await Promise.all([
    regularFile(flags.apiKeyFile, terminal.env, 'MFCTL_API_KEY_FILE'),
    regularFile(flags.cacert, terminal.env, 'MFCTL_CACERT'),
  ]);
  const {
    baseUrl,
    others = [],
    apiKey,
    ca,
    fingerprint,
  } = await resolveConnection(
    terminal,
    {...flags, ...(apiKeyFile !== undefined && {apiKeyFile}), ...(cacert !== undefined && {cacert})},
    contexts,
  );
  const {get} = await import('node:https');

  const bodyFrom = (url: URL): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const headers = {accept: 'application/json', ...(apiKey !== undefined && {'x-api-key': apiKey})};
      // A certificate that a person trusted counts, whatever kind it is.
      const tls = {...trusting(ca), allowPartialTrustChain: fingerprint !== undefined};
      const request = get(url, {headers, signal, ...tls}, response => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('error', reject);
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes > maxAnswerBytes) request.destroy(new Error('the answer is too long to choose from'));
        });
        response.on('end', () =>
          response.statusCode === 200 ? resolve(Buffer.concat(chunks)) : reject(new Error(`status ${response.statusCode}`)),
        );
      });
      request.on('error', error => reject(connectionFailure(error, url)));
    });
  const addresses = createAddresses([baseUrl, ...others], () => undefined);

  return async <T>(path: string): Promise<T> => {
    const body = await addresses.ask(at => bodyFrom(new URL(path, at.baseUrl)), {isRepeatable: true, signal});
    return (JSON.parse(body.toString('utf8')) as {data: T}).data;
  };
};

/**
 * Standard input belongs to the shell, and what is read from a pipe is gone for the command itself. The shell has not yet put
 * a home directory in the place of `~`.
 */
const regularFile = async (given: string | undefined, env: Terminal['env'], variable: string): Promise<string | undefined> => {
  const file = given?.replace(/^~(?=\/)/, () => env.HOME ?? '~') ?? (env[variable] || undefined);
  if (file === undefined) return undefined;
  if (file === '-' || !(await stat(file)).isFile()) throw new Error(`${file} is no file`);
  return file;
};
