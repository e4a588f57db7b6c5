import test from 'ava';
import {parse} from 'yaml';
import {apiKeySchema, createdApiKeySchema, meSchema} from '../../../shared/api-key.ts';
import {auditEntrySchema} from '../../../shared/audit-entry.ts';
import {clusterDriftSchema, driftRecordSchema} from '../../../shared/cluster-drift.ts';
import {clusterStatusSchema, peerSchema} from '../../../shared/cluster-status.ts';
import {dkimKeySchema} from '../../../shared/dkim-key.ts';
import {dmarcReportSchema, dmarcSourceSchema} from '../../../shared/dmarc-report.ts';
import {domainSchema} from '../../../shared/domain.ts';
import {dnsRecordSchema, domainDnsSchema} from '../../../shared/domain-dns.ts';
import {
  actionOutcomeSchema,
  type HeldMail,
  heldMailDetailSchema,
  heldMailSchema,
  summaryGroupSchema,
  summarySchema,
} from '../../../shared/held-mail.ts';
import {globalFilterSchema, mailFilterSchema} from '../../../shared/mail-filter.ts';
import {reportedSourceSchema} from '../../../shared/reported-source.ts';
import {commandWords, helpOf} from '../../helpers/cli/command-tree.ts';
import {auditEntry, createdKey, dkimKey, drift, filter, status, summary, token} from '../../helpers/cli/sample-answers.ts';
import {domain, key, mail, outcome} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';

const mails: HeldMail[] = [
  {...mail, subject: '=1+2'},
  {...mail, queue_id: 'bbbbbb', sender: 'a@b.example', score: -1.5},
];

const jsonLines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));

test('YAML says what JSON says', async t => {
  const api = await startApi(t, {
    'GET /mail/quarantine': {data: mails},
    'GET /cluster/drift': {data: drift},
    'GET /domains/7': {data: domain},
  });

  for (const command of [
    ['quarantine', 'list'],
    ['cluster', 'drift'],
    ['domain', 'get', '7'],
  ]) {
    const json = await api.mfctl([...command, '-o', 'json']);
    const yaml = await api.mfctl([...command, '-o', 'yaml']);

    t.deepEqual(parse(yaml.stdout), JSON.parse(json.stdout));
    t.is(yaml.code, 0);
  }
});

test('an answer that has its records in it gives a line for each of them', async t => {
  const api = await startApi(t, {
    'GET /cluster/status': {data: status},
    'GET /cluster/drift': {data: drift},
    'GET /mail/quarantine/summary': {data: summary},
  });

  const peers = await api.mfctl(['cluster', 'status', '-o', 'ndjson']);
  const records = await api.mfctl(['cluster', 'drift', '-o', 'ndjson']);
  const groups = await api.mfctl(['quarantine', 'summary', '-o', 'csv']);

  t.deepEqual(jsonLines(peers.stdout), status.peers);
  t.deepEqual(jsonLines(records.stdout), drift.records);
  t.is(
    groups.stdout,
    [
      'domain,reason,node_id,count,size_bytes,oldest_arrived_at',
      'example.com,spam,mx1,1234,5242880,2026-03-01T09:30:00.123Z',
      'example.org,rbl,mx2,1,100,2026-03-01T09:30:00.123Z',
      '',
    ].join('\r\n'),
  );
});

test('CSV has the fields of the wire in their order, null as nothing, lists as words, and no formulas', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: mails}, 'GET /auth/api-keys': {data: []}});

  const csv = await api.mfctl(['quarantine', 'list', '-o', 'csv']);
  const empty = await api.mfctl(['key', 'list', '-o', 'csv']);

  const [header, first, second] = csv.stdout.split('\r\n');
  t.is(header, Object.keys(mail).join(','));
  t.regex(
    first ?? '',
    /^mx1,aaaaaa,,ceo@bank\.example [^,]+,a@example\.com b@example\.com,'=1\+2,12\.5,X,spam,2048,2026-03-01T09:30:00\.123Z,false$/,
  );
  t.regex(second ?? '', /^mx1,bbbbbb,a@b\.example,.*,-1\.5,X,/);
  t.is(empty.stdout, `${Object.keys(key).join(',')}\r\n`);
});

test('names are what other commands take', async t => {
  const api = await startApi(t, {
    'GET /mail/quarantine': {data: mails},
    'POST /mail/quarantine/release': {data: [outcome('aaaaaa'), outcome('bbbbbb')]},
    'GET /domains': {data: [domain]},
    'GET /domains/7/filters': {data: [filter]},
    'GET /filters': {data: [filter]},
    'GET /domains/7/dkim-keys': {data: [dkimKey]},
    'GET /auth/api-keys': {data: [key]},
    'GET /cluster/status': {data: status},
    'GET /audit': {data: [auditEntry]},
    'POST /cluster/tokens': {data: token},
  });
  const names = async (...command: string[]) => (await api.mfctl([...command, '-o', 'name'])).stdout;

  const ids = await names('quarantine', 'list');
  const released = await api.mfctl(['quarantine', 'release', '-', '-o', 'name'], {input: ids});

  t.is(ids, 'mx1/aaaaaa\nmx1/bbbbbb\n');
  t.is(released.stdout, ids);
  t.is(await names('domain', 'list'), 'example.com\n');
  t.is(await names('domain', 'filters', 'list', '7'), `${filter.id}\n`);
  t.is(await names('filter', 'list'), `${filter.id}\n`);
  t.is(await names('domain', 'dkim', 'list', '7'), 'mfd2026\n');
  t.is(await names('key', 'list'), '7\n');
  t.is(await names('cluster', 'status'), 'mx1\nmx2\n');
  t.is(await names('audit'), 'mx1:41\n');
  t.is(await names('cluster', 'token'), 'mfj1_AQID\n');
});

test('a bulk action names what was done, and warns of what was not', async t => {
  const failed = {node_id: 'mx1', queue_id: 'bbbbbb', error: {code: 'not_found', detail: 'gone'}};
  const api = await startApi(t, {'POST /mail/quarantine/release': {data: [outcome('aaaaaa'), failed]}});
  const release = (...options: string[]) => api.mfctl(['quarantine', 'release', 'mx1/aaaaaa', 'mx1/bbbbbb', ...options]);

  const name = await release('-o', 'name');
  const csv = await release('-o', 'csv');
  const picked = await release('--json', 'queue_id,error');

  t.is(name.stdout, 'mx1/aaaaaa\n');
  t.regex(name.stderr, /^warning: mx1\/bbbbbb: gone/);
  t.regex(csv.stdout, /\r\nmx1,bbbbbb,,,,,"\{""code"":""not_found"",""detail"":""gone""\}"\r\n$/);
  t.deepEqual(JSON.parse(picked.stdout), [
    {queue_id: 'aaaaaa', error: null},
    {queue_id: 'bbbbbb', error: failed.error},
  ]);
  for (const {code} of [name, csv, picked]) t.is(code, 6);
});

test('wide has every column whole, on a narrow terminal too', async t => {
  const api = await startApi(t, {'GET /mail/quarantine': {data: mails}});

  const {stdout} = await api.mfctl(['quarantine', 'list', '-o', 'wide'], {columns: 40, env: {NO_COLOR: '1'}});

  t.regex(stdout, /^ID +ARRIVED +SCORE +REASON +SENDER +FROM +TO +SUBJECT +SIZE +SYMBOLS +ASKED\n/);
  t.regex(
    stdout,
    /\nmx1\/aaaaaa +2026-03-01T09:30:00Z +12\.5 +spam +<> +ceo@bank\.example, .+ a@example\.com, b@example\.com +=1\+2 +2\.0 KiB +X +-\n/,
  );
});

test('--json has just the fields that are named, in that order', async t => {
  const api = await startApi(t, {'GET /domains': {data: [domain]}, 'GET /domains/7': {data: domain}});

  const list = await api.mfctl(['domain', 'list', '--json', 'name, id']);
  const one = await api.mfctl(['domain', 'get', '7', '--json', 'name,tenant_id']);
  const lines = await api.mfctl(['domain', 'list', '--json', 'name,active', '-o', 'ndjson']);
  const csv = await api.mfctl(['domain', 'list', '--json', 'active,name', '-o', 'csv']);
  const yaml = await api.mfctl(['domain', 'get', '7', '--json', 'name', '-o', 'yaml']);
  const inPlaceOfEnvironment = await api.mfctl(['domain', 'get', '7', '--json', 'name'], {env: {MFCTL_OUTPUT: 'name'}});

  t.is(list.stdout, '[\n  {\n    "name": "example.com",\n    "id": 1000000001\n  }\n]\n');
  t.is(one.stdout, '{\n  "name": "example.com",\n  "tenant_id": null\n}\n');
  t.is(lines.stdout, '{"name":"example.com","active":true}\n');
  t.is(csv.stdout, 'active,name\r\ntrue,example.com\r\n');
  t.is(yaml.stdout, 'name: example.com\n');
  t.is(inPlaceOfEnvironment.stdout, '{\n  "name": "example.com"\n}\n');
});

test('--json names members of the records, or else of the answer they are in', async t => {
  const api = await startApi(t, {
    'GET /cluster/status': {data: status},
    'GET /mail/quarantine/summary': {data: summary},
  });

  const peers = await api.mfctl(['cluster', 'status', '--json', 'node_id,healthy']);
  const answer = await api.mfctl(['cluster', 'status', '--json', 'local_node_id,generated_at']);
  const counts = await api.mfctl(['quarantine', 'summary', '--json', 'domain,count']);
  const whole = await api.mfctl(['quarantine', 'summary', '--json', 'count,groups', '-o', 'ndjson']);
  const both = await api.mfctl(['cluster', 'status', '--json', 'local_node_id,healthy']);

  t.deepEqual(JSON.parse(peers.stdout), [
    {node_id: 'mx1', healthy: 'online'},
    {node_id: 'mx2', healthy: 'stale'},
  ]);
  t.deepEqual(JSON.parse(answer.stdout), {local_node_id: 'mx1', generated_at: status.generated_at});
  t.deepEqual(
    JSON.parse(counts.stdout).map((row: {count: number}) => row.count),
    [1234, 1],
  );
  t.deepEqual(jsonLines(whole.stdout), [{count: 1235, groups: summary.groups}]);
  t.is(both.code, 2);
  t.regex(both.stderr, /these fields are not of one record/);
});

test('a field that is not there is refused with those that are, before anything is asked or changed', async t => {
  const api = await startApi(t, {});

  for (const argv of [
    ['domain', 'list', '--json', 'nme'],
    ['domain', 'list', '--json', ''],
    ['domain', 'create', 'example.com', '--backend', 'a:25', '--json', 'id,nme'],
    ['quarantine', 'discard', 'mx1/aaaaaa', '--json', 'nme'],
    ['cluster', 'token', '--json', 'nme'],
    ['key', 'revoke', '7', '--yes', '--json', 'key'],
  ]) {
    const {code, stdout, stderr} = await api.mfctl(argv);

    t.is(code, 2, argv.join(' '));
    t.is(stdout, '');
    t.like(JSON.parse(stderr).error, {code: 'usage'});
    t.regex(stderr, /there is no field \\"(nme|key|)\\"; there are \w+, /);
  }
  t.deepEqual(api.requests, []);
});

test('--json is refused where it could pick nothing', async t => {
  const api = await startApi(t, {});
  const refused: [string[], RegExp][] = [
    [['domain', 'list', '--json', 'id', '-o', 'table'], /^error: --json picks fields, and -o table has none to pick/],
    [['domain', 'list', '--json', 'id', '-o', 'name'], /-o name has none to pick/],
    [['key', 'delete', '7', '--yes', '--json', 'id'], /mfctl key delete prints no records/],
    [['api', 'POST', '/domains', '--json', 'id'], /mfctl api prints no records/],
    [['api', 'POST', '/domains', '-o', 'name'], /api does not know how to name/],
    [['key', 'create', '--name', 'x', '--scope', 'read-only', '--json', 'id'], /the key would never be shown/],
    [['key', 'create', '--name', 'x', '--scope', 'read-only', '-o', 'name'], /the key would never be shown/],
  ];

  for (const [argv, message] of refused) {
    const {code, stderr} = await api.mfctl(argv);

    t.is(code, 2, argv.join(' '));
    t.regex(stderr, message);
  }
  t.deepEqual(api.requests, []);
});

test('a key that goes to a file can be printed without it in any format', async t => {
  const api = await startApi(t, {'POST /auth/api-keys': {status: 201, data: createdKey}});
  const create = (file: string, format: string) => {
    const flags = ['--name', 'x', '--scope', 'read-only', '--key-file', `${api.folder}/${file}`, '-o', format];
    return api.mfctl(['key', 'create', ...flags]);
  };

  const name = await create('a', 'name');
  const csv = await create('b', 'csv');

  t.is(name.stdout, '8\n');
  t.is(csv.stdout.split('\r\n')[0], 'id,key_prefix,name,scope,rate_limit_per_minute,domain,domains,expires_at');
  t.false(csv.stdout.includes(createdKey.key));
});

test('an action without data prints null where a value is expected, and nothing else', async t => {
  const api = await startApi(t, {'GET /auth/api-keys': {data: [key]}, 'DELETE /auth/api-keys/7': {data: null}});
  const out = async (format: string) => (await api.mfctl(['key', 'delete', '7', '--yes', '-q', '-o', format])).stdout;

  t.deepEqual(await Promise.all(['json', 'ndjson', 'yaml'].map(out)), ['null\n', 'null\n', 'null\n']);
  t.deepEqual(await Promise.all(['table', 'wide', 'csv', 'name'].map(out)), ['', '', '', '']);
});

test('raw requests and the description of the API come in the formats that fit them', async t => {
  const api = await startApi(t, {
    'GET /x': {
      data: [
        {a: '=1', b: {c: [1]}},
        {a: null, d: [1, 2]},
      ],
    },
    'GET /n': {data: [1, 'two']},
    'GET /openapi.yaml': {raw: 'openapi: 3.1.0\n'},
  });

  t.is((await api.mfctl(['api', 'GET', '/x', '-o', 'csv'])).stdout, 'a,b,d\r\n\'=1,"{""c"":[1]}",\r\n,,1 2\r\n');
  t.is((await api.mfctl(['api', 'GET', '/n', '-o', 'csv'])).stdout, 'value\r\n1\r\ntwo\r\n');
  t.is((await api.mfctl(['api', 'GET', '/n', '-o', 'yaml'])).stdout, '- 1\n- two\n');
  t.is((await api.mfctl(['api', 'GET', '/n', '-o', 'wide'])).stdout, '[\n  1,\n  "two"\n]\n');
  t.is((await api.mfctl(['openapi', '-o', 'json'])).stdout, '{\n  "openapi": "3.1.0"\n}\n');
  t.is((await api.mfctl(['openapi', '-o', 'csv'])).stdout, 'openapi: 3.1.0\n');
});

test('an error is an object for readers of JSON or YAML, and lines for everybody else', async t => {
  const api = await startApi(t, {});
  const err = async (...options: string[]) => (await api.mfctl(['domain', 'get', '7', ...options])).stderr;

  for (const options of [
    ['-o', 'json'],
    ['-o', 'ndjson'],
    ['-o', 'yaml'],
    ['--json', 'id'],
  ])
    t.like(parse(await err(...options)), {error: {code: 'not_found', exit_code: 5}});
  for (const format of ['table', 'wide', 'csv', 'name']) t.regex(await err('-o', format), /^error: no \/domains\/7 \(not_found/);
});

/** The formats named in the help of the command. */
const declaredFields = async (...words: string[]): Promise<{fields: string[]; answerFields: string[]}> => {
  const help = await helpOf(words);
  const [fields = '', answerFields = ''] = [/Fields for --json:\n((?: {2}.*\n)+)/, /of the whole answer:\n((?: {2}.*\n)+)/].map(
    pattern => pattern.exec(help)?.[1],
  );
  return {fields: fields.match(/\w+/g) ?? [], answerFields: answerFields.match(/\w+/g) ?? []};
};

test('the fields of a record are those that the API sends, in its order', async t => {
  const schemas: [string[], {shape: object}, {shape: object}?][] = [
    [['whoami'], meSchema],
    [['key', 'list'], apiKeySchema],
    [['key', 'create'], createdApiKeySchema],
    [['domain', 'list'], domainSchema],
    [['domain', 'filters', 'list'], mailFilterSchema],
    [['filter', 'list'], globalFilterSchema],
    [['domain', 'dkim', 'list'], dkimKeySchema],
    [['domain', 'dns'], dnsRecordSchema, domainDnsSchema],
    [['quarantine', 'list'], heldMailSchema],
    [['quarantine', 'summary'], summaryGroupSchema, summarySchema],
    [['cluster', 'status'], peerSchema, clusterStatusSchema],
    [['cluster', 'drift'], driftRecordSchema(), clusterDriftSchema()],
    [['audit'], auditEntrySchema],
    [['dmarc', 'summary'], dmarcSourceSchema],
    [['dmarc', 'sources'], reportedSourceSchema],
    [['dmarc', 'reports'], dmarcReportSchema],
  ];

  for (const [words, {shape}, answer] of schemas)
    t.deepEqual(
      await declaredFields(...words),
      {fields: Object.keys(shape), answerFields: Object.keys(answer?.shape ?? {})},
      words.join(' '),
    );
  t.deepEqual((await declaredFields('quarantine', 'show')).fields, [
    ...Object.keys(heldMailDetailSchema.shape),
    'headers',
    'attachments',
    'history',
  ]);
  t.deepEqual((await declaredFields('quarantine', 'release')).fields, [...Object.keys(actionOutcomeSchema.shape), 'error']);
  t.deepEqual((await declaredFields('cluster', 'token')).fields, Object.keys(token));
});

test('every command says which fields it prints, but those that print no records', async t => {
  const without: string[] = [];
  for (const words of commandWords()) if (!/^Fields for --json:/m.test(await helpOf(words))) without.push(words.join(' '));

  t.deepEqual(without.sort(), [
    'api',
    'cluster check',
    'cluster remove',
    'completion',
    'context add',
    'context remove',
    'context use',
    'dashboard',
    'dmarc report',
    'domain delete',
    'domain dkim delete',
    'domain export',
    'domain filters remove',
    'filter remove',
    'help',
    'key delete',
    'metrics',
    'openapi',
    'quarantine body',
    'webhook remove',
  ]);
});
