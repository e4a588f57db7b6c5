// `npm run demo` as a first user runs it: what it starts, and that nothing is left however it ends.
import {type ChildProcess, spawn} from 'node:child_process';
import {mkdir, readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test, {type ExecutionContext} from 'ava';
import {eventually} from '../helpers/eventually.ts';
import {cleanEnvironment, mfctlFile, run} from '../helpers/program.ts';
import {testFolder} from '../helpers/store.ts';

const main = fileURLToPath(new URL('../demo/main.ts', import.meta.url));

/** A user with an own context and an own folder for temporary files. */
const arrange = async (t: ExecutionContext) => {
  const root = await testFolder(t);
  const tmp = join(root, 'tmp');
  await mkdir(tmp);
  const env = {XDG_CONFIG_HOME: join(root, 'config'), TMPDIR: tmp};
  const mfctl = async (...args: string[]) => run(mfctlFile, args, {env});
  await mfctl('context', 'add', 'mine', '--url', 'https://127.0.0.1:1');
  const contexts = async () => JSON.parse((await mfctl('context', 'list', '-o', 'json')).stdout);
  const before = await contexts();
  return {
    env,
    mfctl,
    contexts,
    config: join(root, 'config', 'mfctl', 'config.yaml'),
    async assertNothingIsLeft() {
      // tsx stores its compiled files there for later runs.
      t.deepEqual(
        (await readdir(tmp)).filter(name => !name.startsWith('tsx-')),
        [],
      );
      t.deepEqual(await processesNaming(tmp), []);
      t.deepEqual(await contexts(), before);
      t.false((await readFile(join(root, 'config', 'mfctl', 'keys.yaml'), 'utf8')).includes('mfk_'));
    },
  };
};

const startDemo = (t: ExecutionContext, env: Record<string, string>) => {
  const child: ChildProcess = spawn(process.execPath, ['--import=tsx', main], {
    env: {...cleanEnvironment(), ...env},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const ended = new Promise<number | NodeJS.Signals | null>(resolve => child.once('exit', (code, by) => resolve(code ?? by)));
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return {
    child,
    ended,
    output: () => output,
    printed: async (text: string) => {
      try {
        await eventually(() => output.includes(text), 60_000);
      } catch (error) {
        throw new Error(`the demo printed: ${output}`, {cause: error});
      }
    },
  };
};

const processesNaming = async (folder: string): Promise<string[]> => {
  const pids = (await readdir('/proc').catch(() => [])).filter(name => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map(async pid => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter(line => line.includes(folder));
};

test.serial('three contexts work, mail is held on all three nodes, and Ctrl-C leaves nothing behind', async t => {
  const {env, mfctl, contexts, assertNothingIsLeft} = await arrange(t);
  const {child, ended, printed} = startDemo(t, env);
  await printed('Ctrl-C ends');

  t.deepEqual(
    (await contexts()).filter(({current}: {current: boolean}) => current).map(({name}: {name: string}) => name),
    ['mine'],
  );
  for (const name of ['demo-alpha', 'demo-beta', 'demo-gamma']) {
    const {code, stdout} = await mfctl('-c', name, 'cluster', 'status', '-o', 'json');
    t.is(code, 0, name);
    t.is(JSON.parse(stdout).local_node_id, name);
    const held = await eventually(async () => {
      const list = JSON.parse((await mfctl('-c', name, 'quarantine', 'list', '-o', 'json')).stdout);
      return list.find(({node_id}: {node_id: string}) => node_id === name);
    });
    t.regex(held.recipients[0], /\.example$/);
  }
  t.is((await mfctl('context', 'use', 'demo-beta')).code, 0);
  child.kill('SIGINT');

  t.is(await ended, 0);
  await assertNothingIsLeft();
});

test.serial('two demos at once do not get in each other’s way', async t => {
  const {env, mfctl, contexts, assertNothingIsLeft} = await arrange(t);
  const [one, other] = [startDemo(t, env), startDemo(t, env)];
  await Promise.all([one.printed('Ctrl-C ends'), other.printed('Ctrl-C ends')]);

  const names = (await contexts()).map(({name}: {name: string}) => name);
  t.deepEqual(
    names.sort(),
    ['alpha', 'beta', 'gamma']
      .flatMap(name => [`demo-${name}`, `demo-${name}-2`])
      .concat('mine')
      .sort(),
  );
  for (const name of names.slice(0, -1)) t.is((await mfctl('-c', name, 'cluster', 'status')).code, 0, name);
  one.child.kill('SIGTERM');
  t.is(await one.ended, 0);
  t.is((await contexts()).length, 4);
  other.child.kill('SIGTERM');

  t.is(await other.ended, 0);
  await assertNothingIsLeft();
});

test.serial('a start that fails half-way says why, and leaves nothing behind', async t => {
  const {env, config, assertNothingIsLeft} = await arrange(t);
  const before = await readFile(config, 'utf8');
  await writeFile(config, 'contexts: [broken');

  const {ended, output} = startDemo(t, env);
  const code = await ended;
  await writeFile(config, before);

  t.is(code, 1);
  t.regex(output(), /^demo: mfctl context list: .*config\.yaml/m);
  await assertNothingIsLeft();
});

for (const afterMs of [300, 1500, 4000])
  test.serial(`a demo that is ended ${afterMs} ms after it began to start leaves nothing behind`, async t => {
    const {env, assertNothingIsLeft} = await arrange(t);
    const {child, ended, printed} = startDemo(t, env);
    await printed('Starting');

    await new Promise(resolve => setTimeout(resolve, afterMs));
    child.kill('SIGTERM');

    t.is(await ended, 0);
    await assertNothingIsLeft();
  });

test.serial('a demo nobody reads any more ends, and leaves nothing behind', async t => {
  const {env, assertNothingIsLeft} = await arrange(t);
  const {child, ended, printed} = startDemo(t, env);
  await printed('Ctrl-C ends');

  child.stdout?.destroy();

  t.is(await ended, 0);
  await assertNothingIsLeft();
});
