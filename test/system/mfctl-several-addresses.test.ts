// Two real nodes, of which one is killed: the built mfctl continues with the other, whose address it has learned.
import {X509Certificate} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test.serial : test.serial.skip;

/** Logs in to alpha. */
const arrange = async (t: ExecutionContext) => {
  const {nodes, converged} = await startCluster(t, {nodes: ['alpha', 'beta'], isProxied: false});
  const {alpha, beta} = nodes;
  const {fingerprint256} = new X509Certificate(await readFile(alpha.ca_file));
  const {name} = await alpha.createDomain({reject_threshold: 100});
  await converged();
  const mail = await beta.hold({to: `user@${name}`, subject: 'kept on beta'});
  const xdgConfigHome = join(alpha.xdgConfigHome, 'ops');
  const env = {XDG_CONFIG_HOME: xdgConfigHome, MFCTL_URL: '', MFCTL_CACERT: '', MFCTL_API_KEY: ''};
  const mfctl = (args: string[], input = '') => alpha.mfctl(args, {env, input});
  const login = ['login', alpha.api_url, '--fingerprint', fingerprint256, '--api-key-file', '-', '-o', 'json'];
  const {code, stdout, stderr} = await mfctl(login, alpha.api_key);
  t.is(code, 0, stderr);
  t.deepEqual(JSON.parse(stdout).urls, [alpha.api_url, beta.api_url]);
  return {alpha, beta, mail: `${mail.node_id}/${mail.queue_id}`, mfctl, xdgConfigHome};
};

test.serial('when the node of a context is killed, reading and acting go on with the other one', async t => {
  const {alpha, beta, mail, mfctl} = await arrange(t);
  const moved = `${new URL(alpha.api_url).host} does not answer, asking ${new URL(beta.api_url).host}\n`;

  await alpha.stop('SIGKILL');
  const listed = await mfctl(['quarantine', 'list', '-o', 'name']);
  const released = await mfctl(['quarantine', 'release', mail, '-o', 'json']);
  const created = await mfctl(['key', 'create', '--name', 'meanwhile', '--scope', 'read-only', '-q']);
  const revoked = await mfctl(['key', 'revoke', 'meanwhile', '--yes', '-q']);
  const completed = await mfctl(['__complete', '--', 'key', 'revoke', 'mean']);
  await beta.stop('SIGKILL');
  const neither = await mfctl(['domain', 'list']);

  t.is(listed.stdout, `${mail}\n`);
  t.true(listed.stderr.startsWith(moved), listed.stderr);
  t.like(JSON.parse(released.stdout), {state: 'released', already: false});
  t.is(released.stderr, moved);
  t.deepEqual([created.code, revoked.code], [0, 0]);
  t.notRegex(created.stderr, /does not answer, asking/);
  t.regex(completed.stdout, /^meanwhile\t/);
  t.is(completed.stderr, '');
  t.is(neither.code, 7);
  for (const {api_url} of [alpha, beta]) t.true(neither.stderr.includes(new URL(api_url).host), neither.stderr);
});

onTerminal('[tmux] the dashboard goes on with the other node and says so, and comes back when that one is away', async t => {
  const {alpha, beta, xdgConfigHome} = await arrange(t);
  const [here, there] = [alpha, beta].map(({api_url}) => new URL(api_url).host);
  const terminal = await startDashboard(t, {xdgConfigHome}, ['--screen', 'keys'], {columns: 120});
  await terminal.shows(/● live.* alpha\s/);

  await alpha.stop('SIGKILL');
  await terminal.shows(`● live`, 40_000);
  await terminal.shows(`${there} in place of ${here}`, 40_000);
  await beta.createKey('read-only', {name: 'meanwhile'});
  await terminal.shows('meanwhile', 40_000);

  await alpha.start();
  await beta.stop('SIGKILL');
  await terminal.shows(/● live.* alpha\s/, 60_000);
  t.notRegex(await terminal.screen(), /in place of/);
});
