// PgBouncer in front of PostgreSQL: a pooler of transactions is refused, one of sessions is not.
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {chmod, writeFile} from 'node:fs/promises';
import {connect} from 'node:net';
import {join} from 'node:path';
import {inspectPostgres} from '../../../../daemon/store/postgres/inspect.ts';
import {openPostgresStore} from '../../../../daemon/store/postgres/store.ts';
import {cluster, newCluster} from '../../../helpers/common-store.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {isInstalled} from '../../../helpers/installed.ts';
import {freePort} from '../../../helpers/ports.ts';
import {postgresMissing} from '../../../helpers/postgres-programs.ts';
import type {Teardown} from '../../../helpers/store.ts';
import {testFolder} from '../../../helpers/test-folder.ts';
import {testWith} from '../../../helpers/test-with.ts';
import {usePostgres} from '../../../helpers/test-with-postgres.ts';

const missing = isInstalled('pgbouncer') ? postgresMissing() : 'PgBouncer is not installed';
const testWithPooler = testWith('PgBouncer', missing);
const postgres = usePostgres();

/** The port of a PgBouncer in front of the server of this file. It does not run as root either. */
const startPooler = async (t: Teardown, mode: 'session' | 'transaction'): Promise<number> => {
  const port = await freePort();
  const {host, port: server, user, password} = postgres();
  const folder = await testFolder(t);
  await chmod(folder, 0o755);
  const users = join(folder, 'users.txt');
  const text = (value: string) => `"${value.replaceAll('"', '""')}"`;
  await writeFile(users, `${text(user)} ${text(password)}\n`, {mode: 0o644});
  const lines = [
    '[databases]',
    `* = host=${host} port=${server}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = plain',
    `auth_file = ${users}`,
    `pool_mode = ${mode}`,
    'default_pool_size = 20',
  ];
  await writeFile(join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`, {mode: 0o644});
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child: ChildProcess = spawn('pgbouncer', ['-q', ...asUser, join(folder, 'pgbouncer.ini')], {stdio: 'ignore'});
  t.teardown(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await eventually(async () => isListening(port));
  return port;
};

const isListening = async (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

testWithPooler('a pooler that lends connections for single transactions is refused by name', async t => {
  const settings = {...(await newCluster(postgres())), port: await startPooler(t, 'transaction')};

  await t.throwsAsync(inspectPostgres(settings, cluster), {message: /single transactions; use pool_mode = session/});
});

testWithPooler('a pooler of whole sessions serves a node, and tells it of changes', async t => {
  const settings = {...(await newCluster(postgres())), port: await startPooler(t, 'session')};
  const store = await openPostgresStore({settings, cluster, nodeId: 'alpha', nodeNo: 1});
  t.teardown(store.close);
  const seen: number[] = [];
  const watch = store.watch({onPosition: async ({seq}) => void seen.push(seq), onLost: error => t.fail(error.message)});
  t.teardown(watch.stop);

  await store.changeTransaction(async tx => tx.outbox.append({}));
  store.notify();

  t.true(await eventually(() => seen.includes(1)));
});
