// mfctl context for a new node, added by running `mfctl context add`, as the two programs share no code except shared/. The key is
// passed on standard input.
import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {childEnvironment} from '../../shared/child-environment.ts';
import type {InitReport} from './init.ts';

/** The command to add the context by hand, with the key in a file. */
export const contextCommand = ({node_id, api_url, metrics_url, ca_file}: InitReport): string =>
  `mfctl context add ${node_id} --url ${api_url} --metrics-url ${metrics_url} --cacert ${ca_file} --api-key-file KEY-FILE --use`;

/**
 * Resolves with a line about the outcome. A context of that name stays, with its key: the new one gets another name. Never rejects: a
 * home directory without write access must not fail the command.
 */
export const addMfctlContext = async ({node_id, api_url, metrics_url, ca_file, api_key}: InitReport): Promise<string> => {
  // Relative to dist/.
  const mfctl = fileURLToPath(new URL('../bin/mfctl', import.meta.url));
  const args = [
    'context',
    'add',
    node_id,
    '--url',
    api_url,
    '--metrics-url',
    metrics_url,
    '--cacert',
    ca_file,
    '--api-key-file',
    '-',
    '--use',
    '--keep',
  ];
  return new Promise(resolve => {
    const options = {env: childEnvironment(process.env), timeout: 10_000};
    const child = execFile(process.execPath, [mfctl, ...args], options, (error, _stdout, stderr) => {
      const said = stderr.trim().split('\n')[0] ?? '';
      if (error) return resolve(`no mfctl context was added: ${said || error.message.split('\n')[0]}`);
      // `added NAME`, or `added NAME-2, as there is a context NAME already`.
      resolve(`mfctl now uses the context ${/^added (.+)$/.exec(said)?.[1] ?? node_id}`);
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(`${api_key}\n`);
  });
};
