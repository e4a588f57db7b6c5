import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {type ConnectionFlags, checkedUrl, resolveConnection, typedUrl} from '../../../cli/client/connection.ts';
import {createContextStore} from '../../../cli/files/context-store.ts';
import {createFakeTerminal} from '../../helpers/cli/fake-terminal.ts';

const pem = (name: string) => `-----BEGIN CERTIFICATE-----\n${name}\n`;

const resolveWith = async (flags: ConnectionFlags, env: Record<string, string> = {}, input = '') => {
  const home = await mkdtemp(join(tmpdir(), 'mfctl-connection-'));
  for (const name of ['context', 'env', 'flag']) {
    await writeFile(join(home, `${name}.pem`), pem(name));
    await writeFile(join(home, `${name}.key`), `mfk_${name}\n`);
  }
  const at = (text: string) => text.replace('HOME', home);
  const terminal = createFakeTerminal({
    env: {XDG_CONFIG_HOME: home, ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, at(value)]))},
    input,
  });
  const store = createContextStore(terminal);
  await store.put(
    {name: 'one', url: 'https://context:1', cacert: join(home, 'context.pem')},
    {key: 'mfk_context', makeCurrent: true},
  );
  await store.put({name: 'two', url: 'https://two:1'}, {key: 'mfk_two', makeCurrent: false});
  const given = Object.fromEntries(Object.entries(flags).map(([name, value]) => [name, at(value)]));
  const {baseUrl, apiKey, ca} = await resolveConnection(terminal, given, store).finally(() => rm(home, {recursive: true}));
  return {url: baseUrl.href, apiKey, ca};
};

const allEnv = {MFCTL_URL: 'https://env:1', MFCTL_API_KEY_FILE: 'HOME/env.key', MFCTL_CACERT: 'HOME/env.pem'};

test('the current context gives what nothing else does', async t => {
  t.deepEqual(await resolveWith({}), {url: 'https://context:1/api/v1/', apiKey: 'mfk_context', ca: pem('context')});
});

test('the environment goes before the context', async t => {
  t.deepEqual(await resolveWith({}, allEnv), {url: 'https://env:1/api/v1/', apiKey: 'mfk_env', ca: pem('env')});
});

test('flags go before the environment', async t => {
  const flags = {url: 'https://flag:1', apiKeyFile: 'HOME/flag.key', cacert: 'HOME/flag.pem'};

  t.deepEqual(await resolveWith(flags, {...allEnv, MFCTL_API_KEY: 'mfk_literal'}), {
    url: 'https://flag:1/api/v1/',
    apiKey: 'mfk_flag',
    ca: pem('flag'),
  });
});

test('each setting is looked up separately', async t => {
  t.deepEqual(await resolveWith({url: 'https://flag:1'}, {MFCTL_API_KEY: 'mfk_literal'}), {
    url: 'https://flag:1/api/v1/',
    apiKey: 'mfk_literal',
    ca: pem('context'),
  });
});

test('a context is chosen by flag, then by environment', async t => {
  t.is((await resolveWith({context: 'two'}, {MFCTL_CONTEXT: 'one'})).apiKey, 'mfk_two');
  t.is((await resolveWith({}, {MFCTL_CONTEXT: 'two'})).apiKey, 'mfk_two');
  await t.throwsAsync(resolveWith({context: 'three'}), {message: /three/});
});

test('an empty variable is as good as none', async t => {
  t.is((await resolveWith({}, {MFCTL_URL: '', MFCTL_API_KEY: '', MFCTL_CONTEXT: ''})).url, 'https://context:1/api/v1/');
});

test('the key is read from standard input', async t => {
  t.is((await resolveWith({apiKeyFile: '-'}, {}, 'mfk_input\n')).apiKey, 'mfk_input');
  await t.throwsAsync(resolveWith({apiKeyFile: '-'}, {}, '\n'), {message: /standard input is empty: there is no API key$/});
});

test('an address may have a path and a slash at its end, and must be HTTPS without credentials', t => {
  t.is(checkedUrl('https://mx1:8443/'), 'https://mx1:8443');
  t.is(checkedUrl('https://proxy.example/mfd/'), 'https://proxy.example/mfd');
  t.is(checkedUrl('https://mx1:8443/api/v1/'), 'https://mx1:8443');
  for (const url of ['mx1:8443', 'http://mx1:8443', 'https://user:pw@mx1', 'https://mx1?x=1', 'ftp://mx1', ''])
    t.throws(() => checkedUrl(url));
});

test('a name alone, or with a port, is an address everywhere, as it is for login', async t => {
  t.is(typedUrl('mx1.example'), 'https://mx1.example:8443');
  t.is(typedUrl('localhost:9443'), 'https://localhost:9443');
  t.is((await resolveWith({url: 'localhost'}, {})).url, 'https://localhost:8443/api/v1/');
  t.is((await resolveWith({}, {MFCTL_URL: 'localhost'})).url, 'https://localhost:8443/api/v1/');
});

test('an unusable setting is reported with its source', async t => {
  const wrong: [ConnectionFlags, Record<string, string>, RegExp][] = [
    [{url: 'non sense'}, {}, /: --url: "non sense" is not the address of a node$/],
    [{}, {MFCTL_URL: 'http://mx1'}, /: MFCTL_URL: "http:\/\/mx1" is not the address of a node$/],
    [{cacert: '/nonexistent'}, {}, /: --cacert: cannot read \/nonexistent: no such file or folder$/],
    [{cacert: 'HOME/flag.key'}, {}, /: --cacert: \S+\/flag\.key holds no PEM certificate$/],
    [{}, {MFCTL_CACERT: '/nonexistent'}, /: MFCTL_CACERT: cannot read \/nonexistent/],
  ];

  for (const [flags, env, message] of wrong) await t.throwsAsync(resolveWith(flags, env), {message});
});

test('a password in an address is not shown', t => {
  const error = t.throws(() => checkedUrl('https://admin:secret@mx1.example.com:8443'));

  t.regex(error?.message ?? '', /"https:\/\/…@mx1\.example\.com:8443" is not the address of a node/);
});
