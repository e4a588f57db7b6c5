import {execFile} from 'node:child_process';
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {Owner} from './daemon.ts';
import {testFolder} from './test-folder.ts';

const program = fileURLToPath(new URL('../../node_modules/@redocly/cli/bin/cli.js', import.meta.url));

/** The findings of `redocly lint` in a description: problems as text, and its exit status. */
export const lint = async (owner: Owner, yaml: string): Promise<{code: number; problems: string[]}> => {
  const folder = await testFolder(owner);
  const file = join(folder, 'openapi.yaml');
  await writeFile(file, yaml);

  const {code, output} = await new Promise<{code: number; output: string}>(resolve => {
    const env = {...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1'};
    execFile(process.execPath, [program, 'lint', '--format=json', file], {env, cwd: folder}, (error, stdout) => {
      resolve({code: error ? Number(error.code) : 0, output: stdout});
    });
  });
  const {problems} = JSON.parse(output) as {problems: {severity: string; ruleId: string; message: string}[]};
  return {code, problems: problems.map(({severity, ruleId, message}) => `${severity} ${ruleId}: ${message}`)};
};
