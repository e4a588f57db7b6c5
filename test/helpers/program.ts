// The built programs as child processes.
import {type ChildProcess, execFile} from 'node:child_process';
import {dirname} from 'node:path';
import {fileURLToPath} from 'node:url';

export const mfdFile = fileURLToPath(new URL('../../bin/mfd', import.meta.url));
export const mfctlFile = fileURLToPath(new URL('../../bin/mfctl', import.meta.url));

/** mfd with crash points, built by `npm run build:test`. */
export const mfdTestBuildFile = fileURLToPath(new URL('../fault/mfd-test-build.js', import.meta.url));

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  input?: string;
  env?: Record<string, string>;
  /** Begins the command line, for example to enter a host of a network. */
  within?: readonly string[];
  /** Gives access to the process, for signals while it runs. */
  onStart?(child: ChildProcess): void;
}

/** Runs a program with this Node until it ends; an exit status other than 0 does not reject. */
export const run = async (file: string, args: string[], options: RunOptions = {}): Promise<Ran> =>
  execute(process.execPath, [file, ...args], options);

/** The same as from a shell: the program's own first lines start Node, which must be in the PATH. */
export const runTyped = async (file: string, args: string[], {env, ...options}: RunOptions = {}): Promise<Ran> =>
  execute(file, args, {...options, env: {PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...env}});

const execute = async (program: string, options: string[], {input, env, within = [], onStart}: RunOptions): Promise<Ran> =>
  new Promise(resolve => {
    const environment = {...cleanEnvironment(), ...env};
    const [command = '', ...args] = [...within, program, ...options];
    const child = execFile(command, args, {env: environment, maxBuffer: 64 * 1024 * 1024}, (error, stdout, stderr) => {
      resolve({code: error ? Number(error.code ?? 128) : 0, stdout, stderr});
    });
    onStart?.(child);
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });

/** The environment of the test run must not leak into the programs under test. */
export const cleanEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(MFD_|MFCTL_|NODE_EXTRA_CA_CERTS|NO_COLOR|FORCE_COLOR)/.test(name)),
  );
