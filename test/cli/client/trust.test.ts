// Certificates that mfctl trusts when it is run from a shell: bin/mfctl starts Node without Node's built-in list.
import {execFile} from 'node:child_process';
import {readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test, {type ExecutionContext} from 'ava';
import {mail} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';
import {cleanEnvironment, mfctlFile, runTyped} from '../../helpers/program.ts';

const cli = new URL('../../../cli/', import.meta.url);

const startList = async (t: ExecutionContext) => {
  const api = await startApi(t, {
    'GET /mail/quarantine': {data: [mail]},
    'GET /mail/quarantine/mx1/aaaaaa/body': {raw: 'Subject: hello\r\n\r\n'},
    'GET /metrics': {raw: 'up 1\n'},
  });
  const {MFCTL_CACERT: caFile, ...untold} = api.env;
  const list = (env: Record<string, string>) => runTyped(mfctlFile, ['quarantine', 'list'], {env: {...untold, ...env}});
  return {api, caFile, list};
};

test('the certificate that was named counts, for what is read at once and for what is read as it comes', async t => {
  const {api, caFile, list} = await startList(t);

  const listed = await list({MFCTL_CACERT: caFile});
  const read = await runTyped(mfctlFile, ['quarantine', 'body', 'mx1/aaaaaa'], {env: api.env});

  t.deepEqual([listed.code, listed.stderr], [0, '']);
  t.regex(listed.stdout, /mx1\/aaaaaa/);
  t.deepEqual(read, {code: 0, stdout: 'Subject: hello\r\n\r\n', stderr: ''});
});

test('without a CA the certificates of Node and NODE_EXTRA_CA_CERTS are trusted, and not those of OpenSSL', async t => {
  const {api, caFile, list} = await startList(t);

  for (const env of [{}, {SSL_CERT_FILE: caFile}]) {
    const {code, stderr} = await list(env);
    t.is(code, 7);
    t.regex(stderr, /\(tls_untrusted\)/);
  }
  t.is(api.requests.length, 0);
  t.is((await list({NODE_EXTRA_CA_CERTS: caFile})).code, 0);
});

test('the same counts for a metrics listener behind HTTPS', async t => {
  const {api, caFile} = await startList(t);
  const {MFCTL_CACERT: _, ...env} = api.env;
  const metrics = (more: Record<string, string>) =>
    runTyped(mfctlFile, ['metrics', '--metrics-url', `${api.url}/metrics`], {env: {...env, ...more}});

  t.is((await metrics({SSL_CERT_FILE: caFile})).code, 7);
  t.is(api.requests.length, 0);
  t.deepEqual(await metrics({NODE_EXTRA_CA_CERTS: caFile}), {code: 0, stdout: 'up 1\n', stderr: ''});
});

test('every file that connects by TLS uses the trusted certificates', async t => {
  const connects = /from 'node:(tls|https)'|import\('(node:https|got)'\)/;
  const isGiven = ['client/trust.ts', 'client/exchange.ts'];
  const files = await readdir(cli, {recursive: true});

  const connecting = [];
  for (const file of files.filter(name => /\.tsx?$/.test(name) && !isGiven.includes(name))) {
    const text = await readFile(new URL(file, cli), 'utf8');
    if (!connects.test(text.replace(/^import type .*$/gm, ''))) continue;
    connecting.push(file);
    t.regex(text, /\btrusting\(/, file);
  }
  t.true(connecting.length >= 2);
});

test('what NODE_OPTIONS says of the list of certificates holds', async t => {
  const {caFile, list} = await startList(t);

  t.is((await list({NODE_OPTIONS: '--use-openssl-ca', SSL_CERT_FILE: caFile})).code, 0);
  t.is((await list({NODE_OPTIONS: '--use-bundled-ca', MFCTL_CACERT: caFile})).code, 0);
  t.is((await list({NODE_OPTIONS: '--use-bundled-ca', SSL_CERT_FILE: caFile})).code, 7);
});

test('Node is started without its list', async t => {
  const {api, caFile, list} = await startList(t);
  const [recorder, record] = [join(api.folder, 'recorder.cjs'), join(api.folder, 'flags')];
  await writeFile(recorder, `require('node:fs').writeFileSync(${JSON.stringify(record)}, process.execArgv.join(' '));`);

  await list({MFCTL_CACERT: caFile, NODE_OPTIONS: `--require ${recorder}`});

  t.is(await readFile(record, 'utf8'), '--use-openssl-ca');
});

test('what Node brings along is named where no other certificate is, and the environment stays as it was', async t => {
  const trust = new URL('client/trust.ts', cli);
  const script = `
    import {rootCertificates} from 'node:tls';
    import {trusting} from ${JSON.stringify(trust.href)};
    const {ca} = trusting(undefined);
    const {SSL_CERT_FILE, SSL_CERT_DIR} = process.env;
    console.log(JSON.stringify([ca.length === rootCertificates.length, ca.length > 50, trusting('x'), SSL_CERT_FILE, SSL_CERT_DIR ?? null]));
  `;
  const env = {...cleanEnvironment(), SSL_CERT_FILE: '/some/file', SSL_CERT_DIR: undefined};

  const {stdout} = await promisify(execFile)(
    process.execPath,
    ['--use-openssl-ca', '--import=tsx', '--input-type=module', '-e', script],
    {env},
  );

  t.deepEqual(JSON.parse(stdout), [true, true, {ca: 'x'}, '/some/file', null]);
});
