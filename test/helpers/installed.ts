// Programs that tests use where they are installed; elsewhere the tests say by name what they skip.
import {spawnSync} from 'node:child_process';

export const isInstalled = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program], {stdio: 'ignore'}).status === 0;
