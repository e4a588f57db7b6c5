// A link between the dashboard and the node that is cut in the middle: neither end is notified.
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {networkMissing, startNetwork} from '../helpers/network.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';
import {testWith} from '../helpers/test-with.ts';

const onTerminal = testWith('tmux, network', isTmuxInstalled() ? networkMissing : 'tmux is not installed');

onTerminal('the dashboard notices a link that was cut, counts on, and is live again after it', async t => {
  const network = await startNetwork(t, ['mx1']);
  const {nodes} = await startCluster(t, {nodes: ['mx1'], network, isProxied: false});
  const {xdgConfigHome, api_url, api_key, ca_file} = nodes.mx1;
  const env = {MFCTL_URL: api_url, MFCTL_API_KEY: api_key, MFCTL_CACERT: ca_file};
  const terminal = await startDashboard(t, {xdgConfigHome}, [], {env});
  await terminal.shows(/● live.*mx1 +● online/s);

  await network.cut('mx1', 'tests');

  await terminal.shows(/✗ node does not answer, heard 1?\ds ago/, 25_000);
  const ageOf = async (): Promise<number> => Number(/mx1 +● online +(\d+)s ago/.exec(await terminal.screen())?.[1]);
  const before = await ageOf();
  t.true(await eventually(async () => (await ageOf()) > before));
  await network.heal();
  await terminal.shows('● live', 60_000);
});

testWith('network', networkMissing)('a watch of events notices a link that was cut', async t => {
  const network = await startNetwork(t, ['mx1']);
  const {nodes} = await startCluster(t, {nodes: ['mx1'], network, isProxied: false});
  let isWatching = () => {};
  const begun = new Promise<void>(resolve => {
    isWatching = resolve;
  });
  const watching = nodes.mx1.mfctl(['events', '--for', '25s', '-v'], {
    onStart: ({stderr}) => stderr?.on('data', chunk => / \/api\/v1\/events.* 200 /.test(String(chunk)) && isWatching()),
  });
  await begun;

  await network.cut('mx1', 'tests');
  const {code, stderr} = await watching;

  t.is(code, 0);
  t.regex(stderr, /no answer since .*did not answer in time; retrying/);
});
