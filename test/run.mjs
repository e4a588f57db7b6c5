// Test runner: bundles the tests of a room (a group of folders), or named ones, and runs them with AVA. Translating the modules
// of each test file when it starts took longer than the tests.
//
//   node test/run.mjs ROOM|FOLDER|FILE... [-- OPTIONS OF AVA]
import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, readdirSync, statSync} from 'node:fs';
import {chmod, mkdir, mkdtemp, readFile, rm, statfs, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {promisify} from 'node:util';
import {build} from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The folders of each room, and how many of its files run at once: most of them wait for processes, not for the processor. */
const rooms = {
  unit: {folders: ['shared', 'daemon', 'cli'], concurrency: 3},
  system: {folders: ['system'], concurrency: 3},
  cluster: {folders: ['cluster'], concurrency: 4},
  postfix: {folders: ['postfix'], concurrency: 4},
  postgres: {folders: ['postgres'], concurrency: 3},
  terminal: {folders: ['terminal'], concurrency: 4},
  deploy: {folders: ['deploy'], concurrency: 3},
  fault: {folders: ['fault'], concurrency: 3},
  // The tests of behaviour again, with nodes that share a PostgreSQL.
  'on-postgres': {
    folders: ['system', 'cluster', 'terminal', 'postfix'],
    files:
      /system\/(api-(?!addresses|advertise)|backends|bootstrap-key|dmarc|log-lines|mail-(failures|flow|policy|rspamd|tls)|mfctl-|socketmap|milter)|cluster\/(dmarc|filters|webhooks\.|quarantine|rate-limit|rolling|stop|trust)|terminal\/(audit|away|domains|keys|quarantine)|postfix\/(hold-queue|three-nodes)/,
    env: {TEST_STORE: 'postgres'},
    concurrency: 4,
  },
};

const testsIn = (folder, recursive = true) =>
  readdirSync(join(root, folder), {recursive})
    .filter(name => /\.test\.tsx?$/.test(name))
    .map(name => join(folder, name));

const filesOf = name => {
  const room = rooms[name];
  if (!room) return statSync(join(root, name)).isDirectory() ? testsIn(name) : [name];
  const files = room.folders.flatMap(folder => testsIn(join('test', folder)));
  return [...files.filter(file => room.files?.test(file) ?? true), ...(name === 'unit' ? testsIn('test', false) : [])];
};

/** A bundled module is in another folder, and finds its files by the path of its source. */
const atHome = {
  name: 'at-home',
  setup: ({onLoad}) =>
    onLoad({filter: /\.tsx?$/}, async ({path}) => {
      const text = await readFile(path, 'utf8');
      const contents = text
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)));
      return {contents, loader: path.endsWith('x') ? 'tsx' : 'ts'};
    }),
};

const bundle = async (files, outdir) =>
  build({
    absWorkingDir: root,
    entryPoints: files,
    outbase: 'test',
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    outExtension: {'.js': '.mjs'},
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    jsx: 'automatic',
    sourcemap: 'linked',
    logLevel: 'warning',
    plugins: [atHome],
  });

/** See test/helpers/prepared-node.ts. No program ever listens on these ports. */
const prepareNode = async (folder, initOptions) => {
  const listens = ['api', 'cluster', 'metrics', 'smtp'].flatMap((name, i) => [`--${name}-listen`, `127.0.0.1:6500${i}`]);
  const env = {...process.env, XDG_CONFIG_HOME: join(folder, 'config')};
  const args = [join(root, 'bin/mfd'), 'init', '--json', '--data', join(folder, 'data'), ...listens, ...initOptions];
  const {stdout} = await promisify(execFile)(process.execPath, args, {env});
  await writeFile(join(folder, 'report.json'), stdout);
  return folder;
};

/**
 * The parent of all temporary folders. It is in memory where the machine has enough of it: nodes and databases sync to the disk what
 * they acknowledge, which took a fifth of the processor in the tests of the stores. Tests start programs in these folders, also as other users.
 */
const makeTemporary = async () => {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const options = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(mounts)?.[1]?.split(',') ?? ['noexec'];
  const isFit =
    !options.includes('noexec') && (await statfs('/dev/shm').then(({bavail, bsize}) => bavail * bsize >= 4 * 2 ** 30));
  const parent = await mkdtemp(join(isFit ? '/dev/shm' : tmpdir(), 'mfd-'));
  await chmod(parent, 0o1777);
  return parent;
};

const [named, options] = process.argv.slice(2).reduce(
  ([names, rest], word) => {
    if (word === '--' || rest.length > 0) return [names, [...rest, word]];
    return [[...names, word], rest];
  },
  [[], []],
);
if (named.length === 0) {
  console.error(`node test/run.mjs ROOM|FOLDER|FILE... [-- OPTIONS OF AVA]; the rooms are ${Object.keys(rooms).join(', ')}`);
  process.exit(2);
}

const isOnPostgres = (rooms[named[0]]?.env ?? process.env).TEST_STORE === 'postgres';
if (isOnPostgres && !['/usr/lib/postgresql', '/usr/bin/pg_ctl'].some(path => existsSync(path))) {
  console.log(`PostgreSQL is not installed: ${named.join(' ')}: skipped`);
  process.exit(0);
}

await mkdir(join(root, 'build'), {recursive: true});
const folder = await mkdtemp(join(root, 'build/tests-'));
const temporary = await makeTemporary();
process.env.TMPDIR = temporary;
let postgres;
try {
  await bundle([...named.flatMap(filesOf), ...(isOnPostgres ? ['test/helpers/room-postgres.ts'] : [])], folder);
  if (isOnPostgres) postgres = await (await import(join(folder, 'helpers/room-postgres.mjs'))).startRoomPostgres();
  const env = {
    ...process.env,
    ...rooms[named[0]]?.env,
    TEST_PREPARED_NODE: await prepareNode(join(folder, 'node'), postgres?.initOptions ?? []),
    ...(postgres && {TEST_POSTGRES: JSON.stringify(postgres.address)}),
  };
  // Several rooms mix files that compute with files that wait.
  const concurrency = Math.max(...named.map(name => rooms[name]?.concurrency ?? 3)) + (named.length > 1 ? 1 : 0);
  const args = [`--concurrency=${concurrency}`, ...options.slice(1), `${folder.slice(root.length)}/**/*.test.mjs`];
  const ava = spawn(join(root, 'node_modules/.bin/ava'), args, {cwd: root, env, stdio: 'inherit'});
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => ava.kill(signal));
  const [status] = await once(ava, 'exit');
  process.exitCode = status ?? 1;
} finally {
  await postgres?.end();
  for (const made of [folder, temporary]) await rm(made, {recursive: true, force: true});
}
