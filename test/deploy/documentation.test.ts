// The installed pages for operators: links from an installed page lead to the other installed pages.
import {execFileSync} from 'node:child_process';
import {readdir, readFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {packageTree} from '../../daemon/deploy/debian/tree.ts';
import {dataFolder} from '../../daemon/node/data-folder.ts';
import packageJson from '../../package.json' with {type: 'json'};
import {isInstalled} from '../helpers/installed.ts';
import {parsePage} from '../helpers/markdown.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const home = 'usr/share/doc/mfd';

/** Pages for developers, and the changelog, which Debian wants as changelog.gz. */
const ofTheSource = /^(CHANGELOG|daemon\/[\w/]+\/DESIGN)\.md$/;

test('the Debian package has README and its pages, and their links lead to installed files', async t => {
  const entries = await packageTree({root, version: packageJson.version});
  const installed = new Map(entries.map(({path, content}) => [path, content]));
  const pages = entries.filter(({path}) => path.startsWith(home) && path.endsWith('.md'));
  const links = await Promise.all(
    pages.map(async ({path, content}) => {
      const text = await readFile('file' in content ? content.file : '', 'utf8');
      return parsePage(text).links.map(({target}) => ({path, target: target.split('#')[0] ?? ''}));
    }),
  );
  const inside = links.flat().filter(({target}) => target !== '' && !/^[a-z]+:/.test(target) && !ofTheSource.test(target));

  t.deepEqual(
    inside.filter(({path, target}) => !installed.has(join(dirname(path), target))),
    [],
  );
  t.true(inside.length > 20, String(inside.length));
  t.true(installed.has(`${home}/docs/dashboard-cluster.svg`));
  t.false([...installed.keys()].some(path => path.startsWith(home) && path.endsWith('.ts')));
});

/** What the reader makes, or what the pages show of a machine of theirs. The configuration has one place only, and it is none of these. */
const ofTheReader = [
  ...['/etc/mfd-store.pw', '/etc/mfd/smarthost.password', '/etc/mfctl/', '/etc/sudoers.d/mfd', '/etc/postfix/mfd'],
  ...[
    '/var/backups/mfd',
    '/var/log/mfd/',
    '/var/lib/mfd.before',
    '/var/lib/mfd.newer',
    '/var/lib/mfd/before-repair-',
    '/srv/mfd/',
  ],
];
const isOfTheReader = (path: string): boolean => ofTheReader.some(prefix => path.startsWith(prefix)) && !path.endsWith('.yaml');

/** Paths with `mfd` in them, apart from endings such as `-DATE` or `/*`. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/(?<![\w./~-])\/(?:etc|var|usr|run|srv|opt)\/[\w./@-]*/g)]
    .map(([path]) => path.replace(/[./]+$/, ''))
    .filter(path => /mfd|mfctl/.test(path));

test('every path of mfd that a page names is installed, belongs to a node, or is made by the reader', async t => {
  const entries = await packageTree({root, version: packageJson.version});
  const data = Object.values(dataFolder('/var/lib/mfd'));
  const known = [
    ...entries.map(({path}) => `/${path}`),
    ...data,
    '/var/lib/mfd/spool/held',
    '/run/mfd-postfix.sock',
    '/etc/postfix/main.cf.before-mfd',
  ];
  const isKnown = (path: string) => isOfTheReader(path) || known.some(one => one === path || one.startsWith(`${path}/`));
  const names = [...(await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)];
  const manuals = ['mfd.8', 'mfd.yaml.5', 'mfctl.1'].map(name => `man/${name}`);
  const texts = await Promise.all(['README.md', ...names, ...manuals].map(async name => readFile(join(root, name), 'utf8')));

  t.deepEqual(
    texts.flatMap(text => pathsIn(text.replaceAll('\\-', '-'))).filter(path => !isKnown(path)),
    [],
  );
  t.false(isKnown('/etc/mfd/mfd.yaml'));
  t.deepEqual(pathsIn('in `/etc/mfd/mfd.yaml`. See ./var/lib/mfd'), ['/etc/mfd/mfd.yaml']);
});

(isInstalled('npm') ? test : test.skip)('the npm package has the same pages (needs npm)', async t => {
  const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {cwd: root, encoding: 'utf8'});
  const [{files}] = JSON.parse(said) as [{files: {path: string}[]}];
  const docs = files.map(({path}) => path).filter(path => path.startsWith('docs/'));

  for (const name of ['operations.md', 'cluster.md', 'dashboard-cluster.svg', 'openapi/README.md'])
    t.true(docs.includes(`docs/${name}`), name);
  t.deepEqual(
    docs.filter(path => path.endsWith('.ts')),
    [],
  );
});
