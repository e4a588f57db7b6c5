import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {allCommands, mfctlCommands} from '../helpers/cli/command-tree.ts';
import {runCli} from '../helpers/cli/fake-terminal.ts';
import {domain, key} from '../helpers/cli/sample-records.ts';
import {startApi} from '../helpers/cli/scripted-api.ts';

const XDG_CONFIG_HOME = await mkdtemp(join(tmpdir(), 'mfctl-usage-'));
const env = {XDG_CONFIG_HOME};

const deletions = [
  ['cluster', 'remove', 'mx2'],
  ['key', 'delete', '5'],
  ['key', 'revoke', '5'],
  ['key', 'rotate', '5', '--key-file', join(XDG_CONFIG_HOME, 'new.key')],
  ['domain', 'delete', String(domain.id)],
  ['domain', 'dkim', 'delete', String(domain.id), 's1'],
];

const thingsToDelete = {
  'GET /auth/me': {data: {...key, permissions: ['keys:write']}},
  'GET /auth/api-keys': {data: [{...key, id: 5}]},
  'GET /domains': {data: [domain]},
  'GET /domains/1000000001': {data: domain},
  'GET /domains/1000000001/dkim-keys': {data: [{selector: 's1'}]},
  'GET /cluster/nodes/mx2': {data: {node_id: 'mx2', keys: []}},
};

test.after.always(() => rm(XDG_CONFIG_HOME, {recursive: true}));

test('wrong usage exits 2 and says what to type', async t => {
  const wrong: [string[], RegExp][] = [
    [['quarantin'], /hint: did you mean quarantine\? See mfctl --help/],
    [
      ['list'],
      /hint: did you mean quarantine list, domain list, filter list, key list, webhook list or context list\? See mfctl --help/,
    ],
    [['-c', 'list', 'release', 'mx1/aaaaaa', '--yes'], /hint: did you mean quarantine release\?/],
    [['show'], /hint: did you mean quarantine show, trace show, domain show, .* or cluster show\?/],
    [['add'], /hint: did you mean filter add, webhook add or context add\?/],
    [['quarantine', 'list', '--rason', 'spam'], /hint: did you mean --reason\? See mfctl quarantine list --help/],
    [['quarantine', 'list', '--reason', 'dull'], /Allowed choices are spam, phishing/],
    [['quarantine', 'list', '--since', 'lunch'], /Must be a time such as/],
    [['quarantine', 'show'], /missing required argument 'id'/],
    [['quarantine', 'show', 'abc'], /must be NODE\/QUEUE/],
    [['quarantine', 'release', '-', 'mx1/aaaaaa'], /goes with no other/],
    [['key', 'create', '--name', 'x'], /--scope/],
    [['key', 'create', '--name', 'x', '--scope', 'all'], /Allowed choices are read-only/],
    [['domain', 'filters', 'remove', 'a.example', 'x'], /^error: 'x' is not valid as 'id'. Must be a whole number/],
    [['domain', 'update', 'example.com'], /there is nothing to change/],
    [['domain', 'filters', 'add', 'example.com', '--block'], /name one thing to match/],
    [
      ['domain', 'filters', 'add', 'example.com', '--block', '--sender', 'a@b.example', '--subject', 'x'],
      /name one thing to match/,
    ],
    [['domain', 'filters', 'add', 'example.com', '--sender', 'a@b.example'], /name an action/],
    [['domain', 'filters', 'add', 'example.com', '--block', '--header', 'x'], /Name: pattern/],
    [['cluster', 'token', '--expires-in', 'soon'], /Must be a duration such as 30m/],
    [['cluster', 'remove'], /missing required argument 'node'/],
    [['context', 'add', 'mx1'], /needs --url/],
    [['context', 'add', '__proto__', '--url', 'https://mx1:1'], /cannot name a context/],
    [['context', 'add', 'mx1', '--url', 'http://mx1:1'], /is not the address of a node/],
    [['-c', 'nosuch', 'whoami'], /no context is called nosuch/],
    [['context', 'use', 'nosuch'], /no context is called nosuch/],
    [['context', 'remove', 'nosuch'], /no context is called nosuch/],
    [['whoami'], /no node to talk to/],
    [['-o', 'xml', 'whoami'], /Allowed choices are table, wide, json, ndjson, yaml, csv, name/],
    [['api', 'FETCH', '/domains'], /Must be one of GET/],
    [['whoami', 'extra'], /too many arguments/],
  ];

  for (const [argv, message] of wrong) {
    const {code, stdout, stderr} = await runCli(argv, {env});

    t.is(code, 2, argv.join(' '));
    t.is(stdout, '');
    t.regex(stderr, message);
    t.regex(stderr, /^error: .*\((usage|unknown_context)\)\n/);
  }
});

test('wrong usage with -o json is an object on standard error', async t => {
  const {code, stderr} = await runCli(['quarantine', 'list', '--reason', 'dull', '-o', 'json'], {env});

  t.is(code, 2);
  t.like(JSON.parse(stderr), {error: {code: 'usage', exit_code: 2, hint: 'mfctl quarantine list --help'}});
});

test('a wrong MFCTL_OUTPUT is named', async t => {
  const {code, stderr} = await runCli(['context', 'list'], {env: {...env, MFCTL_OUTPUT: 'xml'}});

  t.is(code, 2);
  t.regex(stderr, /MFCTL_OUTPUT is "xml"/);
});

test('without arguments the help is printed, and it is no failure', async t => {
  const {code, stdout} = await runCli([], {env});

  t.is(code, 0);
  t.regex(stdout, /^Usage: mfctl/);
});

test('a group without its command prints its help and is wrong usage', async t => {
  const {code, stdout, stderr} = await runCli(['quarantine'], {env});

  t.is(code, 2);
  t.is(stdout, '');
  t.regex(stderr, /^Usage: mfctl quarantine/);
});

test('help and version exit 0', async t => {
  for (const argv of [['--help'], ['help', 'domain'], ['domain', 'dkim', 'create', '--help'], ['--version'], ['-V']])
    t.is((await runCli(argv, {env})).code, 0, argv.join(' '));
});

test('what a noun calls get it also calls show, and what it calls delete also remove', async t => {
  const twins = [
    ['get', 'show'],
    ['delete', 'remove'],
  ];
  const names = allCommands(mfctlCommands()).map(command => [command.name(), ...command.aliases()]);

  for (const pair of twins) {
    const concerned = names.filter(all => all.some(name => pair.includes(name)));
    t.true(concerned.length > 1);
    for (const all of concerned)
      t.true(
        pair.every(name => all.includes(name)),
        all.join(),
      );
  }
});

test('help shows the command that is named, however deep it is', async t => {
  const {code, stdout} = await runCli(['help', 'domain', 'dkim', 'create'], {env});
  const unknown = await runCli(['help', 'quarantine', 'lst'], {env});

  t.is(code, 0);
  t.regex(stdout, /^Usage: mfctl domain dkim create /);
  t.is(unknown.code, 2);
  t.regex(unknown.stderr, /no command quarantine lst/);
});

test('a page that cannot be had is wrong usage', async t => {
  for (const argv of [
    ['quarantine', 'list', '--limit', '0'],
    ['audit', '--limit', '1001'],
  ]) {
    const {code, stderr} = await runCli(argv, {env});

    t.is(code, 2, argv.join(' '));
    t.regex(stderr, /1 to 1000/);
  }
});

test('an option with one value is refused when it is given twice, and so are options that contradict each other', async t => {
  const update = ['domain', 'update', 'example.com'];
  for (const argv of [
    [...update, '--direction', 'inbound', '--direction=both'],
    [...update, '--active', '--inactive'],
    [...update, '--no-dkim', '--dkim'],
    [...update, '--tenant-id', '3', '--no-tenant-id'],
    ['filter', 'add', '--subject', 'x', '--score', '-3', '--score', '-4'],
    ['-ojson', 'domain', 'list', '-o', 'csv'],
  ]) {
    const {code, stderr} = await runCli(argv, {env});

    t.is(code, 2, argv.join(' '));
    t.regex(stderr, /is given 2 times|cannot be used with option/);
  }
});

test('a key never goes on the command line', async t => {
  const {stdout} = await runCli(['--help'], {env});

  t.false(/--api-key\b(?!-file)/.test(stdout));
});

test('without a terminal nobody can be asked, so --yes is asked for', async t => {
  const api = await startApi(t, thingsToDelete);

  for (const argv of deletions) {
    const {code, stderr} = await api.mfctl(argv);

    t.is(code, 2, argv.join(' '));
    t.regex(stderr, /There is no terminal to answer on \(usage\)\nhint: repeat with --yes\n$/);
  }
  t.true(api.requests.every(({method}) => method === 'GET'));
});

test('nothing is asked, and no --yes is asked for, about what is not there', async t => {
  const api = await startApi(t, {
    ...thingsToDelete,
    'GET /auth/api-keys': {data: []},
    'GET /domains/1000000001/dkim-keys': {data: []},
    'GET /cluster/nodes/mx2': {status: 404, error: {code: 'unknown_node', detail: 'there is no node mx2'}},
  });
  const gone = deletions.filter(([noun, verb]) => !(noun === 'domain' && verb === 'delete'));

  for (const argv of [...gone, ['domain', 'delete', 'nope.example'], ['domain', 'retention', 'nope.example', '--days', '1']])
    for (const options of [{}, {columns: 80, input: 'y\n'}]) {
      const {code, stderr} = await api.mfctl(argv, options);

      t.is(code, 5, argv.join(' '));
      t.notRegex(stderr, /--yes|\[y\/N\]/);
    }
});

test('a question answered with anything but yes cancels', async t => {
  const api = await startApi(t, {});

  for (const input of ['n\n', '\n', 'yep\n']) {
    const {code, stderr} = await api.mfctl(['cluster', 'remove', 'mx3'], {input, columns: 80});

    t.is(code, 3);
    t.regex(stderr, /nothing was changed \(cancelled\)/);
  }
  t.true(api.requests.every(({method}) => method === 'GET'));
});

test('a question answered with yes goes on', async t => {
  const api = await startApi(t, {'DELETE /cluster/nodes/mx3': {data: null}});

  const {stderr} = await api.mfctl(['cluster', 'remove', 'mx3'], {input: 'yes\n', columns: 80});

  t.regex(stderr, /removed node mx3/);
});

test('the end of input is no consent', async t => {
  t.is((await (await startApi(t, {})).mfctl(['cluster', 'remove', 'mx3'], {columns: 80})).code, 3);
});
