import {execFile} from 'node:child_process';
import {chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createContextStore} from '../../../cli/files/context-store.ts';
import {runCli} from '../../helpers/cli/fake-terminal.ts';

const mfctl = join(import.meta.dirname, '../../../bin/mfctl');
const key = `mfk_${'0'.repeat(38)}`;

const newHome = async (t: ExecutionContext) => {
  const home = await mkdtemp(join(tmpdir(), 'mfctl-context-'));
  t.teardown(() => rm(home, {recursive: true}));
  return {env: {XDG_CONFIG_HOME: home}, folder: join(home, 'mfctl')};
};

const add = (env: Record<string, string>, name: string, ...rest: string[]) =>
  runCli(['context', 'add', name, '--url', `https://${name}.example:8443`, '--api-key-file', '-', ...rest], {
    env,
    input: `${key}\n`,
  });

test('the first context becomes current, a later one only with --use', async t => {
  const {env} = await newHome(t);

  await add(env, 'mx1');
  await add(env, 'mx2');
  const before = await createContextStore({env}).read();
  await add(env, 'mx3', '--use');
  const after = await createContextStore({env}).read();

  t.is(before.current, 'mx1');
  t.is(after.current, 'mx3');
  t.deepEqual(
    after.contexts.map(({name}) => name),
    ['mx1', 'mx2', 'mx3'],
  );
});

test('the key is kept apart, for its owner alone, and is never printed', async t => {
  const {env, folder} = await newHome(t);

  const {stdout, stderr} = await add(env, 'mx1');
  const listed = await runCli(['context', 'list', '-o', 'json'], {env});

  t.is((await stat(join(folder, 'keys.yaml'))).mode & 0o777, 0o600);
  t.is((await stat(folder)).mode & 0o777, 0o700);
  t.true((await readFile(join(folder, 'keys.yaml'), 'utf8')).includes(key));
  t.false((await readFile(join(folder, 'config.yaml'), 'utf8')).includes(key));
  t.false([stdout, stderr, listed.stdout].some(text => text.includes(key)));
});

test('a keys file that others could read is closed to them when it is next written', async t => {
  const {env, folder} = await newHome(t);
  await add(env, 'mx1');
  await chmod(join(folder, 'keys.yaml'), 0o644);

  await add(env, 'mx2');

  t.is((await stat(join(folder, 'keys.yaml'))).mode & 0o777, 0o600);
});

test('adding a name again replaces it, says so, and forgets the key of another node', async t => {
  const {env} = await newHome(t);
  await add(env, 'mx1');

  const same = await runCli(['context', 'add', 'mx1', '--url', 'https://mx1.example:8443'], {env});
  const kept = await createContextStore({env}).keyOf('mx1');
  const other = await runCli(['context', 'add', 'mx1', '--url', 'https://elsewhere.example:8443'], {env});
  const gone = await createContextStore({env}).keyOf('mx1');

  t.deepEqual([same.code, other.code], [0, 0]);
  t.regex(other.stderr, /replaced mx1, which was https:\/\/mx1\.example:8443/);
  t.is(kept, key);
  t.is(gone, undefined);
});

test('removing a context removes its key, and leaves none current', async t => {
  const {env, folder} = await newHome(t);
  await add(env, 'mx1');

  const removed = await runCli(['context', 'remove', 'mx1'], {env});
  const again = await runCli(['context', 'remove', 'mx1'], {env});

  t.is(removed.code, 0);
  t.is(again.code, 2);
  t.false((await readFile(join(folder, 'keys.yaml'), 'utf8')).includes(key));
  t.is((await createContextStore({env}).read()).current, undefined);
});

test('context use takes known names only', async t => {
  const {env} = await newHome(t);
  await add(env, 'mx1');
  await add(env, 'mx2');

  const known = await runCli(['context', 'use', 'mx2'], {env});
  const unknown = await runCli(['context', 'use', 'mx9'], {env});

  t.is(known.code, 0);
  t.is(unknown.code, 2);
  t.is((await createContextStore({env}).read()).current, 'mx2');
});

test('context list marks the current one and gives absolute certificate paths', async t => {
  const {env, folder} = await newHome(t);
  const pem = join(folder, '..', 'ca.pem');
  await writeFile(pem, '-----BEGIN CERTIFICATE-----\n');
  await add(env, 'mx1', '--cacert', pem);

  const table = await runCli(['context', 'list'], {env});
  const json = await runCli(['context', 'list', '-o', 'json'], {env});

  t.regex(table.stdout, /^CURRENT {2}NAME {2}URL .*\n\* {8}mx1 {3}https:\/\/mx1\.example:8443/);
  t.deepEqual(JSON.parse(json.stdout), [
    {
      ...{name: 'mx1', current: true, url: 'https://mx1.example:8443', urls: ['https://mx1.example:8443']},
      ...{cacert: join(pem), fingerprint: null, metrics_url: null},
    },
  ]);
});

test('a certificate that cannot be read is refused when the context is added', async t => {
  const {env} = await newHome(t);

  const {code, stderr} = await add(env, 'mx1', '--cacert', '/nonexistent/ca.pem');

  t.is(code, 1);
  t.regex(stderr, /cannot read \/nonexistent\/ca\.pem: no such file or folder/);
});

test('an empty key and the contents of a wrong file are refused', async t => {
  const {env} = await newHome(t);

  for (const input of ['\n', 'two words\n', 'line\nline\n']) {
    const {code} = await runCli(['context', 'add', 'x', '--url', 'https://x.example', '--api-key-file', '-'], {env, input});

    t.is(code, 2);
  }
});

test('a broken file is named and left as it is', async t => {
  const {env, folder} = await newHome(t);
  await mkdir(folder);
  const file = join(folder, 'config.yaml');

  for (const text of ['contexts: [', 'contexts: 5\n', '- a\n', 'contexts: {a: {}}\n']) {
    await writeFile(file, text);

    const {code, stderr} = await add(env, 'mx1');

    t.is(code, 1, text);
    t.true(stderr.includes(file));
    t.is(await readFile(file, 'utf8'), text);
  }
});

test('comments and a symbolic link survive a change', async t => {
  const {env, folder} = await newHome(t);
  await mkdir(folder);
  const real = join(folder, '..', 'dotfile.yaml');
  await writeFile(real, '# mine\ncurrent: a\ncontexts:\n  a: # the old one\n    url: https://a.example\n');
  await symlink(real, join(folder, 'config.yaml'));

  await add(env, 'mx1');

  const text = await readFile(real, 'utf8');
  t.true(text.includes('# mine') && text.includes('# the old one') && text.includes('mx1:'));
});

test('a lock left by a process that died is broken', async t => {
  const {env, folder} = await newHome(t);
  await mkdir(folder);
  await writeFile(join(folder, 'lock'), 'dead');
  await utimes(join(folder, 'lock'), new Date(0), new Date(0));

  const {code} = await add(env, 'mx1');

  t.is(code, 0);
  t.deepEqual((await readdir(folder)).sort(), ['config.yaml', 'keys.yaml']);
});

test('twenty processes that add contexts at once lose none of them', async t => {
  const {env, folder} = await newHome(t);
  const names = Array.from({length: 20}, (_, at) => `mx${at}`);

  const codes = await Promise.all(
    names.map(
      name =>
        new Promise<number | null>(resolve => {
          const argv = [mfctl, 'context', 'add', name, '--url', `https://${name}.example`, '--api-key-file', '-', '--use'];
          const child = execFile(process.execPath, argv, {env: {...process.env, ...env}}, () => resolve(child.exitCode));
          child.stdin?.end(`${key}\n`);
        }),
    ),
  );

  const store = createContextStore({env});
  const {contexts} = await store.read();
  t.true(codes.every(code => code === 0));
  t.deepEqual(contexts.map(({name}) => name).sort(), [...names].sort());
  for (const name of names) t.is(await store.keyOf(name), key);
  t.deepEqual((await readdir(folder)).sort(), ['config.yaml', 'keys.yaml']);
});

test('with --keep a context that has the name stays, with its key, and the new one is called NAME-2', async t => {
  const {env} = await newHome(t);
  const otherKey = `mfk_${'1'.repeat(38)}`;
  const keep = (name: string) =>
    runCli(['context', 'add', name, '--url', 'https://new.example:8443', '--api-key-file', '-', '--use', '--keep'], {
      env,
      input: `${otherKey}\n`,
    });
  const longName = 'm'.repeat(63);
  await add(env, 'mx1');
  await add(env, longName);

  const first = await keep('mx2');
  const second = await keep('mx1');
  const third = await keep('mx1');
  const long = await keep(longName);

  t.regex(first.stderr, /^added mx2\n/);
  t.regex(second.stderr, /^added mx1-2, as there is a context mx1 already\n/);
  t.regex(third.stderr, /^added mx1-3, as there is a context mx1 already\n/);
  t.is(long.code, 0);
  const store = createContextStore({env});
  const {current, contexts} = await store.read();
  t.deepEqual(
    contexts.map(({name}) => name),
    ['mx1', longName, 'mx2', 'mx1-2', 'mx1-3', `${'m'.repeat(61)}-2`],
  );
  t.is(contexts[0]?.url, 'https://mx1.example:8443');
  t.is(current, `${'m'.repeat(61)}-2`);
  t.is(await store.keyOf('mx1'), key);
  t.is(await store.keyOf('mx1-2'), otherKey);
});
