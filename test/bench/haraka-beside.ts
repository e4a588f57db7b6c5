// Relayed mail beside Haraka (`npm install --global Haraka`) with its plugin smtp_proxy, which does the same work: it asks the backend for
// the recipient and gives it the mail while the sender waits, and stores nothing.
import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import {writeFile} from 'node:fs/promises';
import {connect} from 'node:net';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type {Owner} from '../helpers/daemon.ts';
import {eventually} from '../helpers/eventually.ts';
import {programsMissing} from '../helpers/installed.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {startNode} from '../helpers/node.ts';
import {freePort} from '../helpers/ports.ts';
import {testFolder} from '../helpers/test-folder.ts';
import type {Bench, Row} from './bench.ts';
import {compareBySource} from './by-source.ts';
import {createExampleDomain} from './example-domain.ts';
import {startBareBackend} from './smtp-load.ts';
import {source} from './smtp-source.ts';

const compared = {anchor: 'Haraka', unit: '×'} as const;
const rows: readonly Row[] = [
  {name: 'haraka-kept', title: 'relayed mail of 10 KB from smtp-source, 8 kept sessions, mails a second', ...compared},
  {name: 'haraka-each', title: 'the same with a session for each mail', ...compared},
  {name: 'haraka-64', title: 'the same with 64 kept sessions', ...compared},
];

export const harakaBeside: Bench = {
  name: 'haraka-beside',
  rows,
  isLong: true,
  seconds: 300,
  missing: () => programsMissing(['haraka', source]),
  async run(context) {
    const {owner, isQuick, isWanted} = context;
    const backend = await startBareBackend(owner);
    const node = await startNode(owner);
    await createExampleDomain(node, `127.0.0.1:${backend}`, relayAll);
    const haraka = await startHaraka(owner, backend);
    const loads = {
      'haraka-kept': {sessions: 8, isKept: true},
      'haraka-each': {sessions: 8, isKept: false},
      'haraka-64': {sessions: 64, isKept: true},
    };
    for (const [row, load] of Object.entries(loads))
      if (isWanted(row))
        await compareBySource(context, {
          ...load,
          anchor: haraka,
          rows: {[row]: node.smtpPort},
          count: isQuick ? 600 : 2000,
          warmUps: 5,
        });
  },
};

/** Resolves with its port once it listens. Like mfd it uses one process. */
const startHaraka = async (owner: Owner, backend: number): Promise<number> => {
  const folder = await testFolder(owner);
  const port = await freePort();
  await promisify(execFile)('haraka', ['-i', folder]);
  const files = {
    'smtp.ini': `listen=127.0.0.1:${port}`,
    plugins: 'rcpt_to.in_host_list\nqueue/smtp_proxy',
    host_list: 'example.com',
    'smtp_proxy.ini': `host=127.0.0.1\nport=${backend}`,
    me: 'mx1.example.com',
    loglevel: 'WARN',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'config', name), `${text}\n`);
  const child = spawn('haraka', ['-c', folder], {stdio: 'ignore'});
  owner.teardown(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  await eventually(async () => listens(port));
  return port;
};

const listens = async (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.end(() => resolve(true)));
    socket.once('error', () => resolve(false));
  });
