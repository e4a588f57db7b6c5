// A real Postfix, private to one test: its own configuration, queue and port, no chroot, started and stopped by the test.
import {execFile, spawn} from 'node:child_process';
import {chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {Owner} from './daemon.ts';
import {isInstalled} from './installed.ts';
import {freePort} from './ports.ts';

const runFile = promisify(execFile);

/** The reason why these tests cannot run here, or undefined. Postfix starts as root only. */
export const postfixMissing = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'Postfix starts as root only';
  return isInstalled('/usr/sbin/postconf') ? undefined : 'Postfix is not installed';
};

interface QueuedMail {
  queue_name: string;
  queue_id: string;
  arrival_time: number;
  message_size: number;
  sender: string;
  recipients: {address: string; delay_reason?: string}[];
}

export interface PrivatePostfix {
  configDir: string;
  queueDir: string;
  /** Its `maillog_file`. */
  logFile: string;
  /** Port of its SMTP server, on 127.0.0.1. */
  port: number;
  /** Runs one of its programs, such as `postsuper`, on this instance. */
  command(program: string, args: string[], input?: string): Promise<{code: number; stdout: Buffer; stderr: string}>;
  /** The content of its queues, as printed by postqueue. */
  queue(): Promise<QueuedMail[]>;
  /** Ids of the mails on hold. */
  onHold(): Promise<string[]>;
  /** Sets parameters of main.cf and reloads them. */
  configure(settings: Record<string, string>): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  log(): Promise<string>;
}

export interface PostfixOptions {
  /** Parameters of main.cf. */
  settings?: Record<string, string>;
  /** False: the test calls `start` itself. */
  isStarted?: boolean;
}

export const startPostfix = async (
  owner: Owner,
  {settings = {}, isStarted = true}: PostfixOptions = {},
): Promise<PrivatePostfix> => {
  const root = await mkdtemp(join(tmpdir(), 'mfd-postfix-'));
  // Postfix drops root rights and must still be able to enter.
  await chmod(root, 0o755);
  const [configDir, queueDir, dataDir] = ['conf', 'queue', 'data'].map(name => join(root, name)) as [string, string, string];
  const port = await freePort();
  for (const dir of [configDir, queueDir, dataDir]) await mkdir(dir, {mode: 0o755});
  const {uid, gid} = await userIds('postfix');
  await chown(dataDir, uid, gid);
  const logFile = join(root, 'mail.log');
  await writeFile(join(configDir, 'main.cf'), lines({...basics({queueDir, dataDir, logFile}), ...settings}));
  await writeFile(join(configDir, 'master.cf'), services(port));

  const command: PrivatePostfix['command'] = async (program, args, input) =>
    new Promise((resolve, reject) => {
      const child = spawn(`/usr/sbin/${program}`, ['-c', configDir, ...args], {stdio: ['pipe', 'pipe', 'pipe']});
      const [out, err]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on('data', chunk => out.push(chunk));
      child.stderr.on('data', chunk => err.push(chunk));
      child.on('error', reject);
      child.on('close', code => resolve({code: code ?? -1, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString()}));
      child.stdin.on('error', () => undefined);
      child.stdin.end(input);
    });
  const insist = async (program: string, args: string[]): Promise<Buffer> => {
    const {code, stdout, stderr} = await command(program, args);
    if (code !== 0) throw new Error(`${program} ${args.join(' ')}: exit ${code}: ${stderr}${await postfix.log()}`);
    return stdout;
  };

  let isRunning = false;
  const postfix: PrivatePostfix = {
    configDir,
    queueDir,
    logFile,
    port,
    command,
    async queue() {
      const text = (await insist('postqueue', ['-j'])).toString();
      return text.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line) as QueuedMail]));
    },
    onHold: async () => (await postfix.queue()).filter(({queue_name}) => queue_name === 'hold').map(({queue_id}) => queue_id),
    async configure(changes) {
      await insist('postconf', ['-e', ...Object.entries(changes).map(([name, value]) => `${name}=${value}`)]);
      if (isRunning) await insist('postfix', ['reload']);
    },
    async start() {
      await insist('postfix', ['start']);
      isRunning = true;
    },
    async stop() {
      if (!isRunning) return;
      isRunning = false;
      // It waits until its master process, found by the pid file of this instance, has ended.
      await insist('postfix', ['stop']);
    },
    log: async () => readFile(logFile, 'utf8').catch(() => ''),
  };
  owner.teardown(async () => {
    await postfix.stop();
    await rm(root, {recursive: true, force: true});
  });
  if (isStarted) await postfix.start();
  return postfix;
};

const userIds = async (name: string): Promise<{uid: number; gid: number}> => {
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async flag => Number((await runFile('id', [flag, name])).stdout)));
  return {uid: uid ?? 0, gid: gid ?? 0};
};

const basics = ({queueDir, dataDir, logFile}: {queueDir: string; dataDir: string; logFile: string}): Record<string, string> => ({
  compatibility_level: '3.6',
  queue_directory: queueDir,
  data_directory: dataDir,
  maillog_file: logFile,
  // Postfix writes its log only below these folders.
  maillog_file_prefixes: `/var, ${tmpdir()}, /dev/stdout`,
  myhostname: 'mx.test',
  mydestination: '',
  mynetworks: '127.0.0.0/8',
  inet_interfaces: '127.0.0.1',
  inet_protocols: 'ipv4',
  enable_long_queue_ids: 'yes',
  alias_maps: '',
  alias_database: '',
  biff: 'no',
  // No query reaches a name server.
  smtpd_peername_lookup: 'no',
  disable_dns_lookups: 'yes',
  smtp_host_lookup: 'native',
  maximal_backoff_time: '4s',
  minimal_backoff_time: '2s',
  queue_run_delay: '2s',
});

const lines = (settings: Record<string, string>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('');

const services = (port: number): string => `
127.0.0.1:${port} inet n - n - - smtpd
pickup    unix  n       -       n       1       1       pickup
cleanup   unix  n       -       n       -       0       cleanup
qmgr      unix  n       -       n       300     1       qmgr
rewrite   unix  -       -       n       -       -       trivial-rewrite
bounce    unix  -       -       n       -       0       bounce
defer     unix  -       -       n       -       0       bounce
trace     unix  -       -       n       -       0       bounce
verify    unix  -       -       n       -       1       verify
flush     unix  n       -       n       1000?   0       flush
proxymap  unix  -       -       n       -       -       proxymap
smtp      unix  -       -       n       -       -       smtp
relay     unix  -       -       n       -       -       smtp
showq     unix  n       -       n       -       -       showq
error     unix  -       -       n       -       -       error
retry     unix  -       -       n       -       -       error
discard   unix  -       -       n       -       -       discard
anvil     unix  -       -       n       -       1       anvil
scache    unix  -       -       n       -       1       scache
postlog   unix-dgram n  -       n       -       1       postlogd
`;
