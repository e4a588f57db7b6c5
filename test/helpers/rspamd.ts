// A real Rspamd with the configuration it was installed with, private to one test.
import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {chmod, mkdtemp, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import type {ExecutionContext} from 'ava';
import {startDnsStub} from './dns-stub.ts';

export const isRspamdInstalled = (): boolean => spawnSync('rspamd', ['--version']).status === 0;

/** Starts Rspamd on loopback and resolves with its URL once it answers; the first start takes up to 10 s. */
export const startRspamd = async (t: ExecutionContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-rspamd-'));
  // Rspamd gives up root and must still get in.
  await chmod(folder, 0o777);
  const port = await freePort();
  await writeFile(join(folder, 'rspamd.conf'), configuration(port));
  await writeFile(join(folder, 'options.conf'), dnsOptions(await startDnsStub(t)));

  const places = ['DBDIR', 'RUNDIR', 'LOGDIR'].flatMap(name => ['--var', `${name}=${folder}`]);
  const user = process.getuid?.() === 0 ? ['-u', '_rspamd', '-g', '_rspamd'] : ['-i'];
  const child = spawn('rspamd', ['-f', ...user, '-c', join(folder, 'rspamd.conf'), ...places], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (log = (log + chunk).slice(-4000)));
  t.teardown(async () => {
    await stop(child);
    await rm(folder, {recursive: true, force: true});
  });

  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, child).catch(error => {
    throw new Error(`Rspamd did not start: ${log}`, {cause: error});
  });
  return url;
};

const configuration = (port: number): string => `
.include "$CONFDIR/common.conf"
options {
  pidfile = "$RUNDIR/rspamd.pid";
  .include "$CONFDIR/options.inc"
  .include(priority=1,duplicate=merge) "$DBDIR/options.conf"
}
logging { type = "console"; level = "warning"; }
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
`;

/** Merged from a file of its own: a second `dns` section in one file is not looked at, and the machine's name server asked. */
const dnsOptions = (dnsPort: number): string => `dns { nameserver = ["127.0.0.1:${dnsPort}"]; timeout = 1s; retransmits = 1; }\n`;

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise(resolve => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
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
  if (child.exitCode !== null) return;
  const ended = new Promise(resolve => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(timer);
};
