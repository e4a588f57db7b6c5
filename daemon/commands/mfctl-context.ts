// The one who makes a node wants to talk to it: `mfctl context add`, by its command line, as the two programs share no code
// but what is in shared/. The key goes in on standard input.
import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import type {InitReport} from './init.ts';

/** The same by hand, with the key in a file. */
export const contextCommand = ({node_id, api_url, metrics_url, ca_file}: InitReport): string =>
  `mfctl context add ${node_id} --url ${api_url} --metrics-url ${metrics_url} --cacert ${ca_file} --api-key-file KEY-FILE --use`;

/** Resolves with a line that says what came of it; a home directory that cannot be written to is no reason to fail. */
export const addMfctlContext = async ({node_id, api_url, metrics_url, ca_file, api_key}: InitReport): Promise<string> => {
  // As seen from dist/.
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
  ];
  return new Promise(resolve => {
    const child = execFile(process.execPath, [mfctl, ...args], {timeout: 10_000}, (error, _stdout, stderr) => {
      const why = stderr.trim().split('\n')[0] ?? '';
      resolve(
        error ? `no mfctl context was added: ${why || error.message.split('\n')[0]}` : `mfctl now uses the context ${node_id}`,
      );
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(`${api_key}\n`);
  });
};
