// Notifications from a node to systemd, on a socket like systemd's own and through the real systemd-notify.
import {appendFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {listenForDatagrams} from '../helpers/datagram-socket.ts';
import {eventually} from '../helpers/eventually.ts';
import {programsMissing} from '../helpers/installed.ts';
import {startNode} from '../helpers/node.ts';
import {testWith} from '../helpers/test-with.ts';

const withSystemd = testWith('systemd', programsMissing(['systemd-notify', 'perl']));

const startNotifying = async (t: ExecutionContext) => {
  const manager = await listenForDatagrams(t);
  const node = await startNode(t, {env: {NOTIFY_SOCKET: manager.path}});
  /** Without the barriers with which systemd-notify waits for its messages to be processed. */
  const told = () => manager.received().filter(text => !text.startsWith('BARRIER='));
  return {node, told};
};

withSystemd('a node says when it is ready, with its addresses, and when it stops', async t => {
  const {node, told} = await startNotifying(t);

  await eventually(() => told().length === 1);
  await node.stop();

  t.deepEqual(told(), [
    `READY=1\nSTATUS=node=${node.node_id} api=${node.api_url} cluster=${node.cluster_url} metrics=${node.metrics_url} smtp=${node.smtp}`,
    'STOPPING=1\nSTATUS=finishing current work',
  ]);
  t.false(node.log().includes('systemd-notify failed'));
});

withSystemd('a node that rereads its configuration is ready again, also when it cannot take it over', async t => {
  const {node, told} = await startNotifying(t);
  await eventually(() => told().length === 1);

  node.signal('SIGHUP');
  await eventually(() => told().length === 3);
  await appendFile(join(node.data, 'mfd.yaml'), 'no_such_key: 1\n');
  node.signal('SIGHUP');
  await eventually(() => told().length === 5);

  const [ready, ...later] = told();
  t.deepEqual(later, [
    'RELOADING=1\nSTATUS=rereading the configuration',
    ready,
    'RELOADING=1\nSTATUS=rereading the configuration',
    ready?.replace('STATUS=', 'STATUS=configuration not applied, see the log: '),
  ]);
});

test('a service manager that cannot be told is logged, and no reason to end', async t => {
  const node = await startNode(t, {env: {NOTIFY_SOCKET: '/nonexistent/notify'}});

  await eventually(() => node.log().includes('systemd-notify failed'));

  t.is((await node.api('GET', 'auth/me')).status, 200);
  t.is(await node.stop(), 0);
});

test('where no service manager listens, none is told', async t => {
  const node = await startNode(t, {env: {PATH: '/nonexistent'}});

  node.signal('SIGHUP');
  await node.stop();

  t.false(node.log().includes('systemd-notify'));
});
