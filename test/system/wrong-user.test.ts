// mfd run by a user who may not use the data folder, as beside a package whose service has a user of its own.
import {execFileSync} from 'node:child_process';
import {chmod, chown, mkdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {mfdFile, run} from '../helpers/node.ts';
import {testFolder} from '../helpers/store.ts';

const within = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'];

/** The user has to read the program, too, which may be in the home of root. */
const isPossible = (): boolean => {
  try {
    execFileSync(within[0] ?? '', [...within.slice(1), process.execPath, mfdFile, '--version'], {stdio: 'ignore'});
    return true;
  } catch {
    return false;
  }
};
const asOther = isPossible() ? test : test.skip;

const folderOf = async (t: ExecutionContext, mode: number): Promise<string> => {
  const root = await testFolder(t);
  await chmod(root, 0o755);
  const data = join(root, 'da ta');
  await mkdir(data);
  await writeFile(join(data, 'mfd.yaml'), '', {mode: 0o644});
  await chown(data, 1, 1);
  await chmod(data, mode);
  return data;
};

asOther('each command names the user who owns the folder, and what to type (needs root, and setpriv)', async t => {
  const data = await folderOf(t, 0o700);
  const name = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .find(line => line.split(':')[2] === '1')
    ?.split(':')[0];
  const said = (typed: string) =>
    `mfd: --data ${data}: this folder belongs to ${name}, and you may not use it; run as ${name}: sudo -u ${name} mfd ${typed}\n`;

  for (const [args, typed] of [
    [['start', '--data', data], `start --data '${data}'`],
    [['start', '--data', data, '--init'], `start --data '${data}' …`],
    [['init', '--data', data], `init --data '${data}'`],
    [['join', 'mfj1_secret', '--data', data], `join --data '${data}' …`],
    [['check-config', '--data', data], `check-config --data '${data}'`],
    [['bootstrap-key', '--data', data], `bootstrap-key --data '${data}'`],
    [['repair', '--data', data], `repair --data '${data}'`],
    [['migrate', '--data', data, '--store-url', 'postgres://u@127.0.0.1:1/x'], `migrate --data '${data}' …`],
    [['setup', 'postfix', '--data', data], `setup postfix --data '${data}'`],
  ] as const)
    t.deepEqual(await run(mfdFile, [...args], {within}), {code: 2, stdout: '', stderr: said(typed)});
});

asOther('a folder of a user whom the system does not know is named by number (needs root, and setpriv)', async t => {
  const data = await folderOf(t, 0o700);
  await chown(data, 4_000_000, 4_000_000);

  const {stderr} = await run(mfdFile, ['start', '--data', data], {within});

  t.regex(stderr, /belongs to #4000000, .*: sudo -u '#4000000' mfd start/);
});

asOther('whoever may read the folder of another user may check it, and not start it (needs root, and setpriv)', async t => {
  const data = await folderOf(t, 0o755);

  t.like(await run(mfdFile, ['check-config', '--data', data], {within}), {code: 0});
  t.notRegex((await run(mfdFile, ['setup', 'postfix', '--data', data], {within})).stderr, /run as/);
  t.regex((await run(mfdFile, ['start', '--data', data], {within})).stderr, /run as \S+: sudo -u /);
});
