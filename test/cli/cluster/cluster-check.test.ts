import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import type {Peer, Problem} from '../../../shared/cluster-status.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import {runCli} from '../../helpers/cli/fake-terminal.ts';
import {clusterStatus, hostile, peer} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const [mx1, mx2, mx3] = [peer('mx1'), peer('mx2'), peer('mx3')];
const before = (seconds: number) => new Date(Date.parse(clusterStatus([]).generated_at) - seconds * 1000).toISOString();
const other = `sha256:${'b'.repeat(64)}`;
const figure = String.raw`'\w+'=-?\d+(\.\d+)?s?(;\d*(\.\d+)?){0,4}`;
const line = new RegExp(`^MFD CLUSTER (OK|WARNING|CRITICAL|UNKNOWN): [^|\\n]+ \\| ${figure}( ${figure})*\\n$`);

const check = async (t: ExecutionContext, reply: Peer[] | Reply, args: string[] = []) => {
  const api = await startApi(t, {'GET /cluster/status': Array.isArray(reply) ? {data: clusterStatus(reply)} : reply});
  const {code, stdout, stderr} = await api.mfctl(['cluster', 'check', ...args]);
  t.regex(stdout, line);
  t.is(stderr, '');
  return {code, stdout};
};

const drifted = (seconds: number) => [
  {...mx1, config_hash_age_s: 86_400},
  {...mx2, config_hash: other, config_differs_since: before(seconds)},
];

test('a cluster that is well is OK, with its figures', async t => {
  const {code, stdout} = await check(t, [mx1, mx2, mx3]);

  t.is(code, 0);
  t.regex(
    stdout,
    /^MFD CLUSTER OK: 3 nodes, all online and configured alike \| 'nodes'=3;;;0 'online'=3;;;0;3 'stale'=0;0;;0;3 'offline'=0;;0;0;3 'backlog'=0;100;;0 'drift_age'=0s;;600;0 'invalid_licenses'=0;0;;0;3 'unanswered'=0;0;;0;3 'unreachable'=0;0;;0;3 'clock_skew'=0s;30;86400;0 'refused'=0;;0;0;3 'time'=\d+\.\d+s;;10;0\n$/,
  );
});

const openFile = (name: string) => ({
  ...{part: 'password_file', name, domains: [], since: '2026-03-01T12:00:00Z', refuses_mail: false},
  detail: 'every user of this machine can read it',
});

test('a password file that every user can read is a warning with the node and the key', async t => {
  const {code, stdout} = await check(t, [
    mx1,
    {...mx2, problems: ['smtp.smarthost_password_file', 'store.password_file'].map(openFile)},
  ]);

  t.is(code, 1);
  t.regex(
    stdout,
    /WARNING: every user of mx2 can read the file of smtp\.smarthost_password_file \(chmod o-r on that machine\), every user of mx2 can read the file of store\.password_file \(chmod o-r on that machine\) \|/,
  );
});

test('a stale node, a backlog and an invalid licence are warnings', async t => {
  const stale = await check(t, [mx1, {...mx2, healthy: 'stale'}, {...mx3, healthy: 'stale'}]);
  const backlog = await check(t, [mx1, {...mx2, outbox_backlog_to_us: 101}]);
  const license = await check(t, [{...mx1, license: {...mx1.license, valid: false}}]);

  t.deepEqual([stale.code, backlog.code, license.code], [1, 1, 1]);
  t.regex(stale.stdout, /WARNING: mx2, mx3 stale \|.* 'stale'=2;0;;0;3 /);
  t.regex(backlog.stdout, /WARNING: 101 changes of mx2 not applied yet \|.* 'backlog'=101;100;;0 /);
  t.regex(license.stdout, /WARNING: mx1 without a valid licence \|/);
});

test('a cluster without the key of its authority is a warning, unless a node that may have it was not heard', async t => {
  const [one, two] = [
    {...mx1, has_authority: false},
    {...mx2, has_authority: false},
  ];
  const none = await check(t, [one, two]);
  const unheard = await check(t, [one, {...two, has_authority: null}]);
  const some = await check(t, [one, mx2]);

  t.deepEqual([none.code, unheard.code, some.code], [1, 0, 0]);
  t.regex(none.stdout, /WARNING: no node has tls\/ca\.key, so certificates expire without being renewed \(copy it .*\) \|/);
});

test('nodes that could not send the reports that domains want, or are set up for them differently, are a warning', async t => {
  const unset = await check(t, [mx1, {...mx2, dmarc_unset: true}]);
  const differing = await check(t, [mx1, {...mx2, dmarc_config: 'facade'}]);
  const older = await check(t, [mx1, {...mx2, dmarc_config: null}]);

  t.deepEqual([unset.code, differing.code, older.code], [1, 1, 0]);
  t.regex(
    unset.stdout,
    /WARNING: mx2 cannot send the DMARC reports that domains want \(set an fqdn with a dot, or dmarc\.report_from, in mfd\.yaml\) \|/,
  );
  t.regex(differing.stdout, /WARNING: dmarc\.\* differs between mx1(, | and )mx2 \|/);
});

test('a node that does not answer is a warning before it is stale, and says since when', async t => {
  const at = clusterStatus([]).generated_at;
  const unanswered_since = new Date(Date.parse(at) - 32_000).toISOString();
  const {code, stdout} = await check(t, [mx1, {...mx2, unanswered_since}, {...mx3, healthy: 'stale', unanswered_since}]);

  t.is(code, 1);
  t.regex(stdout, /WARNING: mx3 stale, no answer from mx2 for 32 s \|.* 'unanswered'=2;0;;0;3 /);
});

test('a node whose changes another one refuses is critical', async t => {
  const {code, stdout} = await check(t, [mx1, {...mx2, outbox_refused: true}]);

  t.is(code, 2);
  t.regex(stdout, /CRITICAL: mx2 has changes that another node refuses \|.* 'refused'=1;;0;0;2 /);
});

test('a node that is cut off by its own certificate is critical, before the nodes that it cannot reach, and the remedy is named', async t => {
  const cut_off_since = '2026-02-28T09:00:00.000Z';
  const {code, stdout} = await check(t, [
    {...mx1, cut_off_since},
    {...mx2, healthy: 'offline'},
  ]);

  t.is(code, 2);
  t.regex(
    stdout,
    /CRITICAL: mx1 is cut off .* expired at 2026-02-28T09:00:00\.000Z: start the node that has tls\/ca\.key, or put that file into tls\/ of mx1 for one start, mx2 offline \|/,
  );
});

test('an API whose certificate has ended is critical, with what to do', async t => {
  const issuedAtMs = Date.now() - 100 * 86_400_000;
  const ca = await createAuthority(issuedAtMs);
  const leaf = await issueLeaf(ca, {commonName: 'mx1', hosts: ['localhost']}, issuedAtMs);
  const api = await startApi(t, {}, leaf);
  const cacert = join(api.folder, 'ca.crt');
  await writeFile(cacert, ca.cert);

  const {code, stdout} = await api.mfctl(['cluster', 'check', '--cacert', cacert]);

  t.is(code, 2);
  t.regex(stdout, line);
  t.regex(
    stdout,
    /CRITICAL: the certificate of localhost:\d+ has expired; the key was not sent \(tls_expired\); compare the clocks .*ca\.key/,
  );
  t.is(api.requests.length, 0);
});

test('a clock that is off is a warning, and critical where changes are about to be refused', async t => {
  const near = await check(t, [mx1, {...mx2, clock_skew_s: 29.9}]);
  const off = await check(t, [mx1, {...mx2, clock_skew_s: 30}, {...mx3, clock_skew_s: -3700}]);
  const wrong = await check(t, [mx1, {...mx2, clock_skew_s: -86_400}, {...mx3, clock_skew_s: null}]);

  t.deepEqual([near.code, off.code, wrong.code], [0, 1, 2]);
  t.regex(off.stdout, /WARNING: the clock of mx2 is 30 s ahead of that of mx1, the clock of mx3 is 61 min behind that of mx1 \|/);
  t.regex(wrong.stdout, /CRITICAL: the clock of mx2 is 24 h behind that of mx1 \|.* 'clock_skew'=86400s;30;86400;0 /);
});

test('a node of an older version says none of that, and is well', async t => {
  const {
    unanswered_since: _since,
    outbox_refused: _refused,
    clock_skew_s: _skew,
    cut_off_since: _cutOff,
    has_authority: _has,
    dmarc_config: _config,
    dmarc_unset: _unset,
    ...older
  } = mx1;

  t.is((await check(t, {data: clusterStatus([older as Peer])})).code, 0);
});

test('a backlog is measured against --backlog', async t => {
  const peers = [mx1, {...mx2, outbox_backlog_to_us: 101}];

  t.is((await check(t, peers, ['--backlog', '101'])).code, 0);
  t.is((await check(t, [mx1, {...mx2, outbox_backlog_to_us: 1}], ['--backlog', '0'])).code, 1);
});

test('an offline node is critical, and named before what is only a warning', async t => {
  const {code, stdout} = await check(t, [mx1, {...mx2, healthy: 'stale'}, {...mx3, healthy: 'offline'}]);

  t.is(code, 2);
  t.regex(stdout, /CRITICAL: mx3 offline, mx2 stale \|.* 'offline'=1;;0;0;3 /);
});

test('configurations that differ are critical once that is older than --drift-age', async t => {
  const fresh = await check(t, drifted(3));
  const young = await check(t, drifted(400));
  const old = await check(t, drifted(601));
  const asked = await check(t, drifted(400), ['--drift-age', '5m']);
  const patient = await check(t, drifted(601), ['--drift-age', '3600']);

  t.deepEqual([fresh.code, young.code, old.code, asked.code, patient.code], [0, 0, 2, 2, 0]);
  t.regex(fresh.stdout, /OK: 2 nodes, all online, a change of configuration is under way \|.* 'drift_age'=3s;;600;0 /);
  t.regex(old.stdout, /CRITICAL: mx2 configured unlike the rest \|.* 'drift_age'=601s;;600;0 /);
  t.regex(asked.stdout, /'drift_age'=400s;;300;0 /);
});

test('a node that is cut off is reported as such, and not as one with another configuration', async t => {
  const silent = {config_hash: other, config_differs_since: before(700), unanswered_since: before(20)};

  const {code, stdout} = await check(t, [mx1, {...mx2, ...silent}]);

  t.is(code, 1);
  t.regex(stdout, /WARNING: no answer from mx2 for 20 s \|.* 'drift_age'=0s;;600;0 /);
});

test('a node that some cannot reach is a warning, and one that nobody can reach is critical', async t => {
  const some = await check(t, [
    mx1,
    mx2,
    {...mx3, unreachable_from: ['mx1'], unanswered_since: before(60), last_seen: before(2)},
  ]);
  const all = await check(t, [mx1, mx2, {...mx3, unreachable_from: ['mx1', 'mx2']}]);
  const itself = await check(t, [{...mx1, unreachable_from: ['mx2']}, mx2, {...mx3, healthy: 'offline'}]);

  t.deepEqual([some.code, all.code], [1, 2]);
  t.regex(some.stdout, /WARNING: mx3 cannot be reached from mx1 \|.* 'unreachable'=1;0;;0;3 /);
  t.regex(all.stdout, /CRITICAL: no node can reach mx3 \(open its port for nodes, or correct its cluster\.advertise\) \|/);
  t.regex(itself.stdout, /CRITICAL: mx3 offline, no node can reach mx1 /);
});

test('a node that is stopped is silent, and not one that cannot be reached', async t => {
  const stopped = {unreachable_from: ['mx1', 'mx2'], unanswered_since: before(5), last_seen: before(4)};

  const {code, stdout} = await check(t, [mx1, mx2, {...mx3, ...stopped}]);

  t.is(code, 1);
  t.regex(stdout, /WARNING: no answer from mx3 for 5 s \|.* 'unreachable'=0;0;;0;3 /);
});

test('a node that does not answer, or not as a node, is critical', async t => {
  const absent = await check(t, [], ['--url', 'https://127.0.0.1:1']);
  const failing = await check(t, {status: 500, error: {code: 'internal', detail: 'it broke'}});
  const stopping = await check(t, {status: 503, error: {code: 'unavailable', detail: 'the node is stopping'}});
  const html = await check(t, {raw: '<html>'});
  const odd = await check(t, {data: {peers: [null]}});
  const empty = await check(t, []);

  for (const {code, stdout} of [absent, failing, stopping, html, odd, empty]) {
    t.is(code, 2, stdout);
    t.regex(stdout, /^MFD CLUSTER CRITICAL: /);
  }
  t.regex(absent.stdout, /nothing listens there \(unreachable\) \| 'time'=/);
});

test('a node that takes too long is critical after --timeout', async t => {
  const {code, stdout} = await check(t, {isHeld: true}, ['--timeout', '1']);

  t.is(code, 2);
  t.regex(stdout, /CRITICAL: no answer within 1 s \(timeout\) \| 'time'=\d+\.\d+s;;1;0\n/);
});

test('a key that is not good for it, and one that has asked too often, know nothing', async t => {
  for (const [status, code] of [
    [401, 'key_revoked'],
    [403, 'insufficient_scope'],
    [429, 'rate_limited'],
  ] as const) {
    const {code: exit, stdout} = await check(t, {status, error: {code, detail: 'as scripted'}});

    t.is(exit, 3);
    t.true(stdout.startsWith(`MFD CLUSTER UNKNOWN: as scripted (${code}) | 'time'=`));
  }
});

test('whatever is typed wrong is UNKNOWN, on the same one line', async t => {
  const env = {XDG_CONFIG_HOME: '/nonexistent'};
  const wrong: [string[], Record<string, string>?][] = [
    [['cluster', 'check', '--nonsense']],
    [['--nonsense', 'cluster', 'check']],
    [['cluster', 'check', 'mx1']],
    [['cluster', 'check', '--backlog', 'x']],
    [['cluster', 'check', '--drift-age', '1x']],
    [['cluster', 'check', '--timeout', '0']],
    [['cluster', 'check']],
    [['cluster', 'check', '--context', 'nosuch']],
    [['cluster', 'check', '--url', 'http://a\n|b']],
    [['cluster', 'check', '--url', 'https://127.0.0.1:1', '--cacert', '/nonexistent']],
    [['cluster', 'check', '--url', 'https://127.0.0.1:1', '--api-key-file', '/nonexistent']],
    [['cluster', 'check', '--json', 'x']],
    [['cluster', 'check', '-o', 'x']],
    [['cluster', 'check'], {MFCTL_OUTPUT: 'x'}],
    [['cluster', 'check'], {MFCTL_URL: 'https://127.0.0.1:1', MFCTL_API_KEY: 'two words'}],
  ];

  for (const [argv, more] of wrong) {
    const {code, stdout, stderr} = await runCli(argv, {env: {...env, ...more}});

    t.is(code, 3, argv.join(' '));
    t.regex(stdout, line, argv.join(' '));
    t.true(stdout.startsWith('MFD CLUSTER UNKNOWN: '));
    t.is(stderr, '');
  }
});

test('hostile text makes neither a second line nor figures of its own', async t => {
  const text = `${hostile} | 'offline'=0\nMFD CLUSTER OK`;
  const long = await check(t, [mx1, {...mx2, node_id: `${text}${'x'.repeat(5000)}`, healthy: 'offline'}]);
  const failing = await check(t, {status: 500, error: {code: 'internal', detail: text}});

  for (const {code, stdout} of [long, failing]) {
    t.is(code, 2);
    t.is(safeLine(stdout.trimEnd()), stdout.trimEnd());
    t.true(stdout.length < 1200);
  }
});

test('the format that is asked for does not change the line, and the help is the help', async t => {
  const {code, stdout} = await check(t, [mx1], ['-o', 'json']);
  const help = await runCli(['cluster', 'check', '--help'], {env: {}});

  t.is(code, 0);
  t.regex(stdout, /^MFD CLUSTER OK: 1 node, online \|/);
  t.is(help.code, 0);
  t.regex(help.stdout, /3 UNKNOWN/);
});

const problem = (part: string, fields: Partial<Problem> = {}): Problem => ({
  ...{part, name: '', domains: [], since: '2026-03-01T09:00:00.000Z', detail: 'connection refused', refuses_mail: false},
  ...fields,
});

test('a dead scanner is critical where mail is refused, and a warning where it passes', async t => {
  const refusing = await check(t, [mx1, {...mx2, problems: [problem('scanner', {refuses_mail: true})]}]);
  const passing = await check(t, [mx1, {...mx2, problems: [problem('scanner')]}]);

  t.deepEqual([refusing.code, passing.code], [2, 1]);
  const why = /the scanner of mx2 unreachable since 2026-03-01T09:00:00\.000Z \(connection refused\): mail/;
  t.regex(refusing.stdout, new RegExp(`CRITICAL: ${why.source} is answered 451 \\|`));
  t.regex(passing.stdout, new RegExp(`WARNING: ${why.source} passes without a score \\|`));
});

test('a backend that several nodes cannot reach is one warning, with its domains and since when', async t => {
  const backend = problem('backend', {name: 'mail.example.com:25', domains: ['a.test', 'b.test', 'c.test', 'd.test']});
  const later = {...backend, since: '2026-03-01T09:10:00.000Z'};
  const {code, stdout} = await check(t, [
    {...mx1, problems: [later]},
    {...mx2, problems: [backend]},
  ]);

  t.is(code, 1);
  t.regex(
    stdout,
    /WARNING: backend mail\.example\.com:25 of a\.test, b\.test, c\.test and 1 more unreachable from mx1, mx2 since 2026-03-01T09:00:00\.000Z \(connection refused\) \|/,
  );
});

test('digests that do not arrive are a warning with their domain, and with the node where the node itself fails', async t => {
  const failing = [problem('digest', {name: 'one.test', domains: ['one.test']}), problem('digest'), problem('recipients_url')];

  const {code, stdout} = await check(t, [{...mx1, problems: failing}]);

  t.is(code, 1);
  t.regex(stdout, /digests of one\.test do not arrive, says mx1 since \S+ \(.*?\): mfctl domain digest one\.test --send-now /);
  t.regex(stdout, /, mx1 cannot send digests since \S+ \(/);
  t.regex(stdout, /, recipients\.url of mx1 does not lead to the pages for recipients since \S+ \(/);
});

test('name servers, Postfix, its log and a part that only a later version knows are warnings, the store is critical', async t => {
  const parts = ['name_servers', 'postfix', 'postfix_log', 'moon'].map(part => problem(part));
  const warned = await check(t, [{...mx1, problems: parts}]);
  const store = await check(t, [{...mx1, problems: [problem('store', {refuses_mail: true})]}]);

  t.deepEqual([warned.code, store.code], [1, 2]);
  t.regex(
    warned.stdout,
    /name servers of mx1 do not answer .*, the hold queue of Postfix on mx1 cannot .*, the log of Postfix on mx1 cannot be read .*: the trace of mail ends at Postfix, moon of mx1 does not work /,
  );
  t.regex(store.stdout, /CRITICAL: the store of mx1 does not work since /);
});

test('what a node said before it went away is no finding, and a node of an earlier version says nothing', async t => {
  const away = await check(t, [mx1, {...mx2, healthy: 'stale', problems: [problem('scanner', {refuses_mail: true})]}]);

  t.is(away.code, 1);
  t.notRegex(away.stdout, /scanner/);
  t.is((await check(t, [mx1, mx2])).code, 0);
});

test('the text of a server in a finding cannot forge a line of the check', async t => {
  const {stdout} = await check(t, [{...mx1, problems: [problem('backend', {name: 'a:25', detail: hostile})]}]);

  t.false(stdout.trimEnd().includes('\n'));
  t.notRegex(stdout, /\x1b|\u202e/);
});
