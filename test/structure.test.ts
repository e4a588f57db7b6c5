// Import rules of the folders, as data. Types count: the reader must understand an imported type, too.
import {readdir, readFile} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));

const cliShared = ['shared', 'cli', 'cli/client', 'cli/command-line', 'cli/files', 'cli/output'];
const screenShared = [...cliShared, 'cli/dashboard/shell', 'cli/dashboard/list'];
const services = [
  'daemon/services',
  'daemon/services/access',
  'daemon/services/audit',
  'daemon/services/cluster',
  'daemon/services/dmarc',
  'daemon/services/dns',
  'daemon/services/domains',
  'daemon/services/events',
  'daemon/services/intake',
  'daemon/services/peers',
  'daemon/services/quarantine',
  'daemon/services/recipients',
  'daemon/services/webhooks',
];
const amongServices = (...folders: string[]): string[] => [
  'shared',
  'daemon/services',
  ...folders.map(name => `daemon/services/${name}`),
];

/** Each folder with the folders it may import; its own files are always allowed. */
const mayImport: Record<string, string[]> = {
  shared: [],
  'daemon/store/sql': ['shared', ...services],
  'daemon/store/postgres': ['shared', ...services, 'daemon/store/sql'],
  'daemon/store/sqlite': ['shared', ...services, 'daemon/store/sql'],
  // The ports are in words of the services.
  'daemon/services': amongServices('audit', 'cluster', 'dmarc', 'events', 'peers', 'quarantine', 'recipients', 'webhooks'),
  'daemon/services/access': amongServices('cluster', 'domains'),
  'daemon/services/audit': amongServices('peers'),
  'daemon/services/cluster': amongServices(),
  'daemon/services/dmarc': amongServices('domains', 'intake', 'peers'),
  'daemon/services/dns': amongServices('domains'),
  'daemon/services/domains': amongServices('cluster', 'intake'),
  'daemon/services/events': amongServices('access', 'domains', 'intake', 'peers', 'quarantine'),
  'daemon/services/intake': amongServices(),
  'daemon/services/peers': amongServices('access', 'domains'),
  'daemon/services/quarantine': amongServices('domains', 'intake', 'peers'),
  'daemon/services/recipients': amongServices('audit', 'cluster', 'domains', 'peers', 'quarantine'),
  'daemon/services/webhooks': amongServices('cluster', 'domains', 'events', 'peers'),
  'daemon/replication': ['shared', ...services],
  'daemon/common-store': ['shared', ...services, 'daemon/replication'],
  'daemon/mail': ['shared', ...services],
  'daemon/mail/authentication': ['shared', ...services, 'daemon/mail', 'daemon/mail/readers'],
  'daemon/mail/backend': ['shared', ...services, 'daemon/mail'],
  'daemon/mail/dns-check': ['shared', ...services, 'daemon/mail', 'daemon/mail/authentication', 'daemon/mail/readers'],
  'daemon/mail/gateway': ['shared', ...services, 'daemon/mail', 'daemon/mail/backend'],
  'daemon/mail/milter': ['shared', ...services, 'daemon/mail'],
  'daemon/mail/postfix-log': ['shared', ...services],
  'daemon/mail/readers': ['shared', ...services, 'daemon/mail'],
  'daemon/mail/report': ['shared', ...services, 'daemon/mail', 'daemon/mail/authentication', 'daemon/mail/readers'],
  'daemon/mail/scan': ['shared', ...services],
  'daemon/mail/socketmap': ['shared', ...services, 'daemon/mail', 'daemon/mail/backend'],
  'daemon/hold': ['shared', ...services, 'daemon/hold/spool'],
  'daemon/hold/spool': ['shared', ...services, 'daemon/hold'],
  'daemon/hold/postfix': ['shared', ...services, 'daemon/hold'],
  'daemon/hold/store': ['shared', ...services, 'daemon/hold', 'daemon/hold/spool'],
  'daemon/cluster': ['shared', ...services],
  'daemon/webhooks': ['shared', ...services],
  'daemon/http': ['shared', ...services, 'daemon/http/api', 'daemon/http/peer'],
  'daemon/http/api': ['shared', ...services, 'daemon/http'],
  'daemon/http/peer': ['shared', ...services, 'daemon/http'],
  'daemon/config': ['shared', 'daemon/mail', 'daemon/mail/scan'],
  'daemon/setup': ['shared', 'daemon/mail', 'daemon/config'],
  // The composition root: it wires everything to everything.
  'daemon/node': [
    'shared',
    ...services,
    'daemon/replication',
    'daemon/common-store',
    'daemon/store/postgres',
    'daemon/store/sqlite',
    'daemon/cluster',
    'daemon/config',
    'daemon/hold',
    'daemon/hold/postfix',
    'daemon/hold/spool',
    'daemon/hold/store',
    'daemon/http',
    'daemon/http/api',
    'daemon/http/peer',
    'daemon/mail',
    'daemon/mail/authentication',
    'daemon/mail/backend',
    'daemon/mail/dns-check',
    'daemon/mail/gateway',
    'daemon/mail/milter',
    'daemon/mail/postfix-log',
    'daemon/mail/readers',
    'daemon/mail/report',
    'daemon/mail/scan',
    'daemon/mail/socketmap',
    'daemon/webhooks',
  ],
  'daemon/commands': [
    'shared',
    ...services,
    'daemon/replication',
    'daemon/store/postgres',
    'daemon/store/sqlite',
    'daemon/cluster',
    'daemon/config',
    'daemon/hold/spool',
    'daemon/mail',
    'daemon/node',
    'daemon/setup',
  ],
  'daemon/deploy/debian': ['shared'],
  daemon: ['shared', 'daemon/commands', 'daemon/config', 'daemon/node', 'daemon/store/postgres', 'daemon/store/sqlite'],
  'cli/output': ['shared', 'cli', 'cli/client', 'cli/command-line'],
  'cli/files': ['shared', 'cli', 'cli/command-line'],
  'cli/client': ['shared', 'cli', 'cli/command-line', 'cli/files'],
  'cli/command-line': ['shared', 'cli'],
  'cli/completion': [...cliShared, 'cli/domain', 'cli/help', 'cli/quarantine', 'cli/trace'],
  'cli/help': cliShared,
  'cli/api': cliShared,
  'cli/audit': [...cliShared, 'cli/key'],
  'cli/cluster': cliShared,
  'cli/context': [...cliShared, 'cli/cluster'],
  'cli/dmarc': cliShared,
  'cli/domain': [...cliShared, 'cli/filter'],
  'cli/events': [...cliShared, 'cli/quarantine', 'cli/trace'],
  'cli/filter': cliShared,
  'cli/key': cliShared,
  'cli/quarantine': [...cliShared, 'cli/audit', 'cli/domain', 'cli/filter'],
  'cli/trace': [...cliShared, 'cli/quarantine'],
  'cli/webhook': [...cliShared, 'cli/quarantine', 'cli/trace'],
  'cli/dashboard/shell': [...cliShared, 'cli/dashboard/list'],
  'cli/dashboard/list': ['shared', 'cli', 'cli/output', 'cli/dashboard/shell'],
  'cli/dashboard/screens/audit': [...screenShared, 'cli/audit'],
  'cli/dashboard/screens/cluster': [...screenShared, 'cli/cluster'],
  'cli/dashboard/screens/domains': [...screenShared, 'cli/domain', 'cli/filter', 'cli/dmarc'],
  'cli/dashboard/screens/events': screenShared,
  'cli/dashboard/screens/keys': [...screenShared, 'cli/key', 'cli/dashboard/screens/cluster'],
  'cli/dashboard/screens/quarantine': [...screenShared, 'cli/quarantine', 'cli/trace'],
  'cli/dashboard/screens/trace': [...screenShared, 'cli/quarantine', 'cli/trace', 'cli/dashboard/screens/quarantine'],
  'cli/dashboard': [
    ...cliShared,
    'cli/dashboard/shell',
    'cli/dashboard/screens/audit',
    'cli/dashboard/screens/cluster',
    'cli/dashboard/screens/domains',
    'cli/dashboard/screens/events',
    'cli/dashboard/screens/keys',
    'cli/dashboard/screens/quarantine',
    'cli/dashboard/screens/trace',
  ],
  cli: [
    ...cliShared,
    'cli/api',
    'cli/audit',
    'cli/cluster',
    'cli/completion',
    'cli/context',
    'cli/dashboard',
    'cli/dmarc',
    'cli/domain',
    'cli/events',
    'cli/filter',
    'cli/help',
    'cli/key',
    'cli/quarantine',
    'cli/trace',
    'cli/webhook',
  ],
  // Generates the manual from the help of both programs, and is part of neither.
  man: ['shared', 'cli', 'cli/command-line', 'cli/help', 'daemon', 'daemon/config', 'daemon/node'],
};

/** Packages that only these folders and their subfolders may import. */
const keptIn: Record<string, string[]> = {
  knex: ['daemon/store/sqlite'],
  sqlite3: ['daemon/store/sqlite'],
  pg: ['daemon/store/postgres'],
  koa: ['daemon/http'],
  '@koa/router': ['daemon/http'],
  'prom-client': ['daemon/http'],
  nodemailer: ['daemon/mail'],
  mailauth: ['daemon/mail/readers'],
  sax: ['daemon/mail/readers'],
  yauzl: ['daemon/mail/readers'],
  // Its decoder of encoded words is linear; its parsers of mail are for mfctl.
  'postal-mime': [
    'cli/quarantine',
    'daemon/mail/authentication/results-field.ts',
    'daemon/services/intake/author-field.ts',
    'daemon/services/intake/header-block.ts',
  ],
  '@peculiar/x509': ['daemon/cluster'],
  // Both programs parse their arguments with it.
  commander: ['daemon/main.ts', 'daemon/commands', 'cli', 'man'],
  got: ['cli/client'],
  undici: ['daemon/webhooks'],
  // mfctl has one client. In the daemon each of several folders serves or asks for itself.
  'node:http': ['cli/client', 'daemon', 'shared'],
  'node:https': ['cli/client', 'daemon'],
  'node:tls': ['cli/client', 'daemon'],
  'cli-table3': ['cli/output'],
  ink: ['cli/dashboard'],
  react: ['cli/dashboard'],
};

/** Another place for each setting is one that somebody forgets. */
const namingASetting = [
  'cli/dashboard/screens/domains/authentication-panel.ts',
  'cli/dmarc/dmarc.ts',
  'cli/domain/domain-fields.ts',
  'cli/domain/unsent-reports.ts',
  'daemon/node/dmarc-state.ts',
  'daemon/services/dmarc/dmarc-counter.ts',
  'shared/domain.ts',
  'shared/field-rules.ts',
];

interface Source {
  /** Relative to the root, with slashes. */
  path: string;
  text: string;
  /** Paths of imported files; names of imported packages. */
  imports: {local: string[]; packages: string[]};
}

const importPattern = /^\s*(?:import|export)\b[^'";]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\('([^']+)'\)/gm;

const importsOf = (path: string, text: string): Source['imports'] => {
  const specifiers = [...text.matchAll(importPattern)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
  const local = specifiers.filter(name => name.startsWith('.')).map(name => join(dirname(path), name));
  const packages = specifiers.filter(name => !name.startsWith('.')).map(name => /^(@[^/]+\/[^/]+|[^/]+)/.exec(name)?.[0] ?? name);
  return {local, packages};
};

const sourcesIn = async (...folders: string[]): Promise<Source[]> => {
  const sources: Source[] = [];
  for (const folder of folders)
    for (const entry of await readdir(join(root, folder), {recursive: true, withFileTypes: true})) {
      if (!entry.isFile() || !/\.tsx?$/.test(entry.name)) continue;
      const path = relative(root, join(entry.parentPath, entry.name));
      const text = await readFile(join(root, path), 'utf8');
      sources.push({path, text, imports: importsOf(path, text)});
    }
  return sources;
};

/** Without comments and texts. */
const code = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'|`[^`\n]*`/g, '');

const product = await sourcesIn('shared', 'daemon', 'cli', 'man');
const folders = Object.keys(mayImport).toSorted((a, b) => b.length - a.length);
const folderOf = (path: string): string => folders.find(folder => path.startsWith(`${folder}/`)) ?? '';

test('every import is found, and every file is in a folder of the map', t => {
  t.true(product.length > 100);
  t.true(product.reduce((sum, {imports}) => sum + imports.local.length, 0) > 300);
  t.deepEqual(
    product.filter(({path}) => folderOf(path) === '').map(({path}) => path),
    [],
  );
  const known = new Set(product.map(({path}) => path));
  t.deepEqual(
    product.flatMap(({path, imports}) =>
      imports.local.filter(to => to.endsWith('.ts') && !known.has(to)).map(to => `${path} → ${to}`),
    ),
    [],
  );
});

test('the top level is what the map says, and daemon/ has no loose file but its command line', async t => {
  const made = ['build', 'data', 'dist', 'node_modules'];
  const top = (await readdir(root)).filter(name => !name.startsWith('.') && !made.includes(name));

  t.deepEqual(
    top.toSorted(),
    // biome-ignore format: a list of names
    ['CHANGELOG.md', 'LICENSE', 'README.md', 'ava.config.mjs', 'bin', 'biome.json', 'cli', 'daemon', 'docs', 'man', 'package-lock.json', 'package.json', 'shared', 'test', 'tsconfig.json'],
  );
  t.deepEqual(
    (await readdir(join(root, 'daemon'), {withFileTypes: true})).filter(entry => entry.isFile()).map(({name}) => name),
    ['main.ts'],
  );
});

test('imports point one way', t => {
  const wrong = product.flatMap(({path, imports}) =>
    imports.local
      .filter(to => to.endsWith('.ts') || to.endsWith('.tsx'))
      .filter(to => folderOf(to) !== folderOf(path) && !mayImport[folderOf(path)]?.includes(folderOf(to)))
      .map(to => `${path} → ${to}`),
  );

  t.deepEqual(wrong, []);
});

test('folders of services import each other in no circle', t => {
  // Ports are in words of the services, and stand in the folder above.
  const folders = services.slice(1);
  const isReached = (from: string, to: string, seen = new Set<string>()): boolean =>
    (mayImport[from] ?? [])
      .filter(next => folders.includes(next) && !seen.has(next))
      .some(next => next === to || isReached(next, to, seen.add(next)));

  t.deepEqual(
    folders.filter(folder => isReached(folder, folder)),
    [],
  );
});

test('a package is known where it belongs only', t => {
  const wrong = product.flatMap(({path, imports}) =>
    imports.packages
      .filter(name => {
        const homes = keptIn[name];
        return homes !== undefined && !homes.some(home => path === home || path.startsWith(`${home}/`));
      })
      .map(name => `${path} → ${name}`),
  );

  t.deepEqual(wrong, []);
});

test('a start of mfctl loads one package: the others, and the schemas, take longer than most commands', t => {
  const texts = new Map(product.map(source => [source.path, source.text]));
  const isLoaded = /^(?:import|export) (?!type\b)[^'";()=]*\bfrom '([^']+)'/gm;
  const loaded = new Set(['cli/main.ts']);
  for (const path of loaded)
    for (const [, name = ''] of texts.get(path)?.matchAll(isLoaded) ?? [])
      if (!name.startsWith('node:')) loaded.add(name.startsWith('.') ? join(dirname(path), name) : name);

  t.true(loaded.size > 100);
  t.deepEqual(
    [...loaded].filter(name => !texts.has(name) && name !== 'package.json'),
    ['commander'],
  );
});

test('members and events of libraries that have no documentation are used in one file each', t => {
  const using = product.filter(({text}) => /\._[a-z]|\{_[a-z]\w*:/i.test(code(text)) || /\.on(?:ce)?\('_[a-z]/i.test(text));

  t.deepEqual(using.map(({path}) => path).toSorted(), [
    'daemon/http/matched-route.ts',
    'daemon/mail/backend/command-connection.ts',
    'daemon/mail/gateway/smtp-session.ts',
    'daemon/mail/readers/confine.ts',
  ]);
});

test('records of the configuration are written by apply, derived again by rebuild, and dropped by repair', t => {
  t.deepEqual(
    product
      .filter(({text}) => /\brecords\.(?:save|drop)\(/.test(text))
      .map(({path}) => path)
      .toSorted(),
    ['daemon/commands/repair.ts', 'daemon/replication/apply.ts', 'daemon/replication/rebuild.ts'],
  );
});

test('no file imports itself over others', t => {
  const imports = new Map(product.map(source => [source.path, source.imports.local]));
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of imports.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);

  t.deepEqual(cycles, []);
});

test('nothing is decided by what an object inherits: hasOwn is used instead of the operator in', t => {
  // In a text the word does not follow and precede a sign like this.
  const operators =
    /^(?!\s*(?:\/\/|\*|\/\*)).*(?:'\w+'|(?:[(!&|?]|=>) ?\w+|\bfor \((?:const|let) \w+) in \w[\w.]*(?: ?[),;&|?].*)?$/gm;
  const inherits = ({path, text}: Source) => [...text.matchAll(operators)].map(([line]) => `${path}: ${line.trim()}`);

  t.deepEqual(product.flatMap(inherits), []);
});

test('only the launchers end the process', t => {
  t.deepEqual(
    product.filter(({text}) => /process\.exit\(/.test(text)).map(({path}) => path),
    [],
  );
});

test('nothing is exported by default, and there are no barrels', async t => {
  const everything = [...product, ...(await sourcesIn('test'))];

  t.deepEqual(
    everything.filter(({text}) => /^export default\b|^export \{[^}]*\bas default\b/m.test(text)).map(({path}) => path),
    [],
  );
  t.deepEqual(
    product.filter(({path, text}) => /(^|\/)(index|utils?)\.tsx?$/.test(path) || /^export \*/m.test(text)).map(({path}) => path),
    [],
  );
});

test('a setting of a domain is named in few files: where it is declared, stored and used', t => {
  t.deepEqual(
    product
      .filter(({text}) => text.includes('dmarc_reporting'))
      .map(({path}) => path)
      .sort(),
    namingASetting,
  );
});
