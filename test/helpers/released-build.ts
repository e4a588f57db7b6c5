// Earlier releases of mfd, built from the history of this repository, for tests of upgrades.
import {execFile, spawnSync} from 'node:child_process';
import {mkdir, symlink} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {type Teardown, testFolder} from './store.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Release {
  version: string;
  commit: string;
}

/** Releases from which an upgrade must work. Each new release adds itself. */
export const releases: readonly Release[] = [
  {version: '0.4.0', commit: 'b0dec73ba0dbe1b47f8c1dcb40d64cce3e34ac37'},
  {version: '0.5.0', commit: '423c04100ea60fb44167c1eb1884251f96bec940'},
  {version: '0.7.0', commit: '0f28cb8f083ac15c2f930be887587751012cb99d'},
  {version: '0.8.1', commit: '048578852a749867e5ec6b45a664a0576025e3b9'},
];

/** The reason why a release cannot be built here; undefined where it can. */
export const releaseMissing = ({version, commit}: Release): string | undefined => {
  const {status} = spawnSync('git', ['-C', root, 'cat-file', '-e', `${commit}^{commit}`], {stdio: 'ignore'});
  return status === 0 ? undefined : `the commit of ${version} is not here: git is not installed, or this is no full clone`;
};

/** Builds a release with the installed packages; resolves with the path of its mfd. */
export const buildRelease = async (t: Teardown, {commit}: Release): Promise<string> => {
  const folder = join(await testFolder(t), 'release');
  await mkdir(folder);
  await execute('sh', ['-c', 'git -C "$1" archive "$2" | tar -x -C "$3"', 'sh', root, commit, folder]);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await execute('npm', ['run', '--silent', 'build'], {cwd: folder});
  return join(folder, 'bin', 'mfd');
};
