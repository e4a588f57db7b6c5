// Programs as an operator sees them: their output, their exit statuses, and their reaction to signals.
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {mkdir, readdir, readFile, rename, rm, stat, writeFile} from 'node:fs/promises';
import {Agent, get} from 'node:https';
import {join} from 'node:path';
import {connect as connectTls} from 'node:tls';
import test, {type ExecutionContext} from 'ava';
import {parse, stringify} from 'yaml';
import {startDaemon, startFirst} from '../helpers/daemon.ts';
import {freeListens, listenOptions, mfctlFile, mfdFile, run, startNode, type TestNode} from '../helpers/node.ts';
import {freePort} from '../helpers/ports.ts';
import {connect, sendMail} from '../helpers/smtp-client.ts';
import {startSmtpSink} from '../helpers/smtp-sink.ts';
import {openTestStore, testFolder} from '../helpers/store.ts';

const anyPort = listenOptions.flatMap(option => [option, '127.0.0.1:0']);
const anyPortEnv = Object.fromEntries(
  ['API', 'CLUSTER', 'METRICS', 'SMTP'].map(section => [`MFD_${section}_LISTEN`, '127.0.0.1:0']),
);

const init = async (data: string, home: string, options?: string[]) =>
  run(mfdFile, ['init', '--data', data, '--json', ...(options ?? (await freeListens()))], {env: {XDG_CONFIG_HOME: home}});

const arrangeFolder = async (t: ExecutionContext) => {
  const root = await testFolder(t);
  const home = join(root, 'home');
  await mkdir(home);
  return {root, home, data: join(root, 'data')};
};

const arrangeNode = async (t: ExecutionContext) => {
  const folder = await arrangeFolder(t);
  const made = await init(folder.data, folder.home);
  return {...folder, config: join(folder.data, 'mfd.yaml'), report: JSON.parse(made.stdout)};
};

const editConfig = async (file: string, edit: (config: Record<string, Record<string, unknown>>) => void): Promise<void> => {
  const config = parse(await readFile(file, 'utf8'));
  edit(config);
  await writeFile(file, stringify(config));
};

const everythingIn = async (folder: string): Promise<string> => {
  const hash = createHash('sha256');
  for (const name of (await readdir(folder, {recursive: true})).sort()) {
    const {mode, mtimeMs, size} = await stat(join(folder, name));
    hash.update(JSON.stringify([name, mode, mtimeMs, size]));
    if ((mode & 0o170000) === 0o100000) hash.update(await readFile(join(folder, name)));
  }
  return hash.digest('hex');
};

const isOneLine = (text: string) => text.split('\n').length === 2 && text.endsWith('\n') && !/^ +at /m.test(text);

test('init prints one JSON object, and what it says is so, with ports in place of port 0', async t => {
  const {data, home} = await arrangeFolder(t);

  const {code, stdout, stderr} = await init(data, home, ['--node-id', 'alpha', '--fqdn', 'mx1.example.com', ...anyPort]);

  const report = JSON.parse(stdout);
  t.is(code, 0);
  t.is(stderr, 'mfctl now uses the context alpha\n');
  t.deepEqual(Object.keys(report).sort(), 'api_key api_url ca_file cluster_url data metrics_url node_id smtp'.split(' '));
  t.like(report, {node_id: 'alpha', data});
  t.regex(report.api_url, /^https:\/\/127\.0\.0\.1:[1-9]\d*$/);
  t.regex(report.cluster_url, /^https:\/\/127\.0\.0\.1:[1-9]\d*$/);
  t.regex(report.metrics_url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  t.regex(report.smtp, /^127\.0\.0\.1:[1-9]\d*$/);
  t.regex(report.api_key, /^mfk_[0-9A-Za-z]{38}$/);
  t.regex(await readFile(report.ca_file, 'utf8'), /BEGIN CERTIFICATE/);
});

test('a second init with the same node id keeps the context of the first one, and says what its own is called', async t => {
  const {data, home} = await arrangeFolder(t);
  await init(data, home, ['--node-id', 'alpha', ...anyPort]);
  const {api_key: key} = JSON.parse((await init(`${data}-2`, home, ['--node-id', 'alpha', ...anyPort])).stdout);
  const {stderr} = await init(`${data}-3`, home, ['--node-id', 'alpha', ...anyPort]);

  const keys = parse(await readFile(join(home, 'mfctl', 'keys.yaml'), 'utf8'));

  t.is(stderr, 'mfctl now uses the context alpha-3, as there is a context alpha already\n');
  t.is(keys['alpha-2'], key);
  t.is(new Set(Object.values(keys)).size, 3);
});

test('what init makes is for its owner only, and the key is stored nowhere', async t => {
  const {data, home} = await arrangeFolder(t);

  const {stdout} = await init(data, home);

  t.is((await stat(data)).mode & 0o777, 0o700);
  const {api_key} = JSON.parse(stdout);
  for (const name of await readdir(data, {recursive: true})) {
    const info = await stat(join(data, name));
    t.is(info.mode & 0o777, info.isDirectory() ? 0o700 : 0o600, name);
    if (info.isFile()) t.false((await readFile(join(data, name))).includes(api_key), name);
  }
});

(process.platform === 'linux' ? test : test.skip)(
  'init in a folder that nobody can make ends at once, with the reason',
  async t => {
    const {home} = await arrangeFolder(t);

    const {code, stdout, stderr} = await init('/proc/x', home);

    t.is(code, 1);
    t.is(stdout, '');
    t.is(stderr, 'mfd: cannot make the folder /proc/x: no such file or folder\n');
  },
);

test('init refuses a folder that holds a node, and changes nothing', async t => {
  const {data, home} = await arrangeNode(t);
  const before = await everythingIn(data);

  const again = await init(data, home);

  t.is(again.code, 1);
  t.is(again.stdout, '');
  t.regex(again.stderr, /holds a node already/);
  t.true(isOneLine(again.stderr));
  t.is(await everythingIn(data), before);
});

test('a configuration that was there first is kept, and init and start make the node it describes', async t => {
  const {data, home, root} = await arrangeFolder(t);
  const [api, cluster, metrics] = [await freePort(), await freePort(), await freePort()];
  const own = `fqdn: mx3.example.com
api: {listen: "127.0.0.1:${api}"}
cluster: {listen: "127.0.0.1:${cluster}"}
metrics: {listen: "127.0.0.1:${metrics}"}
smtp: {listen: 127.0.0.1:0, max_size: 1M}
`;
  const other = join(root, 'other');
  for (const folder of [data, other]) {
    await mkdir(folder);
    await writeFile(join(folder, 'mfd.yaml'), own);
  }
  const environment = {env: {XDG_CONFIG_HOME: home}};

  const contradicted = await run(mfdFile, ['init', '--data', data, '--fqdn', 'mx4.example.com'], environment);
  const made = await run(mfdFile, ['init', '--data', data, '--json'], environment);
  const daemon = startFirst(t, other, {XDG_CONFIG_HOME: home});
  const line = await daemon.ready;

  t.is(contradicted.code, 1);
  t.regex(contradicted.stderr, /mfd\.yaml is there already/);
  t.is(made.code, 0, made.stderr);
  t.is(JSON.parse(made.stdout).api_url, `https://127.0.0.1:${api}`);
  t.is(await readFile(join(data, 'mfd.yaml'), 'utf8'), own);
  t.is(await readFile(join(other, 'mfd.yaml'), 'utf8'), own);
  t.true(line.includes(`api=https://127.0.0.1:${api} `), line);
  t.regex(daemon.stdout(), /API key +mfk_/);
});

test('what cannot start is not made, so that its key is not lost', async t => {
  const {data, home, root} = await arrangeFolder(t);
  const env = {XDG_CONFIG_HOME: home};
  await mkdir(data);
  await writeFile(join(data, 'mfd.yaml'), 'api:\n  cert_file: /nowhere/cert.pem\n  key_file: /nowhere/key.pem\n');
  const other = join(root, 'other');

  const made = await run(mfdFile, ['init', '--data', data], {env});
  const started = await run(mfdFile, ['start', '--init', '--data', other], {env: {...env, MFD_LOG_LEVEL: 'loud'}});

  t.is(made.code, 2);
  t.is(made.stderr, `mfd: ${data}/mfd.yaml:2: api.cert_file: /nowhere/cert.pem does not exist\n`);
  t.deepEqual(await readdir(data), ['mfd.yaml']);
  t.is(started.code, 2);
  t.regex(started.stderr, /^mfd: MFD_LOG_LEVEL: log\.level must be debug/);
  t.false((await readdir(root)).includes('other'));
});

test('init refuses a folder that holds anything else, and options it cannot use, and makes nothing', async t => {
  const {data, home, root} = await arrangeFolder(t);
  await mkdir(data);
  await writeFile(join(data, 'letter'), 'x');
  const before = await everythingIn(data);
  const other = join(root, 'other');

  const full = await init(data, home);
  const badId = await init(other, home, ['--node-id', 'a b']);
  const badName = await init(other, home, ['--fqdn', 'bad name']);
  const badListen = await run(mfdFile, ['init', '--data', other, '--api-listen', 'nowhere'], {env: {XDG_CONFIG_HOME: home}});
  const unknown = await run(mfdFile, ['init', '--data', other, '--nope'], {env: {XDG_CONFIG_HOME: home}});

  t.deepEqual([full.code, badId.code, badName.code, badListen.code, unknown.code], [1, 2, 2, 2, 2]);
  t.is(badName.stderr, 'mfd: --fqdn "bad name": must be a host name\n');
  t.is(await everythingIn(data), before);
  t.false((await readdir(root)).includes('other'));
});

test('start --init on a folder that is not there makes a node, shows its key, and is ready', async t => {
  const {data, home} = await arrangeFolder(t);
  const daemon = startFirst(t, data, {XDG_CONFIG_HOME: home, ...anyPortEnv, MFD_FQDN: 'mx7.example.com'});

  const line = await daemon.ready;

  t.regex(
    line,
    /^mfd ready node=\S+ api=https:\/\/127\.0\.0\.1:\d+ (cluster=https:\/\/127\.0\.0\.1:\d+ )?metrics=http:\/\/127\.0\.0\.1:\d+ smtp=127\.0\.0\.1:\d+$/,
  );
  t.is(daemon.stdout().match(/^mfd ready/gm)?.length, 1);
  const key = /mfk_[0-9A-Za-z]{38}/.exec(daemon.stdout())?.[0] ?? '';
  const url = /api=(\S+)/.exec(line)?.[1] ?? '';
  const ca = await readFile(join(data, 'tls', 'ca.crt'), 'utf8');
  const [response] = await once(get(`${url}/api/v1/auth/me`, {ca, headers: {'X-API-Key': key}, agent: false}), 'response');
  t.is(response.statusCode, 200);
  response.resume();
  for (const text of daemon.stderr().trim().split('\n')) t.notThrows(() => JSON.parse(text), text);
});

test('a configuration that cannot be used is one line with key and line, and exit status 2, for start and check-config', async t => {
  const {data, config} = await arrangeNode(t);
  await writeFile(config, 'fqdn: a.test\nsmtp:\n  lisen: 127.0.0.1:25\n');

  for (const command of ['start', 'check-config']) {
    const {code, stdout, stderr} = await run(mfdFile, [command, '--data', data]);

    t.is(code, 2, command);
    t.is(stdout, '');
    t.is(stderr, `mfd: ${config}:3: smtp.lisen is not a known key; correct or remove it\n`);
  }
});

test('check-config passes what start would take, and finds what only a closer look shows', async t => {
  const {data, config, root} = await arrangeNode(t);
  const check = async () => run(mfdFile, ['check-config', '--data', data]);

  t.like(await check(), {code: 0, stdout: `${config} is fine\n`, stderr: ''});

  const before = await readFile(config, 'utf8');
  const faults: [Record<string, Record<string, unknown>>, RegExp][] = [
    [{smtp: {trusted_networks: ['10.0.0.0/8', 'nonsense']}}, /mfd\.yaml:\d+: smtp\.trusted_networks/],
    [
      {scanner: {rspamd_password_file: join(root, 'missing')}},
      /mfd\.yaml:\d+: scanner\.rspamd_password_file: .*missing does not exist/,
    ],
    [{api: {cert_file: join(root, 'c'), key_file: join(root, 'k')}}, /mfd\.yaml:\d+: api\.cert_file: .* does not exist/],
    [{smtp: {smarthost: 'a:25', smarthost_username: 'x'}}, /mfd\.yaml:\d+: smtp\.smarthost_username/],
  ];
  for (const [sections, pattern] of faults) {
    await writeFile(config, before);
    await editConfig(config, edited => Object.assign(edited, sections));
    const {code, stderr} = await check();
    t.is(code, 2, String(pattern));
    t.regex(stderr, pattern);
    t.true(isOneLine(stderr), stderr);
  }
  t.is((await run(mfdFile, ['check-config', '--data', join(root, 'nothing')])).code, 2);
  await writeFile(config, before);
  const misspelt = await run(mfdFile, ['check-config', '--data', data], {env: {MFD_SMTP_LISTN: 'x'}});
  t.is(misspelt.code, 0);
  t.is(misspelt.stderr, 'mfd: warning: MFD_SMTP_LISTN names no configuration key, and has no effect\n');
});

test('a database that is none is one line and exit status 1', async t => {
  const {data} = await arrangeNode(t);
  await writeFile(join(data, 'mfd.db'), 'this is no database, and never was one'.repeat(200));

  const {code, stderr} = await run(mfdFile, ['start', '--data', data]);

  t.is(code, 1);
  t.is(
    stderr,
    'mfd: the database cannot be used: SQLITE_NOTADB: file is not a database; mfd repair rebuilds it from what can be read\n',
  );
});

test('a database of a newer version is refused, and is no case for a repair', async t => {
  const {data} = await arrangeNode(t);
  const store = await openTestStore(join(data, 'mfd.db'));
  await store.write('schema_migration').insert({name: '9999_later', batch: 9, migration_time: 0});
  await store.close();

  const {code, stderr} = await run(mfdFile, ['start', '--data', data]);

  t.is(code, 1);
  t.is(
    stderr,
    'mfd: the database is that of a newer version of mfd (it has 9999_later): start that version, or restore a backup\n',
  );
});

test('a node whose spool is not mounted does not take its mails for lost', async t => {
  const {node} = await withDomain(t);
  await sendMail({port: node.smtpPort, from: 'a@example.net', to: 'b@example.com', raw: suspicious});
  await node.stop();
  const spool = join(node.data, 'spool');
  await rename(spool, `${spool}.away`);
  await mkdir(spool);

  const without = await run(mfdFile, ['start', '--data', node.data]);
  await rm(spool, {recursive: true});
  await rename(`${spool}.away`, spool);
  await node.start();

  t.is(without.code, 1);
  t.regex(without.stderr, /spool\/held is not there, while the database counts 1 held/);
  t.is((await node.api('GET', 'mail/quarantine')).json.data.length, 1);
});

test('a node that is made by being started keeps the ports it prints, also where the environment says port 0', async t => {
  const {data, home} = await arrangeFolder(t);
  const daemon = startFirst(t, data, {XDG_CONFIG_HOME: home, ...anyPortEnv});

  const line = await daemon.ready;
  const whoami = await run(mfctlFile, ['whoami', '-o', 'json'], {env: {XDG_CONFIG_HOME: home}});

  t.is(whoami.code, 0, whoami.stderr);
  const {smtp} = parse(await readFile(join(data, 'mfd.yaml'), 'utf8'));
  t.true(line.includes(`smtp=${smtp.listen}`), line);
  t.true(daemon.stdout().includes(`swaks --server ${smtp.listen} `));
});

test('a node whose database is gone does not start as another one', async t => {
  const {data} = await arrangeNode(t);
  for (const name of await readdir(data)) if (name.startsWith('mfd.db')) await rm(join(data, name));

  const started = await run(mfdFile, ['start', '--data', data]);
  await writeFile(join(data, 'mfd.db'), '');
  const empty = await run(mfdFile, ['start', '--data', data]);
  const key = await run(mfdFile, ['bootstrap-key', '--data', data]);

  t.like(started, {
    code: 1,
    stderr: `mfd: ${data}/mfd.db is gone; restore it from a backup, or make a new node in another folder\n`,
  });
  for (const {code, stderr} of [empty, key]) {
    t.is(code, 1);
    t.is(stderr, `mfd: ${data}/mfd.db is not the database of a node; restore it from a backup\n`);
  }
});

test('a certificate of our own that is damaged is renewed, a damaged authority is one line', async t => {
  const {data} = await arrangeNode(t);
  await writeFile(join(data, 'tls', 'api.crt'), 'garbage');
  const daemon = startDaemon(t, data);
  await daemon.ready;
  daemon.signal('SIGTERM');
  await daemon.ended;
  t.regex(
    await readFile(join(data, 'tls', 'api.crt'), 'utf8'),
    /^-----BEGIN CERTIFICATE-----[\s\S]*-----END CERTIFICATE-----\n$/,
  );

  await writeFile(join(data, 'tls', 'api.crt'), 'garbage');
  await writeFile(join(data, 'tls', 'ca.crt'), 'garbage');
  const {code, stderr} = await run(mfdFile, ['start', '--data', data]);

  t.is(code, 2);
  t.regex(stderr, /^mfd: .*ca\.crt and .*ca\.key are not a certificate \(PEM\) and its private key\n$/m);
});

test('bootstrap-key refuses beside an active full-admin key, and with --force makes one that a running node knows at once', async t => {
  const node = await startNode(t);

  const refused = await run(mfdFile, ['bootstrap-key', '--data', node.data]);
  const forced = await run(mfdFile, ['bootstrap-key', '--data', node.data, '--force']);
  const key = forced.stdout.trim();
  const me = await node.api('GET', 'auth/me', {key});
  const audit = await node.api('GET', 'audit?action=key.create', {key});

  t.is(refused.code, 1);
  t.regex(refused.stderr, /--force/);
  t.true(isOneLine(refused.stderr));
  t.is(forced.code, 0);
  t.like(me, {status: 200, json: {data: {name: 'bootstrap', scope: 'full-admin'}}});
  t.like(audit.json.data[0], {target: String(me.json.data.id), key_id: null, remote_address: null, result: 'ok'});
  await node.api('POST', `auth/api-keys/${me.json.data.id}/revoke`, {key: node.api_key});
  t.is((await node.api('GET', 'auth/me', {key})).json.error.code, 'key_revoked');
});

test('bootstrap-key makes a key without --force once no active full-admin key is left, and says so where no node is', async t => {
  const node = await startNode(t);
  const {id} = (await node.api('GET', 'auth/me')).json.data;
  await node.api('POST', `auth/api-keys/${id}/revoke?force=true`);

  const made = await run(mfdFile, ['bootstrap-key', '--data', node.data]);
  const nowhere = await run(mfdFile, ['bootstrap-key', '--data', join(node.data, 'nothing')]);

  t.is(made.code, 0);
  t.is((await node.api('GET', 'domains', {key: made.stdout.trim()})).status, 200);
  t.is(nowhere.code, 1);
  t.true(isOneLine(nowhere.stderr));
});

const withDomain = async (t: ExecutionContext) => {
  const sink = await startSmtpSink(t);
  const node = await startNode(t);
  const backend = `${sink.server.host}:${sink.server.port}`;
  const made = await node.api('POST', 'domains', {body: {name: 'example.com', backend_servers: [backend]}});
  return {sink, node, domainId: made.json.data.id as number};
};

const suspicious = 'X-Spam-Score: 8.5\r\nFrom: a@example.net\r\nSubject: suspicious\r\n\r\nhello\r\n';

const stopped = async (node: TestNode, signal: NodeJS.Signals) => {
  const since = Date.now();
  const code = await node.stop(signal);
  return {code, seconds: (Date.now() - since) / 1000};
};

test('SIGTERM ends the daemon with 0 within 10 s, whoever is connected and however far they are', async t => {
  const {node} = await withDomain(t);
  const idleSmtp = await connect(node.smtpPort);
  const halfMail = await connect(node.smtpPort);
  await halfMail.cmd('EHLO client.test');
  await halfMail.cmd('MAIL FROM:<a@example.net>');
  await halfMail.cmd('RCPT TO:<b@example.com>');
  await halfMail.cmd('DATA');
  halfMail.write('Subject: half a m');
  const idleHttps = connectTls({port: Number(new URL(node.api_url).port), host: '127.0.0.1', rejectUnauthorized: false});
  idleHttps.on('error', () => {});
  await once(idleHttps, 'secureConnect');
  idleHttps.write('GET /api/v1/auth/me HTTP/1.1\r\nHost: x\r\nX-API-Key: x\r\n\r\n');
  await once(idleHttps, 'data');

  const {code, seconds} = await stopped(node, 'SIGTERM');

  t.is(code, 0);
  t.true(seconds < 10, `${seconds} s`);
  await Promise.all([idleSmtp.closed, halfMail.closed]);
  t.regex(node.log(), /"msg":"stopped"/);
});

test('SIGINT ends the daemon with 0', async t => {
  const node = await startNode(t);

  const {code} = await stopped(node, 'SIGINT');

  t.is(code, 0);
});

test('a restart keeps domains, keys, held mail, the configuration hash and what was done', async t => {
  const {node} = await withDomain(t);
  await sendMail({port: node.smtpPort, from: 'a@example.net', to: 'b@example.com', raw: suspicious});
  await sendMail({port: node.smtpPort, from: 'a@example.net', to: 'b@example.com', raw: suspicious});
  const [first] = (await node.api('GET', 'mail/quarantine')).json.data;
  await node.api('POST', `mail/quarantine/${node.node_id}/${first.queue_id}/discard`);
  const look = async () => ({
    domains: (await node.api('GET', 'domains')).json.data,
    keys: (await node.api('GET', 'auth/api-keys')).json.data.map((key: {last_used_at: string}) => ({...key, last_used_at: null})),
    mails: (await node.api('GET', 'mail/quarantine')).json.data,
    hash: (await node.api('GET', 'cluster/status')).json.data.peers[0].config_hash,
    audit: (await node.api('GET', 'audit')).json.data,
  });
  const before = await look();

  t.is(await node.stop(), 0);
  await node.start();

  t.deepEqual(await look(), before);
  t.is(before.mails.length, 1);
  const again = await node.api('POST', `mail/quarantine/${node.node_id}/${first.queue_id}/discard`);
  t.like(again.json.data, {state: 'discarded', already: true});
  t.not((await node.api('GET', 'auth/me')).json.data.last_used_at, null);
});

test('of two daemons on one data directory the second refuses, and the first goes on', async t => {
  const node = await startNode(t);

  const second = await run(mfdFile, ['start', '--data', node.data]);

  t.is(second.code, 1);
  t.regex(second.stderr, /another mfd is running on/);
  t.notRegex(second.stderr, /^ +at /m);
  t.is((await node.api('GET', 'auth/me')).status, 200);
});

test('MFD_ variables win over the file, and one that names no key is logged', async t => {
  const {data} = await arrangeNode(t);
  const daemon = startDaemon(t, data, {MFD_SMTP_LISTEN: '127.0.0.1:0', MFD_LOG_LEVEL: 'debug', MFD_SMPT_LISTEN: 'x'});

  const line = await daemon.ready;

  const config = parse(await readFile(join(data, 'mfd.yaml'), 'utf8'));
  t.false(line.includes(`smtp=${config.smtp.listen}`));
  t.regex(daemon.stderr(), /"variable":"MFD_SMPT_LISTEN"/);
});

test('SIGHUP takes over trusted networks and the log level, survives a broken file, and says what waits for a start', async t => {
  const {node, sink} = await withDomain(t);
  const config = join(node.data, 'mfd.yaml');
  const hangUp = async (pattern: RegExp) => {
    const seen = node.log().length;
    node.signal('SIGHUP');
    for (let tries = 0; !pattern.test(node.log().slice(seen)); tries += 1) {
      if (tries > 100) throw new Error(`not logged: ${pattern} in ${node.log().slice(seen)}`);
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  };
  const judged = async () => {
    const before = sink.mails.length;
    await sendMail({port: node.smtpPort, from: 'a@example.net', to: 'b@example.com', raw: suspicious});
    return sink.mails.length > before ? 'relayed' : 'held';
  };

  t.is(await judged(), 'held');
  await editConfig(config, edited => {
    edited.smtp = {...edited.smtp, trusted_networks: ['192.0.2.0/24'], max_recipients: 7};
    edited.log = {level: 'debug'};
  });
  await hangUp(/configuration and certificates reread/);
  t.regex(node.log(), /"keys":\["smtp\.max_recipients"\]/);
  t.is(await judged(), 'relayed');

  const good = await readFile(config, 'utf8');
  await writeFile(config, 'smtp:\n  lisen: x\n');
  await hangUp(/not applied.*|lisen/);
  t.is(await judged(), 'relayed');
  t.is((await node.api('GET', 'auth/me')).status, 200);

  const before = node.log().length;
  await writeFile(config, good.replace('192.0.2.0/24', '127.0.0.0/8').replace('max_recipients: 7', 'max_recipients: 100'));
  await hangUp(/configuration and certificates reread/);
  t.is(await judged(), 'held');
  t.notRegex(node.log().slice(before), /"keys"/, 'what was put back waits for nothing');
});

test('SIGHUP shows new connections the certificate that is on the disk now, and fails no request on an old one', async t => {
  const node = await startNode(t);
  const ca = await readFile(node.ca_file, 'utf8');
  const shown = async () => {
    const socket = connectTls({port: Number(new URL(node.api_url).port), host: '127.0.0.1', servername: 'localhost', ca});
    await once(socket, 'secureConnect');
    const {fingerprint256} = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const kept = new Agent({keepAlive: true, maxSockets: 1, ca});
  t.teardown(() => kept.destroy());
  const ask = async () => {
    const [response] = await once(
      get(`${node.api_url}/api/v1/auth/me`, {agent: kept, headers: {'X-API-Key': node.api_key}}),
      'response',
    );
    response.resume();
    await once(response, 'end');
    return response.statusCode;
  };
  t.is(await ask(), 200);
  const before = await shown();

  await writeFile(join(node.data, 'tls', 'api.crt'), '');
  node.signal('SIGHUP');
  for (let tries = 0; (await shown()) === before && tries < 100; tries += 1)
    await new Promise(resolve => setTimeout(resolve, 50));

  t.not(await shown(), before);
  t.is(await ask(), 200);
});
