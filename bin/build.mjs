// Build of dist/: the daemon as one file beside the few installed packages that it does not contain, mfctl as another, both with what V8
// has compiled of them, and the dashboard as a third, which is read only when it is opened. With --test-build it builds a daemon in build/test/ that
// fault tests can end at its crash points.
//
// Everything is built in another folder and then moved file by file, so that programs that start or run meanwhile find the files of
// their own build. See `publish`.
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {basename, join} from 'node:path';

const {build} = await import('esbuild').catch(() => {
  console.error('dist/ is unchanged: esbuild is not installed, as after npm ci --omit=dev');
  process.exit(0);
});

const common = {bundle: true, platform: 'node', target: 'node20.19', sourcemap: 'linked', logLevel: 'warning'};

/**
 * `import('./start-dashboard.tsx')` of mfctl loads a separate bundle: ink and react are ten times the size of all the rest. A script
 * with a code cache cannot import, so a file beside it does. Both file names contain a hash of their content: a mfctl that was started
 * before a build still loads its own dashboard after it.
 */
const dashboardApart = loader => ({
  name: 'dashboard-apart',
  setup: ({onResolve}) =>
    onResolve({filter: /\/start-dashboard\.tsx$/}, ({kind}) =>
      kind === 'dynamic-import' ? {path: `./${loader}`, external: true} : undefined,
    ),
});

/** With DEV set, Ink loads `react-devtools-core`, which is not installed; with CI set, it would draw nothing. */
const forTerminals = {
  name: 'for-terminals',
  setup: ({onResolve, onLoad}) => {
    onResolve({filter: /^(react-devtools-core|is-in-ci)$/}, ({path}) => ({path, namespace: 'absent'}));
    onLoad({filter: /./, namespace: 'absent'}, () => ({contents: 'export default false'}));
  },
};

/** CommonJS packages load Node's modules with `require`, which an ES module does not have. */
const requireForPackages = `import {createRequire} from 'node:module'; const require = createRequire(import.meta.url);`;

/** For bin/bundle.js. */
const script = {
  ...common,
  format: 'cjs',
  outExtension: {'.js': '.cjs'},
  minifyWhitespace: true,
  minifySyntax: true,
  supported: {'dynamic-import': false},
};

const esModule = {...common, format: 'esm', banner: {js: requireForPackages}};

/**
 * The API descriptions never change while a node runs, so they are generated here, once: the packages that generate them take ten
 * times as long as a request. All exports of the module are JSON.
 */
const descriptionsAsText = {
  name: 'descriptions-as-text',
  setup: ({onLoad}) =>
    onLoad({filter: /\/http\/api\/openapi-text\.ts$/}, async () => {
      const {outputFiles} = await build({
        ...common,
        entryPoints: ['daemon/http/api/openapi-text.ts'],
        format: 'esm',
        packages: 'external',
        sourcemap: false,
        write: false,
      });
      const file = new URL(`../build/openapi-${process.pid}.mjs`, import.meta.url);
      await mkdir(new URL('.', file), {recursive: true});
      await writeFile(file, outputFiles[0].text);
      const values = await import(file.href).finally(() => rm(file));
      const lines = Object.entries(values).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`);
      return {contents: lines.join('\n'), loader: 'js'};
    }),
};

/** Drivers for other databases, which knex would load and which are not installed. */
const otherDrivers = [
  'better-sqlite3',
  'mariadb/callback',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-native',
  'pg-query-stream',
  'tedious',
];

/**
 * Reading a thousand small files is most of the cost of a start. Only native code, and what is loaded when it is used, stays separate.
 */
const external = ['sqlite3', ...otherDrivers];

/** Whether tests can end the daemon at its crash points is decided here, not by the environment in which it runs. */
const daemon = (isTestBuild, reader) => ({
  ...script,
  entryPoints: {mfd: 'daemon/main.ts'},
  external,
  banner: {js: `const bundleUrl = require('node:url').pathToFileURL(__filename).href;`},
  define: {TEST_BUILD: String(isTestBuild), READER: JSON.stringify(reader), 'import.meta.url': 'bundleUrl'},
  plugins: [descriptionsAsText],
});

/**
 * The process that reads mail is one file with all its packages, as it may read no other. Like the dashboard it is loaded later, so its
 * name contains a hash as well.
 */
const buildReader = async outdir => {
  const {metafile} = await build({
    ...esModule,
    entryPoints: {'mfd-reader': 'daemon/mail/readers/reader-main.ts'},
    outdir,
    entryNames: '[name]-[hash]',
    outExtension: {'.js': '.mjs'},
    minifyWhitespace: true,
    metafile: true,
  });
  return basename(Object.keys(metafile.outputs).find(path => path.endsWith('.mjs')));
};

const buildDaemon = async (outdir, isTestBuild) => {
  await build({...daemon(isTestBuild, await buildReader(outdir)), outdir});
  await addCodeCache('mfd', outdir);
};

const buildDashboard = async outdir => {
  const {metafile} = await build({
    ...esModule,
    entryPoints: {'mfctl-dashboard': 'cli/dashboard/start-dashboard.tsx'},
    outdir,
    entryNames: '[name]-[hash]',
    jsx: 'automatic',
    minifySyntax: true,
    define: {'process.env.NODE_ENV': '"production"'},
    plugins: [forTerminals],
    metafile: true,
  });
  const [name, hash] = /mfctl-dashboard-(\w+)\.js$/.exec(Object.keys(metafile.outputs).find(path => path.endsWith('.js')));
  const loader = `load-dashboard-${hash}.cjs`;
  const load = `exports.startDashboard = async needs => (await import('./${name}')).startDashboard(needs);\n`;
  await writeFile(join(outdir, loader), load);
  return loader;
};

const buildMfctl = async outdir => {
  const loader = await buildDashboard(outdir);
  await build({...script, entryPoints: {mfctl: 'cli/main.ts'}, outdir, plugins: [dashboardApart(loader)]});
  await addCodeCache('mfctl', outdir);
};

const addCodeCache = async (name, folder) => {
  const file = join(folder, `${name}.cjs`);
  const text = await readFile(file, 'utf8');
  // The last line identifies the build, see bin/bundle.js.
  await writeFile(file, `${text}//${createHash('sha256').update(text).digest('hex').slice(0, 32)}`);
  // In a separate process, because the bundle stays loaded afterwards.
  execFileSync(process.execPath, ['bin/compile.js', name, folder], {stdio: ['ignore', 'ignore', 'pipe']});
};

/**
 * Replaces files atomically. Obsolete files stay until the next build, for programs that were started before and load them later;
 * files.json lists the files of this build.
 */
const publish = async (staged, target) => {
  const list = 'files.json';
  await mkdir(target, {recursive: true});
  const files = (await readdir(staged)).sort();
  const there = await readdir(target);
  const before = await readFile(join(target, list), 'utf8').then(JSON.parse, () => there);
  for (const name of there)
    if (name !== list && !files.includes(name) && !before.includes(name)) await rm(join(target, name), {recursive: true});
  // Files that others load come before them.
  const isLoaded = name => /dashboard|reader/.test(name);
  for (const name of [...files.filter(isLoaded), ...files.filter(name => !isLoaded(name))])
    await rename(join(staged, name), join(target, name));
  await writeFile(join(staged, list), `${JSON.stringify(files)}\n`);
  await rename(join(staged, list), join(target, list));
};

await mkdir('build', {recursive: true});
const staged = await mkdtemp('build/staged-');
try {
  if (process.argv.includes('--test-build')) {
    await buildDaemon(staged, true);
    await publish(staged, 'build/test');
  } else {
    // Both must end before their folder is removed, even if one of them fails.
    const ended = await Promise.allSettled([buildDaemon(staged, false), buildMfctl(staged)]);
    for (const {reason} of ended) if (reason !== undefined) throw reason;
    await publish(staged, 'dist');
    await Promise.all(['bin/mfd', 'bin/mfctl'].map(file => chmod(file, 0o755)));
  }
} finally {
  await rm(staged, {recursive: true});
}
