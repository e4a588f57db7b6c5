// A real terminal for tests: tmux with a server of its own.
import {execFile} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {Owner} from './daemon.ts';
import {eventually} from './eventually.ts';
import {isInstalled} from './installed.ts';
import type {TestNode} from './node.ts';
import {cleanEnvironment, mfctlFile} from './program.ts';

export interface TerminalOptions {
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

export interface TestTerminal {
  /**
   * Key names as for `tmux send-keys`: `j`, `Enter`, `Escape`, `C-c`. Each key is sent alone, so that none is read as part of
   * another.
   */
  keys(...names: string[]): Promise<void>;
  /** Types the text. */
  type(text: string): Promise<void>;
  /** Pastes the text: between markers, when the program has asked for them. */
  paste(text: string): Promise<void>;
  /** The content of the screen; with `isStyled` including its SGR sequences. */
  screen(isStyled?: boolean): Promise<string>;
  /** Resolves with the screen once it shows this; rejects with the last screen. */
  shows(what: RegExp | string, withinMs?: number): Promise<string>;
  resize(columns: number, rows: number): Promise<void>;
  /** Process id of the program. */
  pid(): Promise<number>;
  /** Closes the window of the running program. */
  close(): Promise<void>;
}

export const isTmuxInstalled = (): boolean => isInstalled('tmux');

const tmux = promisify(execFile);

/** Runs the program in a shell, which prints `exit status N` after it. */
export const startTerminal = async (
  owner: Owner,
  [file, ...args]: readonly [string, ...string[]],
  {columns = 80, rows = 24, env = {}}: TerminalOptions = {},
): Promise<TestTerminal> => {
  const folder = mkdtempSync(join(tmpdir(), 'mfctl-terminal-'));
  const socket = join(folder, 'tmux');
  const environment = {
    ...cleanEnvironment(),
    ...env,
    SHELL: '/bin/sh',
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
  };
  const call = async (...command: string[]): Promise<string> =>
    (await tmux('tmux', ['-S', socket, '-f', '/dev/null', ...command], {env: environment})).stdout;
  const quoted = [file, ...args].map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const size = ['-x', String(columns), '-y', String(rows)];
  // The trap: an interrupt is for the program, and some shells end with it. `exec` of the sleep: the pane stays for the test to
  // read, and ends with the server.
  await call('new-session', '-d', ...size, `trap : INT; ${quoted}; echo "exit status $?"; exec sleep 600`);
  owner.teardown(async () => {
    await call('kill-server').catch(() => undefined);
    rmSync(folder, {recursive: true, force: true});
  });

  const screen = async (isStyled = false): Promise<string> => call('capture-pane', '-p', ...(isStyled ? ['-e'] : []));
  return {
    screen,
    keys: async (...names) => {
      for (const name of names) await call('send-keys', name);
    },
    type: async text => {
      await call('send-keys', '-l', text);
    },
    paste: async text => {
      await call('set-buffer', text);
      await call('paste-buffer', '-p', '-d');
    },
    shows: async (what, withinMs = 20_000) => {
      let last = '';
      try {
        return await eventually(async () => {
          last = await screen();
          return (typeof what === 'string' ? last.includes(what) : what.test(last)) && last;
        }, withinMs);
      } catch (error) {
        throw new Error(`the screen does not show ${what}:\n${last}`, {cause: error});
      }
    },
    resize: async (width, height) => {
      await call('resize-window', '-x', String(width), '-y', String(height));
    },
    close: async () => {
      await call('kill-server');
    },
    pid: async () => {
      const shell = (await call('list-panes', '-F', '#{pane_pid}')).trim();
      const children = await readFile(`/proc/${shell}/task/${shell}/children`, 'utf8');
      return Number(children.split(' ')[0]);
    },
  };
};

/** The dashboard of the given node, once it has started. */
export const startDashboard = async (
  owner: Owner,
  {xdgConfigHome}: Pick<TestNode, 'xdgConfigHome'>,
  args: readonly string[] = [],
  options: TerminalOptions = {},
): Promise<TestTerminal> => {
  const env = {XDG_CONFIG_HOME: xdgConfigHome, ...options.env};
  const terminal = await startTerminal(owner, [process.execPath, mfctlFile, 'dashboard', ...args], {...options, env});
  await terminal.shows(/live|polling/);
  return terminal;
};
