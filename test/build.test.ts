// Safety of a build for programs that start, or have started, while it runs: it takes away no file that they need.
import {cp, mkdir, readdir, readFile, symlink, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import test, {type ExecutionContext} from 'ava';
import manifest from '../package.json' with {type: 'json'};
import {type Ran, run} from './helpers/program.ts';
import {testFolder} from './helpers/store.ts';

const root = join(import.meta.dirname, '..');

/** A copy of this repository that was never built, with the files that a test changes. */
const arrange = async (t: ExecutionContext) => {
  const folder = await testFolder(t);
  for (const name of ['bin', 'cli', 'daemon', 'shared', 'package.json'])
    await cp(join(root, name), join(folder, name), {recursive: true});
  for (const name of ['node_modules', 'tsconfig.json']) await symlink(join(root, name), join(folder, name));
  const file = (name: string) => join(folder, name);
  const edit = async (name: string, from: string, to: string) => {
    const text = await readFile(file(name), 'utf8');
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`);
    await writeFile(file(name), text.replace(from, to));
  };
  return {
    file,
    edit,
    dist: async () => (await readdir(file('dist')).catch(() => [])).sort(),
    built: async () => JSON.parse(await readFile(file('dist/files.json'), 'utf8')) as string[],
    build: async (...args: string[]) =>
      run('-e', [`process.chdir(${JSON.stringify(folder)}); import('${pathToFileURL(file('bin/build.mjs'))}')`, ...args]),
    mfctl: async (...args: string[]) => run(file('bin/mfctl'), args, {env: {XDG_CONFIG_HOME: folder}}),
    mfd: async (...args: string[]) => run(file('bin/mfd'), args),
  };
};

const isWell = ({code, stderr}: Ran): boolean => code === 0 && stderr === '';

test('what the launchers read is ASCII but for licences: a pattern with other characters as they are would match nothing', async t => {
  const {file, build} = await arrange(t);

  t.is((await build()).code, 0);

  for (const name of ['mfd', 'mfctl']) {
    const [code = ''] = (await readFile(file(`dist/${name}.cjs`), 'latin1')).split('/*! Bundled license information:');
    t.is(/[^\x00-\x7f]/.exec(code)?.index, undefined);
  }
});

test('the code caches of a build are taken, name no folder, and are left where anything about them is different', async t => {
  const {file, build} = await arrange(t);
  await build();
  const isTaken = async (name: string, before = ''): Promise<string> => {
    const take = `${before};
      const vm = require('node:vm');
      vm.Script = class extends vm.Script { constructor(...args) { super(...args); console.log(this.cachedDataRejected); } };
      const {main} = require(${JSON.stringify(file('bin/bundle.js'))}).loadBundle('${name}');
      void main(['--version']);`;
    return (await run('-e', [take])).stdout;
  };

  for (const name of ['mfd', 'mfctl']) {
    const cache = await readFile(file(`dist/${name}.cache`));
    t.false(cache.includes('staged'));
    t.is(await isTaken(name), `false\n${name === 'mfd' ? '' : 'mfctl '}${manifest.version}\n`);
    for (const [what, value] of [
      ['version', 'v20.19.0'],
      ['arch', 'pdp11'],
      ['execPath', '/bin/sh'],
    ])
      t.regex(await isTaken(name, `Object.defineProperty(process, '${what}', {value: '${value}'})`), /^undefined\n.*\d\n$/);
    for (const changed of [cache.fill(0, 500_000, 520_000), cache.subarray(0, 400_000), cache.subarray(0, 20), Buffer.alloc(0)]) {
      await writeFile(file(`dist/${name}.cache`), changed);
      t.regex(await isTaken(name), /^undefined\n.*\d\n$/);
    }
  }
});

test('programs that start while others are built, or were started before, find what they belong to', async t => {
  const {file, build, edit, dist, built, mfctl, mfd} = await arrange(t);
  const first = await build();
  t.is(first.code, 0, first.stderr);
  const versions = [manifest.version, '1.5.1', '2.6.2'];
  const loaderOf = async () => /load-dashboard-\w+\.cjs/.exec(await readFile(file('dist/mfctl.cjs'), 'utf8'))?.[0] ?? '';
  const [oldFiles, oldLoader, oldCache] = [await built(), await loaderOf(), await readFile(file('dist/mfctl.cache'))];
  const started: Ran[] = [];
  const told: string[] = [];
  let isOver = false;
  const startAll = async (): Promise<void> => {
    while (!isOver) {
      const [version, ...others] = [await mfd('--version'), await mfctl('completion', 'bash'), await mfctl('help', 'connection')];
      started.push(version, ...others);
      told.push(version.stdout.trim());
    }
  };

  const starting = Promise.all([startAll(), startAll()]);
  await edit('package.json', `"version": "${manifest.version}"`, '"version": "1.5.1"');
  await edit(
    'cli/dashboard/start-dashboard.tsx',
    'export const startDashboard',
    'export const isAnother = true;\nexport const startDashboard',
  );
  const second = await build();
  const [secondLoader, secondDist] = [await loaderOf(), await dist()];
  // As a mfctl does that was started before that build.
  const load = `require(${JSON.stringify(file(`dist/${oldLoader}`))}).startDashboard(null).catch(error => console.log(error.name))`;
  const loaded = await run('-e', [load]);
  await edit('package.json', '"version": "1.5.1"', '"version": "2.6.2"');
  // The length stays the same, and V8 checks only the length of a source that it has compiled.
  await edit('cli/program.ts', 'Manage a cluster', 'MANAGE A CLUSTER');
  const third = await build();
  isOver = true;
  await starting;
  const last = await mfd('--version');
  await writeFile(file('dist/mfctl.cache'), oldCache);
  const help = await mfctl('--help');

  t.deepEqual([second.code, third.code], [0, 0]);
  t.deepEqual(
    started.filter(ran => !isWell(ran)),
    [],
  );
  t.true(started.length > 10);
  t.deepEqual(
    told.filter(version => !versions.includes(version)),
    [],
  );
  t.is(last.stdout.trim(), '2.6.2');
  t.not(secondLoader, oldLoader);
  t.deepEqual(
    oldFiles.filter(name => !secondDist.includes(name)),
    [],
  );
  t.is(loaded.stdout, 'TypeError\n', loaded.stderr);
  t.deepEqual(await dist(), [...(await built()), 'files.json'].sort());
  t.false((await dist()).includes(oldLoader));
  t.regex(help.stdout, /MANAGE A CLUSTER/);
});

test('a build that fails leaves what is there, and nothing else', async t => {
  const {file, build, edit, dist} = await arrange(t);
  await mkdir(file('dist'));
  await writeFile(file('dist/mfctl.cjs'), 'built before');
  await edit('cli/main.ts', 'export const', 'export export const');

  const {code, stderr} = await build();

  t.not(code, 0);
  t.regex(stderr, /cli\/main\.ts/);
  t.deepEqual(await dist(), ['mfctl.cjs']);
  t.is(await readFile(file('dist/mfctl.cjs'), 'utf8'), 'built before');
  t.deepEqual(await readdir(file('build')), []);
});
