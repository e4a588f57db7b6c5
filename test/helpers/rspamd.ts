// A real Rspamd with its installed configuration, private to one test.
import {type ChildProcess, spawn} from 'node:child_process';
import {randomUUID} from 'node:crypto';
import {chmod, copyFile, mkdir, readdir, rename, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import type {Owner} from './daemon.ts';
import {type KnownNames, startDnsStub} from './dns-stub.ts';
import {isInstalled} from './installed.ts';
import {freePort} from './ports.ts';
import {testFolder} from './test-folder.ts';

export const isRspamdInstalled = (): boolean => isInstalled('rspamd');

export interface PrivateRspamdOptions {
  /** Rules besides its own, in Lua. */
  rules?: string;
  /** The records in DNS; none by default. */
  addressOf?: KnownNames;
}

/** Every subject that is an action forces that action, before the rules run. */
export const demandingRules = `
for _, action in ipairs({'reject', 'soft reject', 'greylist', 'no action'}) do
  local name = 'DEMANDS_' .. action:gsub(' ', '_'):upper()
  rspamd_config:register_symbol({name = name, type = 'prefilter', score = 1.5, callback = function(task)
    if task:get_subject() ~= action then return end
    task:set_pre_result(action, 'because', 'demanding')
    task:insert_result(name, 1.0)
  end})
end
`;

/** Starts Rspamd on loopback and resolves with its URL once it answers; the first start takes up to 10 s. */
export const startRspamd = async (t: Owner, options: PrivateRspamdOptions = {}): Promise<string> => {
  const port = await freePort();
  return startWorkers(t, {...options, port, workers: normalWorker(port)});
};

const normalWorker = (port: number): string => `worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }\n`;

/** The same with Rspamd's own milter before it. Resolves with the URL and the address of the milter, as in Postfix's configuration. */
export const startRspamdMilter = async (t: Owner): Promise<{url: string; milter: string}> => {
  const [port, milterPort] = [await freePort(), await freePort()];
  const upstream = `upstream "local" { default = yes; hosts = "127.0.0.1:${port}"; }`;
  const proxy = `worker "rspamd_proxy" { bind_socket = "127.0.0.1:${milterPort}"; milter = yes; count = 1; ${upstream} }\n`;
  const url = await startWorkers(t, {port, workers: `${normalWorker(port)}${proxy}`});
  return {url, milter: `inet:127.0.0.1:${milterPort}`};
};

interface Trained {
  ham: number;
  spam: number;
}

export interface TrainableRspamd {
  /** Of its normal worker. */
  url: string;
  controllerUrl: string;
  password: string;
  /** How many mails it has learned by now. */
  trained(): Promise<Trained>;
}

/** The same with a controller and a Bayes classifier that keeps what it learns in files, where the usual one needs a Redis. */
export const startTrainableRspamd = async (t: Owner): Promise<TrainableRspamd> => {
  const [port, controllerPort] = [await freePort(), await freePort()];
  // It accepts its default password from no address, not even from loopback.
  const password = 'open sesame';
  const classifier = classifierIn(await openFolder(t));
  const controller = `worker "controller" { bind_socket = "127.0.0.1:${controllerPort}"; count = 1; password = "${password}"; }\n`;
  const controllerUrl = await startWorkers(t, {port: controllerPort, workers: controller, classifier});
  // Not until then: of workers that open the same files at the same time, one can be left without them.
  const url = await startWorkers(t, {port, workers: normalWorker(port), classifier});
  return {
    url,
    controllerUrl,
    password,
    async trained() {
      const response = await fetch(`${controllerUrl}/stat`, {headers: {Password: password}});
      const {statfiles} = (await response.json()) as {statfiles: {symbol: string; revision: number}[]};
      const learned = (symbol: string) => statfiles.find(file => file.symbol === symbol)?.revision ?? Number.NaN;
      return {ham: learned('BAYES_HAM'), spam: learned('BAYES_SPAM')};
    },
  };
};

/** Rspamd drops root rights and must still be able to enter. */
const openFolder = async (t: Owner): Promise<string> => {
  const folder = await testFolder(t);
  await chmod(folder, 0o777);
  return folder;
};

interface Workers extends PrivateRspamdOptions {
  /** Of one of them. */
  port: number;
  workers: string;
  classifier?: string;
}

/** Resolves with the URL of `port` once it answers. */
const startWorkers = async (t: Owner, {port, workers, rules, addressOf, classifier}: Workers): Promise<string> => {
  const folder = await openFolder(t);
  await copyCompiled(compiled, folder);
  await writeFile(join(folder, 'options.conf'), dnsOptions(await startDnsStub(t, addressOf)));
  await mkdir(join(folder, 'override.d'));
  if (rules !== undefined) await writeFile(join(folder, 'rspamd.local.lua'), rules);
  if (classifier !== undefined) await writeFile(join(folder, 'override.d', 'classifier-bayes.conf'), classifier);
  await writeFile(join(folder, 'rspamd.conf'), configuration(workers));
  const places = ['DBDIR', 'RUNDIR', 'LOGDIR', 'LOCAL_CONFDIR'].flatMap(name => ['--var', `${name}=${folder}`]);
  const user = process.getuid?.() === 0 ? ['-u', '_rspamd', '-g', '_rspamd'] : ['-i'];
  const child = spawn('rspamd', ['-f', ...user, '-c', join(folder, 'rspamd.conf'), ...places], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(async () => stop(child));
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (log = (log + chunk).slice(-4000)));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, child).catch(error => {
    throw new Error(`Rspamd did not start: ${log}`, {cause: error});
  });
  await copyCompiled(folder, compiled);
  return url;
};

const configuration = (workers: string): string => `
.include "$CONFDIR/common.conf"
options {
  pidfile = "$RUNDIR/rspamd.pid";
  .include "$CONFDIR/options.inc"
  .include(priority=1,duplicate=merge) "$DBDIR/options.conf"
}
logging { type = "console"; level = "warning"; }
${workers}`;

const classifierIn = (folder: string): string => `
backend = "sqlite3";
cache { type = "sqlite3"; path = "${folder}/learned.sqlite"; }
statfile { symbol = "BAYES_HAM"; spam = false; path = "${folder}/ham.sqlite"; }
statfile { symbol = "BAYES_SPAM"; spam = true; path = "${folder}/spam.sqlite"; }
`;

/** Merged from a file of its own: Rspamd ignores a second `dns` section in one file and uses the machine's name server. */
const dnsOptions = (dnsPort: number): string => `dns { nameserver = ["127.0.0.1:${dnsPort}"]; timeout = 1s; retransmits = 1; }\n`;

/** The patterns that Rspamd has compiled, which takes seconds at each first start. The files are named after their content. */
const compiled = fileURLToPath(new URL('../../node_modules/.cache/mfd-rspamd', import.meta.url));

const copyCompiled = async (from: string, to: string): Promise<void> => {
  await mkdir(to, {recursive: true, mode: 0o755});
  const has = new Set(await readdir(to));
  const names = await readdir(from).catch(() => []);
  for (const name of names.filter(name => /\.hsm[cp]$/.test(name) && !has.has(name))) {
    // Other tests read there at the same time: a file must be complete as soon as it is visible.
    const part = join(to, `${name}.${randomUUID()}`);
    await copyFile(join(from, name), part);
    await rename(part, join(to, name));
  }
};

const untilReady = async (url: string, child: ChildProcess): Promise<void> => {
  const deadline = Date.now() + 150_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`exit ${child.exitCode}`);
    const response = await fetch(`${url}/ping`, {signal: AbortSignal.timeout(1000)}).catch(() => undefined);
    if (response?.ok) return;
    if (Date.now() > deadline) throw new Error('no answer to /ping for 150 s');
    await sleep(100);
  }
};

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise(resolve => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(timer);
};
