// Width of text in cells, measured by a terminal: tmux reports its cursor position after each text.
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isInstalled} from './installed.ts';
import {cleanEnvironment} from './program.ts';

export const hasTmux = isInstalled('tmux');

const main = join(import.meta.dirname, 'terminal-width-main.ts');

/** For texts of one line that have fewer cells than the terminal. */
export const measureInTerminal = async (texts: readonly string[], columns = 400): Promise<number[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-tmux-'));
  const tmux = (...args: string[]): Buffer =>
    execFileSync('tmux', ['-S', join(folder, 'socket'), '-f', '/dev/null', ...args], {
      env: {...cleanEnvironment(), LC_ALL: 'C.UTF-8', TERM: 'xterm-256color'},
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 120_000,
    });
  try {
    await writeFile(join(folder, 'texts'), JSON.stringify(texts));
    const command = `'${process.execPath}' --import=tsx '${main}' '${folder}'; tmux wait-for -S measured`;
    tmux('new-session', '-d', '-x', String(columns), '-y', '5', command, ';', 'wait-for', 'measured');
    return JSON.parse(await readFile(join(folder, 'widths'), 'utf8')) as number[];
  } finally {
    spawnSync('tmux', ['-S', join(folder, 'socket'), 'kill-server']);
    await rm(folder, {recursive: true, force: true});
  }
};
