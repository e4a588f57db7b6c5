// API errors about requests, translated for commands: they name the options that were typed, and what mfctl can do about it.
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {inMfctlWords} from '../../../cli/client/request-failure.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

const root = join(import.meta.dirname, '../../..');

/** Mentions of a request, its method, or a query. */
const ofRequests = /\b(?:GET|PUT|POST|PATCH|DELETE)\b(?! ON )|[? ]\w+=true\b|X-API-Key|at this path|is not possible here/;

/** Messages in the daemon's source; `${…}` is replaced by X. */
const sentences = async (): Promise<string[]> => {
  const found: string[] = [];
  for (const folder of ['services', 'replication', 'http', 'hold', 'cluster', 'mail', 'store'])
    for (const name of await readdir(join(root, 'daemon', folder), {recursive: true})) {
      if (!name.endsWith('.ts') || name === 'api/openapi.ts') continue;
      const code = (await readFile(join(root, 'daemon', folder, name), 'utf8')).replace(/^\s*(?:\/\/|\/?\*).*$/gm, '');
      for (const [text] of code.matchAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g))
        found.push(text.slice(1, -1).replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, 'X'));
    }
  return found.filter(
    text => / \w+ /.test(text) && !/^\s*(?:INSERT|BEGIN|CREATE|DELETE|DO|FOREIGN|SELECT|UPDATE|WITH) /.test(text),
  );
};

test('no text of the daemon tells a person at mfctl of requests', async t => {
  const texts = (await sentences()).filter(text => ofRequests.test(text));

  t.true(texts.length > 7, 'the texts of the daemon are not found any more');
  t.deepEqual(
    texts.filter(text => ofRequests.test(inMfctlWords(text))),
    [],
  );
});

test('what the API says to do is said as a command', t => {
  const words = {
    'there is no domain 7; GET /domains lists them': 'there is no domain 7',
    'there is no node mx9; GET /cluster/status lists the nodes': 'there is no node mx9',
    'there is no held mail mx1/aaaaaa; GET /mail/quarantine lists them': 'there is no held mail mx1/aaaaaa',
    'the domain example.com exists already; change it with PUT, or delete it first':
      'the domain example.com exists already; change it with mfctl domain update, or delete it first',
    'this is the last active full-admin key; create another one first, or repeat with ?force=true':
      'this is the last active full-admin key; create another one first, or repeat with --force',
    "no answer from mx2; without strict=true the others' mail is listed":
      "no answer from mx2; without --strict the others' mail is listed",
    'the log says why. GET /mail/quarantine shows in a minute whether the mail is still held':
      'the log says why. mfctl quarantine list shows in a minute whether the mail is still held',
    'send an API key in the X-API-Key header': 'no API key was given',
  };

  for (const [ofApi, ofMfctl] of Object.entries(words)) t.is(inMfctlWords(ofApi), ofMfctl);
});

const refusing = async (t: ExecutionContext, request: string, ...fields: {path: string; detail: string}[]) => {
  const detail = fields.map(({path, detail: what}) => `${path} ${what}`).join('; ');
  const error = {code: request.startsWith('GET') ? 'invalid_parameter' : 'validation_failed', detail, fields};
  return startApi(t, {
    [request]: {status: request.startsWith('GET') ? 400 : 422, error},
    'GET /domains': {data: [{id: 7, name: 'example.com'}]},
    'GET /domains/7': {data: {id: 7, name: 'example.com'}},
  });
};

const typedAs: [request: string, field: [path: string, detail: string], argv: string[], told: string][] = [
  [
    'POST /domains',
    ['backend_servers.1', 'must be host:port'],
    ['domain', 'create', 'example.com', '--backend', 'a:25', '--backend', 'b c'],
    "--backend 'b c' must be host:port",
  ],
  [
    'POST /domains',
    ['name', 'must be a host name'],
    ['domain', 'create', 'exam ple', '--dkim'],
    "'exam ple' must be a host name",
  ],
  [
    'PUT /domains/7',
    ['quarantine_threshold', 'must not be above reject_threshold (15)'],
    ['domain', 'update', '7', '--quarantine-threshold', '20'],
    '--quarantine-threshold must not be above --reject-threshold (15)',
  ],
  ['PUT /domains/7', ['dkim_active', 'no'], ['domain', 'update', '7', '--no-dkim'], '--dkim no'],
  ['PUT /domains/7', ['active', 'no'], ['domain', 'update', '7', '--inactive'], '--inactive no'],
  [
    'POST /auth/api-keys',
    ['expires_at', 'must lie ahead'],
    ['key', 'create', '--name', 'x', '--scope', 'read-only', '--expires-in', '1d'],
    '--expires-in must lie ahead',
  ],
  [
    'POST /auth/api-keys',
    ['domain', 'is not a domain of this cluster'],
    ['key', 'create', '--name', 'x', '--scope', 'domain-admin', '--domain', 'a.example'],
    '--domain a.example is not a domain of this cluster',
  ],
  [
    'POST /auth/api-keys',
    ['domains.1', 'is not a domain of this cluster'],
    ['key', 'create', '--name', 'x', '--scope', 'domain-admin', '--domain', 'a.example', '--domain', 'b.example'],
    '--domain b.example is not a domain of this cluster',
  ],
  [
    'POST /auth/api-keys',
    ['domain', 'is required for a domain-admin key: the name of its domain; for several: `domains`'],
    ['key', 'create', '--name', 'x', '--scope', 'domain-admin'],
    '--domain is required for a domain-admin key: the name of its domain; for several: repeat --domain',
  ],
  [
    'POST /auth/api-keys',
    ['rate_limit_per_minute', 'must be at least 1'],
    ['key', 'create', '--name', 'x', '--scope', 'read-only', '--rate-limit', '0'],
    '--rate-limit must be at least 1',
  ],
  [
    'POST /domains/7/filters',
    ['pattern', 'must be one address'],
    ['domain', 'filters', 'add', '7', '--block', '--sender', 'a@x.example'],
    '--sender must be one address',
  ],
  [
    'POST /cluster/tokens',
    ['expires_in_s', 'is too much'],
    ['cluster', 'token', '--expires-in', '2h'],
    '--expires-in is too much',
  ],
  [
    'GET /mail/quarantine',
    ['sender', 'must be an address'],
    ['quarantine', 'list', '--sender', 'x y'],
    '--sender must be an address',
  ],
  ['GET /domains/0', ['id', 'must be a whole number'], ['domain', 'get', '0'], '0 must be a whole number'],
  // A field without an option keeps its API name.
  ['PUT /domains/7', ['created_at', 'cannot change'], ['domain', 'update', '7', '--active'], 'created_at cannot change'],
];

for (const [request, [path, detail], argv, told] of typedAs)
  test(`${path} is told as it was typed: mfctl ${argv.join(' ')}`, async t => {
    const api = await refusing(t, request, {path, detail});

    const {stderr} = await api.mfctl(argv);
    const json = await api.mfctl([...argv, '-o', 'json']);

    t.is(
      stderr.split('\n')[0],
      `error: ${told} (${request.startsWith('GET') ? 'invalid_parameter' : 'validation_failed'}, request r-1)`,
    );
    t.is(stderr.split('\n').length, 3, stderr);
    t.is(JSON.parse(json.stderr).error.fields[0].path, path);
  });

test('several wrong fields have a line each, and are told once', async t => {
  const api = await refusing(
    t,
    'POST /domains',
    {path: 'backend_servers.0', detail: 'must be host:port'},
    {path: 'reject_threshold', detail: 'must be at most 10000'},
  );

  const {stderr} = await api.mfctl(['domain', 'create', 'a.example', '--backend', 'mail', '--reject-threshold', '10001']);

  t.regex(stderr, /^error: 2 values are wrong \(validation_failed/);
  t.regex(stderr, /\n {2}--backend mail: must be host:port\n {2}--reject-threshold: must be at most 10000\nhint: /);
});

test('mfctl api keeps the words of the API', async t => {
  const api = await refusing(t, 'POST /domains', {path: 'backend_servers.0', detail: 'must be host:port'});
  const last = {status: 409, error: {code: 'conflict', detail: 'or repeat with ?force=true'}};
  const other = await startApi(t, {'DELETE /auth/api-keys/7': last});

  const wrong = await api.mfctl(['api', 'POST', '/domains', '--data', '{}']);
  const conflict = await other.mfctl(['api', 'DELETE', '/auth/api-keys/7']);

  t.regex(wrong.stderr, /^error: backend_servers\.0 must be host:port/);
  t.regex(conflict.stderr, /^error: or repeat with \?force=true/);
});

test('failures of a bulk action are reported in the same words', async t => {
  const failed = {node_id: 'mx1', error: {code: 'not_found', detail: 'there is no held mail; GET /mail/quarantine lists them'}};
  const api = await startApi(t, {
    'POST /mail/quarantine/release': {data: ['aaaaaa', 'bbbbbb'].map(queue_id => ({...failed, queue_id}))},
  });

  const {stderr} = await api.mfctl(['quarantine', 'release', 'mx1/aaaaaa', 'mx1/bbbbbb']);

  t.regex(stderr, /^warning: mx1\/aaaaaa: there is no held mail \(not_found\)$/m);
});
