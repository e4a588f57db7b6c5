import test from 'ava';
import {takesValue} from '../../../cli/command-line/typed-words.ts';
import {kindOfArgument, kindOfOption, unquoted} from '../../../cli/completion/complete.ts';
import {createAuthority, issueLeaf} from '../../../daemon/cluster/certificates.ts';
import {safeLine} from '../../../shared/safe-text.ts';
import {allCommands, mfctlCommands} from '../../helpers/cli/command-tree.ts';
import {runCli} from '../../helpers/cli/fake-terminal.ts';
import {me} from '../../helpers/cli/sample-answers.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

const env = {XDG_CONFIG_HOME: '/nonexistent'};

const offered = async (...words: string[]): Promise<string[]> =>
  valuesIn((await runCli(['__complete', '--', ...words], {env})).stdout);

const valuesIn = (stdout: string): string[] =>
  stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.split('\t', 1)[0] ?? '');

/** Arguments and options that may stand for anything. */
// biome-ignore format: a list of names
const free = [
  '<name>', '<path>', '<url>', '--address', '--after', '--at', '--backend', '--backlog', '--client', '--comment', '--date', '--days', '--description', '--drift-age', '--except', '--expect-count', '--expires-at',
  '--expires-in', '--fingerprint', '--for', '--from', '--header', '--in', '--interval', '--last', '--limit', '--max-score', '--message-id', '--metrics-url',
  '--min-score', '--name', '--offset', '--only', '--overlap', '--policy-domain', '--preview', '--quarantine-threshold', '--rate-limit', '--reason', '--recipient', '--reject-threshold',
  '--retry-for', '--score', '--selector', '--sender', '--sender-domain', '--since', '--subject', '--tenant-id', '--timeout', '--timezone',
  '--undo-delay', '--until', '--url',
];

test('of every argument and option it is decided what may stand there', t => {
  const undecided = allCommands(mfctlCommands()).flatMap(command => [
    ...command.registeredArguments
      .filter(argument => kindOfArgument(command, argument) === undefined)
      .map(argument => `<${argument.name()}>`),
    ...command.options
      .filter(option => takesValue(option) && kindOfOption(command, option) === undefined)
      .map(option => option.long ?? option.flags),
  ]);

  t.deepEqual([...new Set(undecided)].toSorted(), free.toSorted());
});

test('commands are offered by what is typed of them, an alias only when it is typed', async t => {
  t.deepEqual(await offered('quar'), ['quarantine']);
  t.deepEqual(await offered('domain', 'dkim', ''), ['list', 'show', 'create', 'delete', 'help']);
  t.deepEqual(await offered('to'), ['top']);
  t.false((await offered('')).includes('top'));
  t.deepEqual(await offered('-o', 'json', 'domain', 'dk'), ['dkim']);
  t.deepEqual(await offered('nosuch', ''), []);
});

test('what is hidden is offered nowhere', async t => {
  t.false((await offered('')).some(word => word.startsWith('_')));
  t.deepEqual(await offered('__'), []);
});

test('options are offered after a hyphen, or where no argument can come', async t => {
  t.deepEqual(await offered('quarantine', 'list', '--re'), ['--recipient', '--reason', '--requested', '--retry-for']);
  t.deepEqual(await offered('quarantine', 'list', '--cac'), ['--cacert']);
  t.true((await offered('quarantine', 'list', '')).includes('--reason'));
  t.false((await offered('quarantine', 'list', '')).includes('--cacert'));
  t.deepEqual((await offered('key', 'create', '')).slice(0, 2), ['--name', '--scope']);
  t.deepEqual(await offered('quarantine', 'list', '--', '--re'), []);
});

test('an option is not offered twice unless it may be given twice', async t => {
  t.deepEqual(await offered('quarantine', 'list', '--reason', 'spam', '--rea'), []);
  t.deepEqual(await offered('domain', 'create', 'example.com', '--backend', 'a.example:25', '--back'), ['--backend']);
});

test('choices are offered as values, behind an equals sign too', async t => {
  const reasons = ['spam', 'phishing', 'sandbox', 'rbl'];

  t.deepEqual(await offered('quarantine', 'list', '--reason', ''), reasons);
  t.deepEqual(
    await offered('quarantine', 'list', '--reason='),
    reasons.map(reason => `--reason=${reason}`),
  );
  t.deepEqual(await offered('-oj'), ['-ojson']);
  t.deepEqual(await offered('completion', ''), ['bash', 'zsh', 'fish']);
  t.deepEqual(await offered('quarantine', 'list', '--subject', ''), []);
});

test('of a list with commas the last is completed', async t => {
  t.deepEqual(await offered('events', '--type', 'held,dis'), ['held,discarded']);
  t.deepEqual(await offered('domain', 'list', '--json=name,act'), ['--json=name,active']);
  t.deepEqual(await offered('domain', 'delete', '--json', ''), []);
});

test('help is offered commands at any depth, and its topics', async t => {
  t.deepEqual(await offered('help', 'quarantine', 'sh'), ['show']);
  t.true((await offered('help', '')).includes('exit-status'));
});

test('for a file the shell gets a request for file names, and where the name begins', async t => {
  const line = async (...words: string[]) => (await runCli(['__complete', '--', ...words], {env})).stdout;

  t.is(await line('--cacert', ''), ':files 0\n');
  t.is(await line('--cacert=x'), ':files 9\n');
  t.is(await line('api', 'PUT', '/x', '--data', '@x'), ':files 1\n');
  t.is(await line('api', 'PUT', '/x', '--data', '{'), '');
});

test('a failure gives nothing: no text, no error, no status', async t => {
  for (const words of [
    ['key', 'revoke', ''],
    ['-c', 'nosuch', 'key', 'revoke', ''],
    ['--url', 'nonsense', 'key', 'revoke', ''],
    ['--url', 'https://127.0.0.1:1', 'key', 'revoke', ''],
    ['--api-key-file', '/nonexistent', '--url', 'https://127.0.0.1:1', 'key', 'revoke', ''],
  ])
    t.deepEqual(await runCli(['__complete', '--', ...words], {env}), {code: 0, stdout: '', stderr: ''}, words.join(' '));
});

test('a node that does not answer well gives nothing', async t => {
  const api = await startApi(t, {
    'GET /auth/api-keys': {status: 403, error: {code: 'insufficient_scope', detail: 'not you'}},
    'GET /domains': {raw: 'no JSON'},
  });

  t.deepEqual(await api.mfctl(['__complete', '--', 'key', 'revoke', '']), {code: 0, stdout: '', stderr: ''});
  t.deepEqual(await api.mfctl(['__complete', '--', 'domain', 'get', '']), {code: 0, stdout: '', stderr: ''});
  t.is(api.requests.length, 2);
});

test('only values that no shell has to quote are offered, and no more than two hundred', async t => {
  const hostile = [
    '-rf',
    '$(id)',
    '`id`',
    'a b',
    'a;b',
    'a\tb',
    "a'b",
    'a"b',
    'a\\b',
    '~root',
    '',
    'a\u202eb',
    'a*',
    '<x>',
    '!x',
    ':files 0',
  ];
  const names = Array.from({length: 500}, (_, at) => `d${at}.example`);
  const api = await startApi(t, {
    'GET /domains': {data: [...hostile, ...names].map(name => ({name, direction: 'inbound', active: true}))},
  });

  const {stdout} = await api.mfctl(['__complete', '--', 'domain', 'get', '']);

  t.deepEqual(valuesIn(stdout), names.slice(0, 200));
});

test('what is said about a value is one harmless line', async t => {
  const subject = 'a\tb\nmx1/zzzzzz\tx\r\x1b]0;t\x07 `id` $(id) \u202e%F{red}:files 0\n:files 0';
  const mail = {node_id: 'mx1', queue_id: 'aaaaaa', subject, sender: ''};
  const api = await startApi(t, {'GET /mail/quarantine': {data: [mail]}});

  const {stdout} = await api.mfctl(['__complete', '--', 'quarantine', 'show', '']);

  t.regex(stdout, /^mx1\/aaaaaa\t[^\t\n]+\n$/);
  const about = stdout.trimEnd().split('\t')[1] ?? '';
  t.is(safeLine(about), about);
});

test('of mail the newest are asked for, of the node that is typed', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: []}});

  await api.mfctl(['__complete', '--', 'quarantine', 'release', '']);
  await api.mfctl(['__complete', '--', 'quarantine', 'release', 'mx1/aaaaaa', 'mx2/b']);

  t.deepEqual(
    api.requests.map(({query}) => query.toString()),
    ['limit=200', 'limit=200&node=mx2'],
  );
});

test('what is named already is not offered again', async t => {
  const mails = ['aaaaaa', 'bbbbbb'].map(queue_id => ({node_id: 'mx1', queue_id, subject: '', sender: ''}));
  const api = await startApi(t, {'GET /mail/quarantine': {data: mails}});

  const {stdout} = await api.mfctl(['__complete', '--', 'quarantine', 'release', 'mx1/aaaaaa', '']);

  t.deepEqual(valuesIn(stdout), ['mx1/bbbbbb']);
});

test('the connection that is typed is the one that is asked', async t => {
  const data = [{id: 5, name: 'monitoring', scope: 'read-only', revoked_at: null}];
  const [first, second] = [await startApi(t, {}), await startApi(t, {'GET /auth/api-keys': {data}})];
  const words = ['--url', second.url, '--cacert', second.env.MFCTL_CACERT, 'key', 'revoke', ''];

  const {stdout} = await first.mfctl(['__complete', '--', ...words]);

  t.is(stdout, '5\tmonitoring (read-only)\n');
  t.is(first.requests.length, 0);
});

test('a certificate that was trusted alone is trusted for completion, and no other one is', async t => {
  const ca = await createAuthority(Date.now());
  const leaf = () => issueLeaf(ca, {commonName: 'mx1', hosts: ['localhost']}, Date.now());
  const answers = {'GET /auth/me': {data: {...me, node_id: 'mx1'}}, 'GET /auth/api-keys': {data: [{...me, id: 7}]}};
  const api = await startApi(t, answers, await leaf());
  const login = {XDG_CONFIG_HOME: api.folder, MFCTL_CACERT: '', MFCTL_URL: '', MFCTL_API_KEY: `mfk_${'0'.repeat(38)}`};
  t.is((await api.mfctl(['login', api.url, '--yes'], {env: login})).code, 0);
  const keys = async () =>
    valuesIn((await api.mfctl(['__complete', '--', 'key', 'revoke', ''], {env: {...login, MFCTL_API_KEY: ''}})).stdout);

  const trusted = await keys();
  api.setCertificate(await leaf());

  t.deepEqual(trusted, ['7']);
  t.deepEqual(await keys(), []);
});

test('words lose their quotes as in a shell, and nothing in them is expanded', t => {
  t.is(unquoted('"a b"'), 'a b');
  t.is(unquoted("'a\\'"), 'a\\');
  t.is(unquoted('a\\ b\\"'), 'a b"');
  t.is(unquoted('"$(id) \\$x \\n'), '$(id) $x \\n');
});
