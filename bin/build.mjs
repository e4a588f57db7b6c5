// Builds dist/: the daemon as one module beside the few installed packages that it does not contain, mfctl as one file that starts
// fast, and its dashboard as another one, which is read only when it is opened. With --test-build it builds a daemon that fault tests
// can end at its crash points, in build/test/.
//
// All of it is built beside, and moved there file by file once all of it is right: programs that start or run meanwhile find what they
// belong to. See `publish`.
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';

const {build} = await import('esbuild').catch(() => {
  console.error('dist/ is left as it is: esbuild is not installed, as after npm ci --omit=dev');
  process.exit(0);
});

const common = {bundle: true, platform: 'node', target: 'node20.19', sourcemap: 'linked', logLevel: 'warning'};

/**
 * What mfctl loads by `import('./start-dashboard.tsx')` is a bundle of its own: ink and react are ten times the size of all the rest. A script that
 * runs from what V8 has compiled before cannot import, so that a file beside it does. Both are called after what is in them: a mfctl
 * that was started before a build loads its own dashboard after it.
 */
const dashboardApart = loader => ({
  name: 'dashboard-apart',
  setup: ({onResolve}) =>
    onResolve({filter: /\/start-dashboard\.tsx$/}, ({kind}) =>
      kind === 'dynamic-import' ? {path: `./${loader}`, external: true} : undefined,
    ),
});

/** Ink loads `react-devtools-core` when DEV is set, which is not installed; and with CI set it would draw nothing. */
const forTerminals = {
  name: 'for-terminals',
  setup: ({onResolve, onLoad}) => {
    onResolve({filter: /^(react-devtools-core|is-in-ci)$/}, ({path}) => ({path, namespace: 'absent'}));
    onLoad({filter: /./, namespace: 'absent'}, () => ({contents: 'export default false'}));
  },
};

/** Packages in CommonJS ask for Node's modules by `require`, which a module does not have. */
const requireForPackages = `import {createRequire} from 'node:module'; const require = createRequire(import.meta.url);`;

/**
 * What never changes while a node runs is made once, here: the packages that make it are ten times what a request takes. All that
 * the module exports is JSON.
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

/** Drivers that nobody has installed, which knex would load for databases of another kind. */
const otherDrivers = [
  'better-sqlite3',
  'mariadb/callback',
  'mysql',
  'mysql2',
  'oracledb',
  'pg',
  'pg-native',
  'pg-query-stream',
  'tedious',
];

/**
 * A thousand small files are most of what a start costs. Apart stay what is no JavaScript, and what is loaded when it is used.
 */
const external = ['sqlite3', 'mailauth/*', ...otherDrivers];

/** What tests may do to a daemon from outside is decided here, and not by the environment that it runs in. */
const daemon = isTestBuild => ({
  ...common,
  entryPoints: {mfd: 'daemon/main.ts'},
  format: 'esm',
  external,
  define: {TEST_BUILD: String(isTestBuild)},
  plugins: [descriptionsAsText],
  banner: {js: requireForPackages},
});

const buildDashboard = async outdir => {
  const {metafile} = await build({
    ...common,
    entryPoints: {'mfctl-dashboard': 'cli/dashboard/start-dashboard.tsx'},
    outdir,
    entryNames: '[name]-[hash]',
    format: 'esm',
    jsx: 'automatic',
    minifySyntax: true,
    define: {'process.env.NODE_ENV': '"production"'},
    plugins: [forTerminals],
    banner: {js: requireForPackages},
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
  await build({
    ...common,
    entryPoints: {mfctl: 'cli/main.ts'},
    outdir,
    format: 'cjs',
    outExtension: {'.js': '.cjs'},
    minifySyntax: true,
    supported: {'dynamic-import': false},
    plugins: [dashboardApart(loader)],
  });
  const file = join(outdir, 'mfctl.cjs');
  const text = await readFile(file, 'utf8');
  // Its last line says which it is, see bin/bundle.js.
  await writeFile(file, `${text}//${createHash('sha256').update(text).digest('hex').slice(0, 32)}`);
  // With what it takes to begin compiled. The process that does it is another one, as it leaves the bundle loaded behind.
  execFileSync(process.execPath, ['bin/compile.js', outdir], {stdio: ['ignore', 'ignore', 'pipe']});
};

/**
 * Each file takes the place of the one before it at once. What no file of that name does stays until the next build, for programs that
 * were started before this one and have yet to load it; files.json says what belongs to this build.
 */
const publish = async (staged, target) => {
  const list = 'files.json';
  await mkdir(target, {recursive: true});
  const files = (await readdir(staged)).sort();
  const there = await readdir(target);
  const before = await readFile(join(target, list), 'utf8').then(JSON.parse, () => there);
  for (const name of there)
    if (name !== list && !files.includes(name) && !before.includes(name)) await rm(join(target, name), {recursive: true});
  // What others load comes before them.
  const isLoaded = name => /dashboard/.test(name);
  for (const name of [...files.filter(isLoaded), ...files.filter(name => !isLoaded(name))])
    await rename(join(staged, name), join(target, name));
  await writeFile(join(staged, list), `${JSON.stringify(files)}\n`);
  await rename(join(staged, list), join(target, list));
};

await mkdir('build', {recursive: true});
const staged = await mkdtemp('build/staged-');
try {
  if (process.argv.includes('--test-build')) {
    await build({...daemon(true), outdir: staged});
    await publish(staged, 'build/test');
  } else {
    // Both have ended before their folder goes, also when one of them fails.
    const ended = await Promise.allSettled([build({...daemon(false), outdir: staged}), buildMfctl(staged)]);
    for (const {reason} of ended) if (reason !== undefined) throw reason;
    await publish(staged, 'dist');
    await Promise.all(['bin/mfd', 'bin/mfctl'].map(file => chmod(file, 0o755)));
  }
} finally {
  await rm(staged, {recursive: true});
}
