// The section `store` of mfd.yaml.
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {stringify} from 'yaml';
import {ConfigError, readConfig} from '../../../daemon/config/load.ts';
import {storeSettings} from '../../../daemon/config/store-settings.ts';
import {testFolder} from '../../helpers/test-folder.ts';

const read = async (store: object, environment: Record<string, string> = {}) =>
  readConfig(stringify({store}), 'mfd.yaml', environment);

const settingsOf = async (url: string) => storeSettings(await read({url}));

const faultIn = async (t: ExecutionContext, store: object): Promise<string> =>
  (await t.throwsAsync(read(store), {instanceOf: ConfigError}, stringify(store)))?.message ?? '';

test('without store.url a node has a store of its own', async t => {
  t.is(storeSettings(await readConfig('', 'mfd.yaml', {})), undefined);
});

const tcp = {host: 'db.example.com', port: 5432, database: 'mfd', user: 'mfd'};
const socket = {host: '/run/postgresql', port: 5432, database: 'mfd', user: 'mfd'};
const addresses: Record<string, object> = {
  'postgres://mfd@db.example.com/mfd': tcp,
  'postgresql://mfd@db.example.com/mfd': tcp,
  'postgres://mfd@db.example.com:/mfd': tcp,
  'postgres://db.example.com/mfd?user=mfd': tcp,
  'postgres://mfd@db.example.com:5433/mfd': {...tcp, port: 5433},
  'postgres://mfd@192.0.2.1/mfd': {...tcp, host: '192.0.2.1'},
  'postgres://mfd@[2001:db8::1]:6543/mfd': {...tcp, host: '2001:db8::1', port: 6543},
  'postgres://m%40f%2Fd%3A@db.example.com/it%27s%20a%2Fb%25': {...tcp, user: 'm@f/d:', database: "it's a/b%"},
  'postgres://mfd@db.example.com/m f': {...tcp, database: 'm f'},
  'postgres:///mfd?host=/run/postgresql&user=mfd': socket,
  'postgres:///mfd?user=mfd&host=%2Frun%2Fpostgresql&port=5433': {...socket, port: 5433},
  'postgresql:///m%20f?host=/run/postgresql&user=m%26f': {...socket, database: 'm f', user: 'm&f'},
};
for (const [url, address] of Object.entries(addresses))
  test(`store.url is read: ${url}`, async t => {
    t.like(await settingsOf(url), address);
  });

const wrong: Record<string, RegExp> = {
  '': /must be postgres:\/\/USER@HOST/,
  'mysql://mfd@db/mfd': /must be postgres:\/\/USER@HOST/,
  'postgres:mfd@db/mfd': /must be postgres:\/\/USER@HOST/,
  'db.example.com:5432': /must be postgres:\/\/USER@HOST/,
  'postgres://db/mfd': /must name a user/,
  'postgres://mfd@db': /must name a database/,
  'postgres://mfd@db/': /must name a database/,
  'postgres://mfd@db/a/b': /must name one database/,
  'postgres://mfd@db:0/mfd': /a port between 1 and 65535/,
  'postgres://mfd@db:65536/mfd': /must be postgres:\/\/USER@HOST/,
  'postgres://mfd@a,b/mfd': /must name a host name or an address/,
  'postgres://mfd@999.1.1.1/mfd': /must name a host name or an address/,
  'postgres:///mfd?user=mfd': /must name a host/,
  'postgres:///mfd?host=run&user=mfd': /parameter host that is not an absolute path/,
  'postgres:///mfd?host=/run&user=mfd&port=x': /parameter port/,
  'postgres:///mfd?host=/run&user=a&user=b': /parameter user twice/,
  'postgres:///mfd?host=/run': /must name a user/,
  'postgres://mfd@db/mfd?sslmode=disable': /has the parameter sslmode, which is unknown here/,
  'postgres://mfd@db/mfd?host=other': /has the parameter host, which is unknown here/,
  'postgres://mfd@db/mfd?user=other': /has the parameter user, which is unknown here/,
  'postgres://mfd@db/m%zz': /names a database with a % that is not followed/,
  'postgres://mfd@db/mfd%00options': /names a database with a control character/,
  'postgres:///mfd?host=/run&user=a%0Ab': /names a user with a control character/,
  'postgres://mfd@db/mfd#1': /must not contain #/,
};
for (const [url, message] of Object.entries(wrong))
  test(`store.url is refused with what to correct: ${url || '(empty)'}`, async t => {
    const said = await faultIn(t, {url});

    t.true(said.startsWith('mfd.yaml:2: store.url '), said);
    t.regex(said, message);
  });

const withPassword = [
  'postgres://mfd:hunter2@db/mfd',
  'postgres://mfd:hunter2@db',
  'postgres://:hunter2@db/mfd',
  'postgres://mfd@db/mfd?password=hunter2',
  'postgres:///mfd?host=/run&user=mfd&password=hunter2',
  'mysql://mfd:hunter2@db/mfd',
];
for (const url of withPassword)
  test(`a password in store.url is refused, with the key for it: ${url}`, async t => {
    const said = await faultIn(t, {url});

    t.regex(said, /^mfd\.yaml:2: store\.url must not contain a password; .*store\.password_file$/);
    t.notRegex(said, /hunter2/);
  });

for (const url of [
  'postgres://mfd:hunter2@/mfd',
  'postgres://mfd:hun#ter2@db/mfd',
  'postgres://mfd:12?hunter2@db/mfd',
  'hunter2',
])
  test(`no error repeats the text, which may contain a password: ${url}`, async t => {
    t.notRegex(await faultIn(t, {url}), /hun|ter2/);
  });

test('a password in the variable is refused by its name', async t => {
  const error = await t.throwsAsync(read({}, {MFD_STORE_URL: 'postgres://mfd:hunter2@db/mfd'}), {instanceOf: ConfigError});

  t.regex(error?.message ?? '', /^MFD_STORE_URL: store\.url must not contain a password/);
  t.notRegex(error?.message ?? '', /hunter2/);
});

test('the files of a store are nothing without its address', async t => {
  t.regex(await faultIn(t, {password_file: '/p'}), /^mfd\.yaml:2: store\.password_file needs store\.url, such as postgres:/);
  t.regex(await faultIn(t, {ca_file: '/p'}), /^mfd\.yaml:2: store\.ca_file needs store\.url/);
});

test('password and authority are read from files, and variables override each key', async t => {
  const folder = await testFolder(t);
  const [password, ca] = [join(folder, 'password'), join(folder, 'ca.pem')];
  await writeFile(password, `it's 100%/@"$5"\n`);
  await writeFile(ca, 'PEM\n');
  const variables = {MFD_STORE_URL: 'postgres://mfd@127.0.0.1/mfd', MFD_STORE_PASSWORD_FILE: password, MFD_STORE_POOL: '3'};

  t.deepEqual(storeSettings(await read({url: 'postgres://a@b/c', ca_file: ca}, variables)), {
    ...{host: '127.0.0.1', port: 5432, database: 'mfd', user: 'mfd'},
    ...{password: `it's 100%/@"$5"`, ca: 'PEM', hasTls: true, pool: 3},
  });
  t.regex(
    await faultIn(t, {url: 'postgres://a@b/c', password_file: join(folder, 'x')}),
    /store\.password_file: .* does not exist$/,
  );
});

test('only what stays on the machine goes without TLS', async t => {
  const hasTls = async (url: string) => (await settingsOf(url))?.hasTls;

  for (const host of ['localhost', '127.0.0.1', '[::1]']) t.false(await hasTls(`postgres://mfd@${host}/mfd`), host);
  for (const host of ['db', '192.0.2.1', '[2001:db8::1]', 'localhost.example.com'])
    t.true(await hasTls(`postgres://mfd@${host}/mfd`), host);
  t.false(await hasTls('postgres:///mfd?host=/run&user=mfd'));
});

test('the pool has 2 to 100 connections, and 10 by default', async t => {
  t.is((await settingsOf('postgres://a@b/c'))?.pool, 10);
  t.regex(await faultIn(t, {pool: 1}), /store\.pool must be at least 2/);
  t.regex(await faultIn(t, {pool: 101}), /store\.pool must be at most 100/);
});
