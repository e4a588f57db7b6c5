// Mistakes that people make, and what they are told: each message says what is wrong and what to type.
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {createContextStore} from '../../cli/files/context-store.ts';
import {selfSigned} from '../helpers/certificate.ts';
import {runCli} from '../helpers/cli/fake-terminal.ts';
import {domain} from '../helpers/cli/sample-records.ts';
import {startApi} from '../helpers/cli/scripted-api.ts';

/** Wrong before any node is asked: exit status 2. */
const mistakes: Readonly<Record<string, [argv: string[], error: string, hint: string]>> = {
  'a lowest score above the highest': [
    ['quarantine', 'list', '--min-score', '5', '--max-score', '3'],
    '--min-score 5 is above --max-score 3: no mail has such a score',
    '',
  ],
  'a beginning that is not before the end': [
    ['quarantine', 'list', '--since', '2026-01-02', '--until', '2026-01-01'],
    '--since 2026-01-02T00:00:00.000Z is not before --until 2026-01-01T00:00:00.000Z: no mail arrived then',
    '',
  ],
  'a time that is still to come': [
    ['quarantine', 'list', '--since', '2999-01-01'],
    "option '--since <time>' argument '2999-01-01' is invalid. 2999-01-01T00:00:00.000Z is still to come",
    'mfctl quarantine list --help',
  ],
  'a wildcard for all senders of a domain': [
    ['quarantine', 'list', '--sender', '*@x.example'],
    "option '--sender <sender>' argument '*@x.example' is invalid. There are no wildcards here; for all of a domain give x.example",
    'mfctl quarantine list --help',
  ],
  'a wildcard for everything': [
    ['quarantine', 'discard', '--all-matching', '--sender', '*'],
    "option '--sender <sender>' argument '*' is invalid. There are no wildcards here; leave the option out for all",
    'mfctl quarantine discard --help',
  ],
  'a wildcard for subdomains': [
    ['quarantine', 'summary', '--domain', '*.x.example'],
    "option '--domain <domain>' argument '*.x.example' is invalid. There are no wildcards here; for all of a domain give x.example",
    'mfctl quarantine summary --help',
  ],
  'an address in the quotation marks of a page': [
    ['quarantine', 'list', '--sender', '“a@x.example”'],
    "option '--sender <sender>' argument '“a@x.example”' is invalid. The quotation marks are a part of it; give a@x.example",
    'mfctl quarantine list --help',
  ],
  'an address in the quotation marks of a script': [
    ['quarantine', 'list', '--recipient', '"a@x.example"'],
    `option '--recipient <address>' argument '"a@x.example"' is invalid. The quotation marks are a part of it; give a@x.example`,
    'mfctl quarantine list --help',
  ],
  'an address with blanks': [
    ['quarantine', 'list', '--sender', ' a@x.example '],
    "option '--sender <sender>' argument ' a@x.example ' is invalid. There is a blank before or after it; give a@x.example",
    'mfctl quarantine list --help',
  ],
  'a key that has expired before it is made': [
    ['key', 'create', '--name', 'x', '--scope', 'read-only', '--expires-at', 'yesterday'],
    "option '--expires-at <time>' argument 'yesterday' is invalid. yesterday is past",
    'mfctl key create --help',
  ],
  'a recipient without a domain': [
    ['quarantine', 'list', '--recipient', 'ceo'],
    "option '--recipient <address>' argument 'ceo' is invalid. Must be a mail address such as ceo@example.com",
    'mfctl quarantine list --help',
  ],
  'a page of a negative size': [
    ['quarantine', 'list', '--limit', '-1'],
    "option '--limit <number>' argument '-1' is invalid. Must be 1 to 1000; --offset has the rest, and --all everything",
    'mfctl quarantine list --help',
  ],
  'a key as an argument': [
    ['--api-key', 'mfk_x', 'whoami'],
    "unknown option '--api-key': keys are never arguments, which every user of a machine can see",
    'use --api-key-file FILE, or MFCTL_API_KEY',
  ],
  'a key as an argument, after an equals sign': [
    ['whoami', '--token=mfk_x'],
    "unknown option '--token': keys are never arguments, which every user of a machine can see",
    'use --api-key-file FILE, or MFCTL_API_KEY',
  ],
  'a value of several words without quotes': [
    ['quarantine', 'list', '--subject', 'your', 'new', 'invoice', '--domain', 'x.example'],
    "too many arguments for 'list'. Expected 0 arguments but got 2",
    "put a value with blanks in quotes: --subject 'your new invoice'",
  ],
  'a value of several words without quotes, of a command behind another option': [
    ['-c', 'mx1', 'quarantine', 'list', '--subject', 'my', 'invoice'],
    "too many arguments for 'list'. Expected 0 arguments but got 1",
    "put a value with blanks in quotes: --subject 'my invoice'",
  ],
  'several arguments of a command that takes one': [
    ['-c', 'mx1', 'quarantine', 'allow', 'mx1/aaaaaa', 'mx1/bbbbbb'],
    "too many arguments for 'allow'. Expected 1 argument but got 2",
    'one id at a time; see mfctl quarantine allow --help',
  ],
  'several arguments behind the name of a context': [
    ['domain', 'get', '-c', 'mx1', 'a.example', 'b.example'],
    "too many arguments for 'get'. Expected 1 argument but got 2",
    'one domain at a time; see mfctl domain get --help',
  ],
  'an argument too many that follows no option': [
    ['whoami', 'extra'],
    "too many arguments for 'whoami'. Expected 0 arguments but got 1",
    'mfctl whoami --help',
  ],
  'a token that is valid for too long': [
    ['cluster', 'token', '--expires-in', '48h'],
    "option '--expires-in <duration>' argument '48h' is invalid. Must be at least 1m and at most 24h",
    'mfctl cluster token --help',
  ],
};

for (const [mistake, [argv, error, hint]] of Object.entries(mistakes))
  test(`${mistake} is told before a node is asked`, async t => {
    const api = await startApi(t, {});

    const {code, stdout, stderr} = await api.mfctl(argv);

    t.is(code, 2);
    t.is(stdout, '');
    t.is(stderr, `error: ${error} (usage)\n${hint === '' ? '' : `hint: ${hint}\n`}`);
    t.deepEqual(api.requests, []);
  });

test('an action that the log does not have is told, with the one that was meant', async t => {
  const entry = {node_id: 'mx1', seq: 1, at: '2026-03-01T00:00:00Z', key_id: 1, key_name: 'a', target: 'x', remote_address: null};
  const log = ['quarantine.release', 'key.create'].map(action => ({...entry, action, result: 'ok', detail: '', hash: ''}));
  const api = await startApi(t, {
    'GET /audit': ({query}) => ({data: log.filter(({action}) => action === (query.get('action') ?? action))}),
  });

  const near = await api.mfctl(['audit', '--action', 'quarantine.relese']);
  const far = await api.mfctl(['audit', '--action', 'lunch']);
  const known = await api.mfctl(['audit', '--action', 'key.create']);

  t.is(near.code, 0);
  t.is(near.stderr, 'no audit entries\nwarning: the log has no action quarantine.relese; did you mean quarantine.release?\n');
  t.is(far.stderr, 'no audit entries\nwarning: the log has no action lunch; it has key.create, quarantine.release\n');
  t.is(known.stderr, '');
});

test('a CA that did not sign the certificate is named, with what named it', async t => {
  const api = await startApi(t, {});
  const file = join(api.folder, 'other.pem');
  await writeFile(file, (await selfSigned('other.example')).cert);

  const {code, stderr} = await api.mfctl(['whoami', '--cacert', file]);

  t.is(code, 7);
  t.true(
    stderr.startsWith(
      `error: the CA in ${file} (--cacert) did not sign the certificate of ${new URL(api.url).host} (tls_untrusted)\n`,
    ),
    stderr,
  );
});

test('a node that is unknown or silent is not said to hold no mail', async t => {
  const isSilent = {headers: {'x-unreachable-nodes': 'mx2', 'x-total-count': '0'}, data: []};
  const api = await startApi(t, {
    'GET /mail/quarantine': ({query}) => (query.get('node') === 'mx2' ? isSilent : {headers: {'x-total-count': '0'}, data: []}),
    'GET /auth/me': {data: {permissions: ['domains:read', 'cluster:read']}},
    'GET /cluster/status': {data: {peers: [{node_id: 'mx1'}, {node_id: 'mx2'}]}},
  });

  const unknown = await api.mfctl(['quarantine', 'list', '--node', 'mx9']);
  const silent = await api.mfctl(['quarantine', 'list', '--node', 'mx2']);
  const known = await api.mfctl(['quarantine', 'list', '--node', 'mx1']);

  t.is(unknown.code, 5);
  t.is(unknown.stderr, 'error: there is no node mx9 (unknown_node)\nhint: mfctl cluster status\n');
  t.is(silent.stderr, 'what mx2 holds is not known\nwarning: the list is incomplete: mx2 did not answer\n');
  t.is(known.stderr, 'no held mail\n');
});

test('login takes the name of a node alone for https and the usual port, and a port as it is', async t => {
  const api = await startApi(t, {
    'GET /auth/me': {data: {node_id: 'mx1', id: 1, name: 'a', scope: 'read-only', permissions: []}},
  });
  const env = {...api.env, MFCTL_URL: '', MFCTL_CACERT: '', MFCTL_API_KEY: `mfk_${'0'.repeat(38)}`, MFCTL_RETRY_FOR: '0s'};
  const cacert = ['--cacert', join(api.folder, 'ca.pem')];

  const named = await runCli(['login', 'nowhere.invalid', ...cacert], {env});
  const withPort = await runCli(['login', new URL(api.url).host, ...cacert], {env});

  t.regex(named.stderr, /no address is known for nowhere\.invalid/);
  t.is(withPort.code, 0, withPort.stderr);
  t.is((await createContextStore({env}).read()).contexts[0]?.url, api.url);
});

test('contexts without a current one are listed, so that one can be chosen', async t => {
  const api = await startApi(t, {});
  const env = {...api.env, MFCTL_URL: ''};
  for (const name of ['mx1', 'mx2']) await runCli(['context', 'add', name, '--url', 'https://mx.example'], {env});
  await runCli(['context', 'remove', 'mx1'], {env});

  const {code, stderr} = await runCli(['whoami'], {env});

  t.is(code, 2);
  t.is(stderr, 'error: no node to talk to: no context is the current one (usage)\nhint: mfctl context use NAME, of mx2\n');
});

test('the scopes that would do are named once', async t => {
  const refusing = (detail: string) => {
    const error = {code: 'insufficient_scope', detail, required_scopes: ['read-only', 'full-admin']};
    return startApi(t, {
      'GET /auth/me': {status: 403, error},
    });
  };

  const {stderr: inDetail} = await (await refusing('no; it takes a key of scope read-only or full-admin')).mfctl(['whoami']);
  const {stderr: inHint} = await (await refusing('no')).mfctl(['whoami']);

  for (const text of [inDetail, inHint]) t.is(text.split('read-only or full-admin').length, 2, text);
});

test('an empty DMARC summary says when reporting is off for the domain', async t => {
  const summary = {since: '2026-03-01', count: 0, passed: 0, source_count: 0, sources: []};
  const answers = (dmarc_reporting: boolean) => ({
    'GET /dmarc/summary': {data: summary},
    'GET /domains': {data: [{...domain, dmarc_reporting}]},
  });

  const off = await (await startApi(t, answers(false))).mfctl(['dmarc', 'summary', 'example.com']);
  const on = await (await startApi(t, answers(true))).mfctl(['dmarc', 'summary', 'example.com']);

  t.is(
    off.stderr,
    'nothing was counted\nDMARC reporting is off for example.com: mfctl domain update example.com --dmarc-reporting\n',
  );
  t.is(on.stderr, 'nothing was counted\n');
});

test('the dashboard says that a dumb terminal is not enough', async t => {
  const api = await startApi(t, {});

  const {code, stderr} = await api.mfctl(['dashboard'], {columns: 80, env: {...api.env, TERM: 'dumb'}});

  t.is(code, 2);
  t.regex(stderr, /the dashboard needs a terminal with a cursor, and TERM says dumb/);
});
