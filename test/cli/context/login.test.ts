// Trust decisions of a login, and that no key is sent to an untrusted server.
import {X509Certificate} from 'node:crypto';
import {readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {PassThrough} from 'node:stream';
import test, {type ExecutionContext} from 'ava';
import {run} from '../../../cli/program.ts';
import {createAuthority, issueLeaf, type KeyAndCertificate} from '../../../daemon/cluster/certificates.ts';
import {selfSigned} from '../../helpers/certificate.ts';
import {createFakeTerminal} from '../../helpers/cli/fake-terminal.ts';
import {key} from '../../helpers/cli/sample-records.ts';
import {startApi} from '../../helpers/cli/scripted-api.ts';
import {listening} from '../../helpers/listening.ts';

const me = {...key, permissions: ['me:read'], node_id: 'mx1'};
const keyText = `mfk_${'0'.repeat(38)}`;

interface Chain {
  ca: KeyAndCertificate;
  leaf: KeyAndCertificate;
}

const newChain = async (hosts = ['localhost'], nowMs = Date.now()): Promise<Chain> => {
  const ca = await createAuthority(nowMs);
  return {ca, leaf: await issueLeaf(ca, {commonName: 'mx1', hosts}, nowMs)};
};

const withCa = ({leaf, ca}: Chain): KeyAndCertificate => ({key: leaf.key, cert: `${leaf.cert}\n${ca.cert}`});

const arrange = async (t: ExecutionContext, tls?: KeyAndCertificate, nodeId = 'mx1') => {
  const api = await startApi(t, {'GET /auth/me': {data: {...me, node_id: nodeId}}}, tls);
  const env = {XDG_CONFIG_HOME: api.folder, MFCTL_API_KEY: '', MFCTL_CACERT: '', MFCTL_URL: ''};
  return {
    ...api,
    env,
    folder: join(api.folder, 'mfctl'),
    /** With the key in the environment. */
    login: async (...args: string[]) => api.mfctl(['login', api.url, ...args], {env: {...env, MFCTL_API_KEY: keyText}}),
    /** At another server, into the same contexts. */
    loginTo: async (url: string, apiKey: string) => api.mfctl(['login', url, '--yes'], {env: {...env, MFCTL_API_KEY: apiKey}}),
    mfctl: async (...args: string[]) => api.mfctl(args, {env}),
    /** On a terminal, where each answer is typed after its question. */
    type: async (answers: string[], ...args: string[]) => {
      const terminal = createFakeTerminal({env: {...api.env, ...env}, columns: 200});
      const stdin = Object.assign(new PassThrough(), {isTTY: true});
      const left = [...answers];
      const write = terminal.stderr.write.bind(terminal.stderr);
      terminal.stderr.write = ((text: string) => {
        if (/(\[y\/N\]|API key:) $/.test(text)) setImmediate(() => stdin.write(left.shift() ?? ''));
        return write(text);
      }) as typeof write;
      const code = await run(['login', api.url, ...args], {...terminal, stdin});
      return {code, stdout: terminal.out(), stderr: terminal.err()};
    },
  };
};

const fingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256;

test('a person is shown the certificate and the authority, asked about it, and asked for the key, which is not shown', async t => {
  const chain = await newChain();
  const api = await arrange(t, withCa(chain));

  const {code, stdout, stderr} = await api.type(['yes\n', `${keyText}\n`]);
  const used = await api.mfctl('whoami');

  t.is(code, 0, stderr);
  t.true(stderr.includes(fingerprint(chain.leaf.cert)) && stderr.includes(fingerprint(chain.ca.cert)));
  t.regex(stderr, /Names: +localhost\n/);
  t.regex(stderr, /\[y\/N\] (yes)?\n?.*API key: \n/s);
  t.false((stdout + stderr).includes(keyText));
  t.regex(stdout, /^Context: +mx1\n/);
  t.is(used.code, 0);
  t.is(await readFile(join(api.folder, 'mx1.ca.pem'), 'utf8'), chain.ca.cert.trimEnd().concat('\n'));
});

test('a server that is not trusted gets no key, and nothing is kept', async t => {
  const api = await arrange(t, withCa(await newChain()));

  const refused = await api.type(['n\n', `${keyText}\n`]);
  const nobody = await api.login();

  t.deepEqual([refused.code, nobody.code], [3, 2]);
  t.regex(nobody.stderr, /hint: compare, and repeat with --fingerprint SHA256/);
  t.is(api.requests.length, 0);
  await t.throwsAsync(readdir(api.folder), {code: 'ENOENT'});
});

test('a fingerprint answers for the person, in every form it is written in, of the authority or of the certificate', async t => {
  const chain = await newChain();
  const api = await arrange(t, withCa(chain));
  const ca = fingerprint(chain.ca.cert);

  for (const given of [
    ca,
    ca.replaceAll(':', '').toLowerCase(),
    `sha256:${ca}`,
    `SHA256 Fingerprint=${ca}`,
    fingerprint(chain.leaf.cert),
  ]) {
    const {code, stderr} = await api.login('--fingerprint', given);
    t.is(code, 0, stderr);
  }
  const other = await api.login('--fingerprint', 'ab'.repeat(32), '--yes');
  const none = await api.login('--fingerprint', 'abc');

  t.is(other.code, 7);
  t.regex(other.stderr, /\(tls_changed\)/);
  t.is(none.code, 2);
  t.is(api.requests.length, 5);
});

test('the authority is what is trusted: a renewed certificate is none of its business', async t => {
  const chain = await newChain();
  const api = await arrange(t, withCa(chain));
  await api.login('--yes');

  api.setCertificate(withCa({...chain, leaf: await issueLeaf(chain.ca, {commonName: 'mx1', hosts: ['localhost']}, Date.now())}));
  const renewed = await api.mfctl('whoami');
  api.setCertificate(withCa(await newChain()));
  const changed = await api.mfctl('whoami');

  t.is(renewed.code, 0);
  t.is(changed.code, 7);
  t.regex(
    changed.stderr,
    /not of the authority trusted at login \(sha256:[0-9a-f]{64}\); the key was not sent \(tls_changed\)\nhint: .*mfctl login/,
  );
  t.is(api.requests.length, 2);
});

test('a certificate without its authority is trusted alone, and only while the server shows it', async t => {
  const chain = await newChain();
  const api = await arrange(t, chain.leaf);

  const login = await api.login('--yes');
  const used = await api.mfctl('whoami');
  api.setCertificate(await issueLeaf(chain.ca, {commonName: 'mx1', hosts: ['localhost']}, Date.now()));
  const renewed = await api.mfctl('whoami');

  t.deepEqual([login.code, used.code, renewed.code], [0, 0, 7]);
  t.regex(login.stderr, /No authority was sent with it/);
  t.regex(renewed.stderr, /tls_changed/);
});

test('an authority that only has the name of the one that signed vouches for nobody', async t => {
  const chain = await newChain();
  const {subject} = new X509Certificate(chain.ca.cert);
  const namesake = await selfSigned(subject.replace(/^CN=/, ''));
  const api = await arrange(t, {key: chain.leaf.key, cert: `${chain.leaf.cert}\n${namesake.cert}`});

  const {code, stderr} = await api.login('--fingerprint', fingerprint(namesake.cert));

  t.is(code, 7);
  t.false(stderr.includes('Signed by'));
  t.is(api.requests.length, 0);
});

test('another name and another time cannot be trusted away', async t => {
  const named = await arrange(t, withCa(await newChain(['mx9.example.com'])));
  const expired = await arrange(t, withCa(await newChain(['localhost'], Date.now() - 200 * 86_400_000)));

  const wrongName = await named.login('--yes');
  const tooOld = await expired.login('--yes');

  t.regex(wrongName.stderr, /Names: +mx9\.example\.com\n.*\(tls_wrong_name\)/s);
  t.regex(tooOld.stderr, /has expired; no key was sent \(tls_expired\)\nhint: compare the clocks.*tls\/ca\.key/s);
  t.deepEqual([wrongName.code, tooOld.code], [7, 7]);
  t.is(named.requests.length + expired.requests.length, 0);
});

test('an authority that was named is not asked about, is kept by its path, and another one is refused', async t => {
  const chain = await newChain();
  const api = await arrange(t, withCa(chain));
  const [right, wrong] = [join(api.env.XDG_CONFIG_HOME, 'right.pem'), join(api.env.XDG_CONFIG_HOME, 'wrong.pem')];
  await writeFile(right, chain.ca.cert);
  await writeFile(wrong, (await newChain()).ca.cert);

  const trusted = await api.login('--cacert', right);
  const refused = await api.login('--cacert', wrong, '--yes');

  t.is(trusted.code, 0);
  t.regex(trusted.stderr, /trusted already, by .*right\.pem/);
  const [context] = JSON.parse((await api.mfctl('context', 'list', '-o', 'json')).stdout);
  t.like(context, {name: 'mx1', cacert: right, fingerprint: null, current: true});
  t.is(refused.code, 7);
  t.regex(refused.stderr, /\(tls_untrusted\)\nhint: leave out --cacert/);
  t.is(api.requests.length, 1);
});

test('a key that is refused is not kept', async t => {
  const api = await startApi(
    t,
    {'GET /auth/me': {status: 401, error: {code: 'key_invalid', detail: 'the API key is not known here'}}},
    withCa(await newChain()),
  );

  const {code} = await api.mfctl(['login', api.url, '--yes'], {env: {MFCTL_CACERT: '', MFCTL_API_KEY: keyText}});

  t.is(code, 4);
  await t.throwsAsync(readdir(join(api.folder, 'mfctl')), {code: 'ENOENT'});
});

test('a context that is named, for another address, is replaced only when that is agreed to', async t => {
  const api = await arrange(t, withCa(await newChain()));
  const {XDG_CONFIG_HOME} = api.env;
  await api.mfctl('context', 'add', 'mx1', '--url', 'https://elsewhere.example:8443');
  const urlOf = async () => (await readFile(join(XDG_CONFIG_HOME, 'mfctl', 'config.yaml'), 'utf8')).includes(api.url);

  const asked = await api.type(['y\n', `${keyText}\n`, 'n\n'], '--name', 'mx1');
  const kept = !(await urlOf());
  const beside = await api.login('--yes', '--name', 'other');
  const agreed = await api.login('--yes', '--name', 'mx1');

  t.deepEqual([asked.code, kept, beside.code, agreed.code], [3, true, 0, 0]);
  t.true(await urlOf());
});

test('a node of another cluster that has the same id gets a context of its own, and the first one keeps address, key and CA', async t => {
  const [first, second] = [await newChain(), await newChain()];
  const api = await arrange(t, withCa(first));
  const other = await startApi(t, {'GET /auth/me': {data: me}}, withCa(second));
  const otherKey = `mfk_${'1'.repeat(38)}`;
  await api.login('--yes');

  const made = await api.loginTo(other.url, otherKey);
  const again = await api.loginTo(other.url, otherKey);

  t.is(made.code, 0, made.stderr);
  t.regex(made.stdout, /^Context: +mx1-2\n/);
  t.regex(made.stderr, /^now using mx1-2, as there is a context mx1 already\n/m);
  t.regex(again.stdout, /^Context: +mx1-2\n/, 'the second login to it updates its context');
  const contexts = JSON.parse((await api.mfctl('context', 'list', '-o', 'json')).stdout);
  t.deepEqual(
    contexts.map(({name, url, current}: Record<string, unknown>) => [name, url, current]),
    [
      ['mx1', api.url, false],
      ['mx1-2', other.url, true],
    ],
  );
  const keys = await readFile(join(api.folder, 'keys.yaml'), 'utf8');
  t.true(keys.includes(`mx1: ${keyText}`) && keys.includes(`mx1-2: ${otherKey}`), keys);
  t.is((await readFile(join(api.folder, 'mx1.ca.pem'), 'utf8')).trim(), first.ca.cert.trim());
});

test('a login to the same cluster by another address updates its context', async t => {
  const chain = await newChain();
  const api = await arrange(t, withCa(chain));
  const other = await startApi(t, {'GET /auth/me': {data: me}}, withCa(chain));
  await api.login('--yes');

  const {stdout, stderr} = await api.loginTo(other.url, keyText);

  t.regex(stdout, /^Context: +mx1\n/);
  t.regex(stderr, /^now using mx1$/m);
});

test('a node that calls itself something odd needs a name for its context', async t => {
  const api = await arrange(t, withCa(await newChain()), '../../evil');

  const odd = await api.login('--yes');
  const named = await api.login('--yes', '--name', 'fine');

  t.deepEqual([odd.code, named.code], [2, 0]);
  t.deepEqual((await readdir(api.folder)).sort(), ['config.yaml', 'fine.ca.pem', 'keys.yaml']);
});

test('a stored authority goes with its context, and one that was exchanged is noticed before anything is asked', async t => {
  const api = await arrange(t, withCa(await newChain()));
  await api.login('--yes');
  await api.login('--yes', '--name', 'two');

  await api.mfctl('context', 'remove', 'mx1');
  const left = await readdir(api.folder);
  await writeFile(join(api.folder, 'two.ca.pem'), (await newChain()).ca.cert);
  const exchanged = await api.mfctl('whoami');
  await api.mfctl('context', 'add', 'two', '--url', api.url);

  t.deepEqual(left.sort(), ['config.yaml', 'keys.yaml', 'two.ca.pem']);
  t.is(exchanged.code, 7);
  t.regex(exchanged.stderr, /two\.ca\.pem is not what was trusted for the context two \(tls_changed\)/);
  t.deepEqual((await readdir(api.folder)).sort(), ['config.yaml', 'keys.yaml']);
});

test('an authority that somebody added to the file of the trusted one vouches for nobody', async t => {
  const chain = await newChain();
  const api = await arrange(t, withCa(chain));
  await api.login('--yes');
  const other = await newChain();
  const file = join(api.folder, 'mx1.ca.pem');
  await writeFile(file, `${await readFile(file, 'utf8')}\n${other.ca.cert}`);

  const same = await api.mfctl('whoami');
  api.setCertificate(withCa(other));
  const added = await api.mfctl('whoami');

  t.is(same.code, 0, same.stderr);
  t.is(added.code, 7);
  t.regex(added.stderr, /tls_changed/);
});

test('removing a context by an odd name removes no other file', async t => {
  const api = await arrange(t, withCa(await newChain()));
  await api.login('--yes');
  await writeFile(join(api.env.XDG_CONFIG_HOME, 'x.ca.pem'), 'mine');

  const {code} = await api.mfctl('context', 'remove', '../x');

  t.is(code, 2);
  t.is(await readFile(join(api.env.XDG_CONFIG_HOME, 'x.ca.pem'), 'utf8'), 'mine');
});

test('a server that speaks no TLS is distinguished from one that is not there', async t => {
  const {createServer} = await import('node:net');
  const plain = createServer(socket => socket.end('220 mail\r\n'));
  const port = await listening(t, plain);
  const api = await arrange(t);
  const env = {...api.env, MFCTL_API_KEY: keyText};
  const {runCli} = await import('../../helpers/cli/fake-terminal.ts');

  const mail = await runCli(['login', `https://127.0.0.1:${port}`], {env});
  const absent = await runCli(['login', 'https://127.0.0.1:1'], {env});

  t.deepEqual([mail.code, absent.code], [7, 7]);
  t.regex(mail.stderr, /\(tls_failed\)/);
  t.regex(absent.stderr, /\(unreachable\)/);
});
