// Output of the program in files that are read in review: test/cli/snapshots/*.txt. `npm run snapshots` rewrites them.
import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {quoted} from '../../../shared/shell-word.ts';

export const snapshotFolder = join(import.meta.dirname, '../../cli/snapshots');

const isUpdate = process.env.UPDATE_SNAPSHOTS === '1';

/** Compares the text with the file of that name, or writes the file. */
export const matchSnapshot = async (t: ExecutionContext, name: string, text: string): Promise<void> => {
  const file = join(snapshotFolder, `${name}.txt`);
  if (isUpdate) {
    await mkdir(snapshotFolder, {recursive: true});
    await writeFile(file, text);
    t.pass();
    return;
  }
  t.is(text, await readFile(file, 'utf8').catch(() => ''), `differs from ${file}; when that is meant: npm run snapshots`);
};

interface Shown {
  argv: readonly string[];
  /** Columns of the terminal; without them the output goes to a pipe. */
  columns?: number | undefined;
  ran: {code: number; stdout: string; stderr: string};
}

/** The text as a shell would show it: the command, its output, its standard error, and its exit status unless that is 0. */
export const asSession = ({argv, columns, ran: {code, stdout, stderr}}: Shown): string => {
  const place = columns === undefined ? '' : `    # on a terminal of ${columns} columns`;
  const said = stderr.replace(/^(?=.|\n)/gm, '2> ');
  return `$ ${['mfctl', ...argv].map(quoted).join(' ')}${place}\n${visible(stdout + said)}${code === 0 ? '' : `exit status ${code}\n`}`;
};

/** Makes colours and line ends visible to a reader. */
const visible = (text: string): string =>
  text
    .replace(/\x1b/g, '\\e')
    .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, char => (char === '\r' ? '\\r' : JSON.stringify(char).slice(1, -1)));
