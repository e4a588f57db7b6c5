// Builds dist/: the daemon as one module beside the few installed packages that it does not contain, mfctl as one file that starts
// fast, and its dashboard as another one, which is read only when it is opened. With --test-build it builds a daemon that fault tests
// can end at its crash points, in build/test/.
import {execFileSync} from 'node:child_process';
import {chmod, mkdir, readFile, rm, writeFile} from 'node:fs/promises';

const {build} = await import('esbuild').catch(() => {
  console.error('dist/ is left as it is: esbuild is not installed, as after npm ci --omit=dev');
  process.exit(0);
});

const common = {bundle: true, platform: 'node', target: 'node20.19', sourcemap: 'linked', logLevel: 'warning'};

/**
 * What mfctl loads by `import('../tui/…')` is a bundle of its own: ink and react are ten times the size of all the rest. A script that
 * runs from what V8 has compiled before cannot import, so that a file beside it does.
 */
const dashboardApart = {
  name: 'dashboard-apart',
  setup: ({onResolve}) =>
    onResolve({filter: /\/tui\/start-dashboard\.tsx$/}, ({kind}) =>
      kind === 'dynamic-import' ? {path: './load-dashboard.cjs', external: true} : undefined,
    ),
};

const loadDashboard = `exports.startDashboard = async needs => (await import('./mfctl-dashboard.js')).startDashboard(needs);\n`;

/** Ink loads `react-devtools-core` when DEV is set, which is not installed; and with CI set it would draw nothing. */
const forTerminals = {
  name: 'for-terminals',
  setup: ({onResolve, onLoad}) => {
    onResolve({filter: /^(react-devtools-core|is-in-ci)$/}, ({path}) => ({path, namespace: 'absent'}));
    onLoad({filter: /./, namespace: 'absent'}, () => ({contents: 'export default false'}));
  },
};

/** Got speaks HTTP/2 when told to, which nobody does; what it would take makes a TLS socket, with all that the system trusts, to be read. */
const withoutHttp2 = {
  name: 'without-http2',
  setup: ({onResolve, onLoad}) => {
    onResolve({filter: /^http2-wrapper$/}, ({path}) => ({path, namespace: 'unused'}));
    onLoad({filter: /./, namespace: 'unused'}, () => ({contents: 'export default {}'}));
  },
};

/** Most commands use few of the modules of Node that the bundle names, and each takes its time: they are loaded when they are used. */
const lazyBuiltIns = `var lazily = name => { let it; return new Proxy({}, {get: (_, key) => (it ??= require(name))[key]}); };`;
const builtIn = /\b((?:import_[\w$]+|childProcess) = )require\("(node:[\w/]+)"\)/g;

/** Packages in CommonJS ask for Node's modules by `require`, which a module does not have. */
const requireForPackages = `import {createRequire} from 'node:module'; const require = createRequire(import.meta.url);`;

/** What never changes while a node runs is made once, here: the packages that make it are ten times what a request takes. */
const descriptionAsText = {
  name: 'description-as-text',
  setup: ({onLoad}) =>
    onLoad({filter: /\/daemon\/http\/openapi-text\.ts$/}, async () => {
      const {outputFiles} = await build({
        ...common,
        entryPoints: ['daemon/http/openapi.ts'],
        format: 'esm',
        packages: 'external',
        sourcemap: false,
        write: false,
      });
      const file = new URL(`build/openapi-${process.pid}.mjs`, import.meta.url);
      await mkdir(new URL('.', file), {recursive: true});
      await writeFile(file, outputFiles[0].text);
      const {openApiDocument} = await import(file.href).finally(() => rm(file));
      return {contents: `export const openApiText = ${JSON.stringify(openApiDocument())};`, loader: 'js'};
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
  entryPoints: {mfd: 'daemon/main.ts', 'spool-thread': 'daemon/hold/spool-thread.ts'},
  format: 'esm',
  external,
  define: {TEST_BUILD: String(isTestBuild)},
  plugins: [descriptionAsText],
  banner: {js: requireForPackages},
});

if (process.argv.includes('--test-build')) {
  await build({...daemon(true), outdir: 'build/test'});
  process.exit(0);
}

await rm('dist', {recursive: true, force: true});
await Promise.all([
  build({...daemon(false), outdir: 'dist'}),
  build({
    ...common,
    entryPoints: {mfctl: 'cli/main.ts'},
    outdir: 'dist',
    format: 'cjs',
    outExtension: {'.js': '.cjs'},
    minifySyntax: true,
    supported: {'dynamic-import': false},
    plugins: [dashboardApart, withoutHttp2],
    banner: {js: lazyBuiltIns},
  }),
  build({
    ...common,
    entryPoints: {'mfctl-dashboard': 'cli/tui/start-dashboard.tsx'},
    outdir: 'dist',
    format: 'esm',
    jsx: 'automatic',
    minifySyntax: true,
    define: {'process.env.NODE_ENV': '"production"'},
    plugins: [forTerminals],
    banner: {js: requireForPackages},
  }),
]);
await writeFile('dist/load-dashboard.cjs', loadDashboard);
await writeFile('dist/mfctl.cjs', (await readFile('dist/mfctl.cjs', 'utf8')).replace(builtIn, '$1lazily("$2")'));

// With what it takes to begin compiled. The process that does it is another one, as it leaves the bundle loaded behind.
execFileSync(process.execPath, ['bin/compile.js'], {stdio: 'ignore'});

await Promise.all(['bin/mfd', 'bin/mfctl'].map(file => chmod(file, 0o755)));
