// The installed pages for operators: links from an installed page lead to the other installed pages.
import {execFileSync} from 'node:child_process';
import {readFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {packageTree} from '../../daemon/deploy/debian/tree.ts';
import packageJson from '../../package.json' with {type: 'json'};
import {isInstalled} from '../helpers/installed.ts';
import {parsePage} from '../helpers/markdown.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const home = 'usr/share/doc/mfd';

/** Pages for developers, and the changelog, which Debian wants as changelog.gz. */
const ofTheSource = /^(CHANGELOG|daemon\/\w+\/DESIGN)\.md$/;

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
