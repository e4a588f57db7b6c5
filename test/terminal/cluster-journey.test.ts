import test from 'ava';
import {startCluster} from '../helpers/cluster.ts';
import {clusterOf, otherHash, peer} from '../helpers/dashboard/cluster-records.ts';
import {scriptedNode, startScripted} from '../helpers/dashboard/scripted-dashboard.ts';
import {isTmuxInstalled, startDashboard} from '../helpers/terminal.ts';

const onTerminal = isTmuxInstalled() ? test : test.skip;

onTerminal('[tmux] a drift that lasts is an alarm that stays until it is over, with what differs a key away', async t => {
  const node = scriptedNode();
  const drift = {
    local_node_id: 'mx1',
    config_hash: otherHash,
    nodes: [{node_id: 'mx2', config_hash: otherHash, differs_since: '2026-03-01T11:00:00.000Z', differing_records: 1}],
    records: [
      {
        node_id: 'mx2',
        kind: 'domain',
        id: 1,
        name: 'example.com',
        here: 'live',
        there: 'live',
        fields: [{name: 'reject_threshold', here: 15, there: 20}],
      },
    ],
    repairs: [],
    generated_at: '2026-03-01T12:00:00.000Z',
  };
  node.setStatus(
    clusterOf(peer('mx1'), peer('mx2', {config_hash: otherHash, config_differs_since: '2026-03-01T11:00:00.000Z'}), peer('mx3')),
  );
  const {terminal} = await startScripted(t, {...node.answers, 'GET /cluster/drift': {data: drift}});

  const screen = await terminal.shows('domain example.com at mx2: reject_threshold');
  t.regex(screen, /≠ ALARM: configuration drift: mx2 differs/);
  t.regex(screen, /mx2 .*≠ 22222222/);
  await terminal.keys('d');
  await terminal.shows(/reject_threshold.*mx1 +15.*mx2 +20/s);
  // An escape and a key that are read together are another key.
  await terminal.keys('Escape');
  await terminal.shows('Held mail');
  await terminal.keys('4');
  await terminal.shows(/monitoring.*✗ mx2 configured unlike the rest/s);

  node.setStatus(clusterOf(peer('mx1'), peer('mx2'), peer('mx3')));
  await terminal.keys('1', 'r');
  await terminal.shows(/^(?!.*configured unlike).*config equal/s);
});

onTerminal('[tmux] a join token is asked for twice, shown until it is confirmed, and gone then', async t => {
  const node = scriptedNode();
  const token = {token: 'mfj1_AQIDsecret', expires_at: '2026-03-01T13:00:00Z', address: 'mx1:8444', ca_fingerprint: 'x'};
  const {terminal, api} = await startScripted(t, {...node.answers, 'POST /cluster/tokens': {status: 201, data: token}});
  await terminal.shows('3 online');

  await terminal.keys('t');
  await terminal.shows('Keep it secret');
  t.false(api.requests.some(({method}) => method === 'POST'));
  await terminal.keys('y');
  await terminal.shows(/^ mfj1_AQIDsecret\s*$/m);
  await terminal.keys('Escape', 'q');
  await terminal.shows('mfj1_AQIDsecret');
  await terminal.keys('Enter');

  await terminal.shows('3 online');
  t.false((await terminal.screen()).includes('AQIDsecret'));
});

onTerminal('[tmux] a node is removed by its name typed, after a delay in which it can be taken back', async t => {
  const node = scriptedNode();
  const {terminal, api} = await startScripted(
    t,
    {...node.answers, 'DELETE /cluster/nodes/mx2': {headers: {'x-unreachable-nodes': 'mx3'}}},
    ['--undo-delay', '2'],
  );
  await terminal.shows('3 online');

  await terminal.keys('j', 'X');
  await terminal.shows('Remove node mx2 from the cluster, for good?');
  await terminal.keys('y');
  await terminal.type('mx3\r');
  await terminal.shows('type mx2 exactly');
  await terminal.keys('C-u');
  await terminal.type('mx2\r');
  await terminal.shows(/In \d s: remove node mx2\. u takes it back/);
  await terminal.keys('u');
  await terminal.shows('Taken back, nothing was done: remove node mx2');
  t.false(api.requests.some(({method}) => method === 'DELETE'));

  await terminal.keys('X');
  await terminal.shows('Remove node mx2 from the cluster, for good?');
  await terminal.keys('y');
  await terminal.type('mx2\r');
  await terminal.shows('Removed node mx2, but mx3 did not answer and will follow');
  t.is(api.requests.filter(({method}) => method === 'DELETE').length, 1);
});

onTerminal('[tmux] a key that may not see the cluster says so and shows its mail', async t => {
  const node = scriptedNode({scope: 'quarantine-only'});
  const {terminal, api} = await startScripted(t, node.answers);

  const screen = await terminal.shows(
    /quarantine-only key may not see the nodes; what is held for it is below\..*Held mail: 0 mails/s,
  );
  await terminal.keys('t');
  await terminal.shows('this quarantine-only key may not do that');

  t.notRegex(screen, /HEALTH/);
  t.false(api.requests.some(({path}) => path.startsWith('/cluster')));
});

onTerminal('[tmux] opened to look only, it changes nothing', async t => {
  const {terminal, api} = await startScripted(t, scriptedNode().answers, ['--read-only']);
  await terminal.shows('3 online');

  await terminal.keys('t');
  await terminal.shows('opened with --read-only');
  await terminal.keys('X');
  await terminal.shows('opened with --read-only');
  await terminal.keys('4');
  await terminal.shows('monitoring');
  for (const key of ['n', 'R', 'X', 'D']) {
    await terminal.keys(key);
    await terminal.shows('opened with --read-only');
  }

  t.true(api.requests.every(({method}) => method === 'GET'));
});

onTerminal('[tmux] a real node that is stopped goes stale before the eyes, and comes back', async t => {
  const {nodes, converged} = await startCluster(t);
  await converged();
  const {alpha, gamma} = nodes;
  const terminal = await startDashboard(t, alpha, [], {columns: 120, rows: 35});
  await terminal.shows('3 online');
  await terminal.shows(/gamma .* 89d /);

  await gamma.stop();
  await terminal.shows('◐ gamma is stale; it was online', 90_000);
  await terminal.shows(/gamma .* ◐ stale/);
  await terminal.shows('WITHOUT gamma');
  await gamma.start();

  await terminal.shows('● gamma is online again', 30_000);
  await terminal.keys('G', 'Enter');
  const page = await terminal.shows('Changes of its health');
  t.regex(page, /online again; it was stale.*is stale; it was online/s);
});
