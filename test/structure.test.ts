// Who may import whom, as data. Types count: what is imported for its type alone has to be understood all the same.
import {readdir, readFile} from 'node:fs/promises';
import {dirname, join, relative} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Each room with the rooms it may import; its own files are always allowed. */
const mayImport: Record<string, string[]> = {
  shared: [],
  'daemon/store': ['shared'],
  'daemon/services': ['shared', 'daemon/store'],
  'daemon/mail': ['shared', 'daemon/services'],
  'daemon/hold': ['shared', 'daemon/services', 'daemon/store'],
  'daemon/cluster': ['shared', 'daemon/services', 'daemon/store'],
  'daemon/http': ['shared', 'daemon/services'],
  // The composition root: the files that wire everything to everything, and the configuration they read.
  'daemon/config': ['shared', 'daemon/mail'],
  'daemon/setup': ['shared', 'daemon/mail', 'daemon/config'],
  daemon: [
    'shared',
    'daemon/store',
    'daemon/services',
    'daemon/mail',
    'daemon/hold',
    'daemon/cluster',
    'daemon/http',
    'daemon/config',
    'daemon/setup',
  ],
  'cli/tui': ['shared', 'cli'],
  'cli/commands': ['shared', 'cli', 'cli/tui'],
  cli: ['shared', 'cli/commands', 'cli/tui'],
  // Writes the manual from what both programs say of themselves, and is part of neither.
  man: ['shared', 'cli', 'daemon', 'daemon/config'],
};

/** Packages that only one room may know. */
const keptIn: Record<string, string> = {
  knex: 'daemon/store',
  sqlite3: 'daemon/store',
  koa: 'daemon/http',
  '@koa/router': 'daemon/http',
  'prom-client': 'daemon/http',
  'smtp-server': 'daemon/mail',
  nodemailer: 'daemon/mail',
  '@peculiar/x509': 'daemon/cluster',
  commander: 'cli',
  got: 'cli',
  ink: 'cli/tui',
  react: 'cli/tui',
};
/** Both programs read their arguments with commander, and what is no JSON API is fetched by its command. */
const alsoIn: Record<string, string[]> = {commander: ['daemon', 'cli/commands', 'man'], got: ['cli/commands']};

const maxLines = 300;

interface Source {
  /** Relative to the root, with slashes. */
  path: string;
  text: string;
  /** Of files here: their path. Of packages: their name. */
  imports: {local: string[]; packages: string[]};
}

const importPattern = /^\s*(?:import|export)\b[^'";]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\('([^']+)'\)/gm;

const importsOf = (path: string, text: string): Source['imports'] => {
  const specifiers = [...text.matchAll(importPattern)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
  const local = specifiers.filter(name => name.startsWith('.')).map(name => join(dirname(path), name));
  const packages = specifiers
    .filter(name => !name.startsWith('.') && !name.startsWith('node:'))
    .map(name => /^(@[^/]+\/[^/]+|[^/]+)/.exec(name)?.[0] ?? name);
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

const product = await sourcesIn('shared', 'daemon', 'cli', 'man');
const rooms = Object.keys(mayImport).toSorted((a, b) => b.length - a.length);
const roomOf = (path: string): string => rooms.find(room => path.startsWith(`${room}/`)) ?? '';

test('every import is found, and every file is in a room', t => {
  t.true(product.length > 100);
  t.true(product.reduce((sum, {imports}) => sum + imports.local.length, 0) > 300);
  t.deepEqual(
    product.filter(({path}) => roomOf(path) === '').map(({path}) => path),
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

test('imports point one way', t => {
  const wrong = product.flatMap(({path, imports}) =>
    imports.local
      .filter(to => to.endsWith('.ts') || to.endsWith('.tsx'))
      .filter(to => roomOf(to) !== roomOf(path) && !mayImport[roomOf(path)]?.includes(roomOf(to)))
      .map(to => `${path} → ${to}`),
  );

  t.deepEqual(wrong, []);
});

test('what only one room may know is known in that room only', t => {
  const wrong = product.flatMap(({path, imports}) =>
    imports.packages
      .filter(name => {
        const room = keptIn[name];
        return room !== undefined && ![room, ...(alsoIn[name] ?? [])].includes(roomOf(path));
      })
      .map(name => `${path} → ${name}`),
  );

  t.deepEqual(wrong, []);
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

test(`no file of the product is longer than ${maxLines} lines`, t => {
  t.deepEqual(
    product.filter(({text}) => text.split('\n').length > maxLines).map(({path}) => path),
    [],
  );
});
