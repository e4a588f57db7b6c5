// A real node for tests: the built programs as child processes, on free ports, in a folder that goes away.
import {type ChildProcess, execFile, spawn} from 'node:child_process';
import {mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import type {IncomingHttpHeaders} from 'node:http';
import {Agent, request} from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {ExecutionContext} from 'ava';
import {parse, stringify} from 'yaml';

export const mfdFile = fileURLToPath(new URL('../../bin/mfd', import.meta.url));
export const mfctlFile = fileURLToPath(new URL('../../bin/mfctl', import.meta.url));

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  input?: string;
  env?: Record<string, string>;
}

/** Runs a program to its end; never rejects for an exit status. */
export const run = async (file: string, args: string[], {input, env}: RunOptions = {}): Promise<Ran> =>
  new Promise(resolve => {
    const environment = {...cleanEnvironment(), ...env};
    const child = execFile(
      process.execPath,
      [file, ...args],
      {env: environment, maxBuffer: 64 * 1024 * 1024},
      (error, stdout, stderr) => {
        resolve({code: error ? Number(error.code ?? 128) : 0, stdout, stderr});
      },
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });

/** Nothing of whoever runs the tests leaks into the programs under test. */
export const cleanEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(MFD_|MFCTL_|NODE_EXTRA_CA_CERTS|NO_COLOR|FORCE_COLOR)/.test(name)),
  );

export interface ApiAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The parsed JSON envelope, or undefined for another type. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: {data: any; error: any; message: string};
  body: Buffer;
}

export interface ApiRequest {
  /** A string or bytes go out as they are, anything else as JSON. */
  body?: unknown;
  /** Undefined: the node's first key. Null: none. */
  key?: string | null;
  headers?: Record<string, string>;
}

export interface TestNode {
  node_id: string;
  api_url: string;
  api_key: string;
  ca_file: string;
  metrics_url: string;
  cluster_url: string;
  /** host:port */
  smtp: string;
  smtpPort: number;
  data: string;
  xdgConfigHome: string;
  /** Everything the daemon has written to stderr since it was last started. */
  log(): string;
  api(method: string, path: string, options?: ApiRequest): Promise<ApiAnswer>;
  mfctl(args: string[], options?: RunOptions): Promise<Ran>;
  /** Ends the daemon and waits; returns its exit code, or the signal that ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
  /** Starts the daemon of a stopped node again, on the same ports. */
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export interface NodeOptions {
  /** Merged into mfd.yaml, section by section. */
  config?: Record<string, unknown>;
  env?: Record<string, string>;
  /** Data directory, when it must be a special one. */
  data?: string;
}

const listens = ['--api-listen', '--cluster-listen', '--metrics-listen', '--smtp-listen'].flatMap(option => [
  option,
  '127.0.0.1:0',
]);

export const startNode = async (t: ExecutionContext<unknown>, options: NodeOptions = {}): Promise<TestNode> => {
  const root = await mkdtemp(join(tmpdir(), 'mfd-test-'));
  const data = options.data ?? join(root, 'data');
  const xdgConfigHome = join(root, 'config');
  const env = {XDG_CONFIG_HOME: xdgConfigHome, ...options.env};

  const initialise = async () => {
    const made = await run(mfdFile, ['init', '--data', data, '--json', ...listens], {env});
    if (made.code !== 0) throw new Error(`mfd init failed: ${made.stderr}`);
    if (options.config) await addToConfig(join(data, 'mfd.yaml'), options.config);
    return JSON.parse(made.stdout) as Record<
      'node_id' | 'api_url' | 'api_key' | 'ca_file' | 'cluster_url' | 'metrics_url' | 'smtp',
      string
    >;
  };
  let report = await initialise();

  let child: ChildProcess | undefined;
  let log = '';

  const start = async () => {
    log = '';
    const started = spawn(process.execPath, [mfdFile, 'start', '--data', data], {
      env: {...cleanEnvironment(), ...env},
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    started.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
    await new Promise<void>((resolve, reject) => {
      let out = '';
      started.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
        if (/^mfd ready .*\n/m.test(out)) resolve();
      });
      started.once('exit', code => reject(new Error(`mfd start ended with ${code}: ${log}`)));
    });
  };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    const running = child;
    if (!running || running.exitCode !== null || running.signalCode !== null) return running?.exitCode ?? null;
    const ended = new Promise<number | NodeJS.Signals | null>(resolve => {
      running.once('exit', (code, by) => resolve(code ?? by));
    });
    running.kill(signal);
    return ended;
  };

  t.teardown(async () => {
    await stop('SIGKILL');
    await rm(root, {recursive: true, force: true});
  });
  // The ports were free when init chose them; another node that starts at this moment may have taken one since.
  for (let attempts = 3; ; attempts -= 1) {
    try {
      await start();
      break;
    } catch (error) {
      if (attempts === 1 || !log.includes('is in use')) throw error;
      for (const name of await readdir(data)) await rm(join(data, name), {recursive: true});
      report = await initialise();
    }
  }
  const agent = new Agent({keepAlive: true, ca: await readFile(report.ca_file, 'utf8')});
  t.teardown(() => agent.destroy());

  return {
    ...report,
    smtpPort: Number(report.smtp.split(':').at(-1)),
    data,
    xdgConfigHome,
    log: () => log,
    api: async (method, path, apiRequest = {}) => callApi(agent, report, {method, path, ...apiRequest}),
    mfctl: async (args, runOptions = {}) => run(mfctlFile, args, {...runOptions, env: {...env, ...runOptions.env}}),
    stop,
    start,
    signal: signal => void child?.kill(signal),
  };
};

const callApi = async (
  agent: Agent,
  {api_url, api_key}: {api_url: string; api_key: string},
  {method, path, body, key = api_key, headers = {}}: ApiRequest & {method: string; path: string},
): Promise<ApiAnswer> => {
  const bytes = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const url = `${api_url}/api/v1/${path.replace(/^\//, '')}`;
    const all = {
      ...(key !== null && {'X-API-Key': key}),
      ...(bytes !== undefined && {'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(bytes))}),
      ...headers,
    };
    const sent = request(url, {method, agent, headers: all}, response => {
      const chunks: Buffer[] = [];
      // This one has no end: that it begins is all there is to wait for.
      if (String(response.headers['content-type']).startsWith('text/event-stream')) {
        resolve({status: response.statusCode ?? 0, headers: response.headers, json: undefined as never, body: Buffer.alloc(0)});
        response.destroy();
        return;
      }
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const received = Buffer.concat(chunks);
        const isJson = String(response.headers['content-type']).startsWith('application/json');
        const json = (isJson && received.length > 0 ? JSON.parse(received.toString()) : undefined) as ApiAnswer['json'];
        resolve({status: response.statusCode ?? 0, headers: response.headers, json, body: received});
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(bytes);
  });
};

/** Later documents win over what init wrote: the sections named are merged into the file's. */
const addToConfig = async (file: string, config: Record<string, unknown>): Promise<void> => {
  const merged = parse(await readFile(file, 'utf8')) as Record<string, unknown>;
  for (const [section, values] of Object.entries(config))
    merged[section] =
      typeof values === 'object' && values !== null && !Array.isArray(values)
        ? {...(merged[section] as object | undefined), ...values}
        : values;
  await writeFile(file, stringify(merged));
};
