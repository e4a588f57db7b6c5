// Documentation: the README as an entry point and the pages behind it. Every link leads to an existing target, and every table of
// contents is complete.
import {existsSync} from 'node:fs';
import {readdir, readFile} from 'node:fs/promises';
import {dirname, join, normalize} from 'node:path';
import test from 'ava';
import {leavesOf, readConfig} from '../daemon/config/load.ts';
import {configSchema} from '../daemon/config/schema.ts';
import {verdicts} from '../daemon/mail/mail-decision.ts';
import {fixedKeys} from '../daemon/node/live-settings.ts';
import {type Heading, type Page, parsePage} from './helpers/markdown.ts';

const docs = (await readdir('docs')).filter(name => name.endsWith('.md')).map(name => join('docs', name));
const paths = ['README.md', 'docs/openapi/README.md', ...docs];
const pages = new Map<string, Page>(
  await Promise.all(paths.map(async path => [path, parsePage(await readFile(path, 'utf8'))] as const)),
);
const readPage = async (path: string): Promise<Page> => pages.get(path) ?? parsePage(await readFile(path, 'utf8'));

const operations = await readFile('docs/operations.md', 'utf8');
const rows = operations.split('\n').filter(line => line.startsWith('| `'));

/** Finds `a.b`, or `.b` in a row that begins with another key of the same section. */
const isInTable = (path: string[]): boolean => {
  const [last = '', section = ''] = [path.at(-1), path.slice(0, -1).join('.')];
  return rows.some(
    row => row.includes(`\`${path.join('.')}\``) || (row.startsWith(`| \`${section}.`) && row.includes(`\`.${last}\``)),
  );
};

test('docs/operations.md names every configuration key', t => {
  const missing = leavesOf(configSchema).filter(({path}) => !isInTable(path));

  t.deepEqual(
    missing.map(({path}) => path.join('.')),
    [],
  );
});

const keys = leavesOf(configSchema).map(({path}) => path.join('.'));
const sections = new Set(keys.filter(key => key.includes('.')).map(key => key.split('.')[0] ?? ''));

/** What looks like a key of a section, with or without a value: `smtp.listen`, `scanner.type: rspamd`. */
const namedKeys = (text: string): string[] =>
  [...text.matchAll(/`([a-z]+)\.([a-z_]+(?:\.[a-z_]+)*)(?::? [^`\n]*)?`/g)]
    .filter(([, section = '']) => sections.has(section))
    .map(([, section, rest]) => `${section}.${rest}`);

/** A folder that `mfd migrate` leaves. */
const notKeys = new Set(['spool.migrated']);

test('every key of the configuration that a page names is one', t => {
  const unknown = [...pages].flatMap(([path, {lines}]) =>
    namedKeys(lines.join('\n'))
      .filter(key => !keys.some(known => known === key || known.startsWith(`${key}.`)) && !notKeys.has(key))
      .map(key => `${path}: ${key}`),
  );

  t.deepEqual(unknown, []);
  t.deepEqual(namedKeys('`smtp.lisen`, `api.listen: 0.0.0.0:1`, `list.sort`, `dmarc`'), ['smtp.lisen', 'api.listen']);
});

test('every example of mfd.yaml on the pages is a valid configuration', async t => {
  const examples = [...pages].flatMap(([path, {lines}]) =>
    [...lines.join('\n').matchAll(/^```ya?ml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => ({path, text})),
  );
  const ours = examples.filter(({text}) => sections.has(/^([a-z]+):/m.exec(text)?.[1] ?? ''));

  t.true(ours.length > 2, String(ours.length));
  for (const {path, text} of ours) {
    // Its files need not be here.
    const withoutFiles = text.replace(/^ *\w+_file:.*\n/gm, '');
    await t.notThrowsAsync(readConfig(withoutFiles, path, {}), text);
  }
});

test('docs/operations.md names the keys that wait for a restart, and no others', t => {
  const [, list = ''] = /wait for a restart[^:]*:([^.]*(?:\.[a-z][^.]*)*)\./.exec(operations) ?? [];

  t.deepEqual(
    [...list.matchAll(/`([^`]+)`/g)].map(([, key]) => key),
    fixedKeys,
  );
});

test('docs/operations.md explains every verdict that a missing mail can have in the log, and no others', t => {
  const named = [...operations.matchAll(/^\| verdict `([a-z]+)`/gm)].map(([, verdict]) => verdict);

  t.deepEqual(named.toSorted(), [...verdicts].toSorted());
});

test('docs/operations.md says what a purge deletes, and how to remove what it leaves, in the words of the package', async t => {
  const postrm = await readFile('daemon/deploy/debian/postrm', 'utf8');
  const [, command = ''] = /any more: (.*)$/m.exec(postrm) ?? [];

  t.true(command.startsWith('rm -rf'), command);
  t.true(operations.includes(`\n${command.replace('$data', '/var/lib/mfd')} `), command);
});

/** Undefined for a link with an existing target. */
const problemOf = async (from: string, target: string): Promise<string | undefined> => {
  const [path = '', anchor] = target.split('#');
  const to = path === '' ? from : normalize(join(dirname(from), path));
  if (!existsSync(to)) return `${from}: ${target} is not there`;
  if (anchor === undefined) return undefined;
  const {headings} = await readPage(to);
  return headings.some(heading => heading.anchor === anchor) ? undefined : `${from}: ${to} has no heading #${anchor}`;
};

test('every link between the pages leads to a file that is there, and to a heading of it', async t => {
  const links = [...pages].flatMap(([from, {links: found}]) => found.map(({target}) => ({from, target})));
  const inside = links.filter(({target}) => !/^[a-z]+:/.test(target));
  const problems = await Promise.all(inside.map(async ({from, target}) => problemOf(from, target)));

  t.deepEqual(
    problems.filter(problem => problem !== undefined),
    [],
  );
  t.true(inside.length > 50, String(inside.length));
});

test('a link to a heading that is not there would be noticed', async t => {
  t.is(await problemOf('README.md', '#nowhere'), 'README.md: README.md has no heading #nowhere');
  t.is(await problemOf('docs/api.md', 'nowhere.md'), 'docs/api.md: nowhere.md is not there');
  t.is(await problemOf('docs/api.md', '../README.md#try-it'), undefined);
  t.deepEqual(parsePage('# A `b` (c)\n```\n# no\n[no](no)\n```\n## Again\n## Again\n[x](y#z) `[no](no)`').headings, [
    {level: 1, text: 'A `b` (c)', anchor: 'a-b-c'},
    {level: 2, text: 'Again', anchor: 'again'},
    {level: 2, text: 'Again', anchor: 'again-1'},
  ]);
});

/** The expected table of contents: all headings below the title, in their order. */
const contentsOf = ({headings}: Page): {text: string; target: string}[] =>
  headings.filter(({level}) => level > 1).map(({text, anchor}: Heading) => ({text, target: `#${anchor}`}));

test('README and every page begin with what they are for and a table of contents that names all of their headings', t => {
  for (const path of ['README.md', ...docs]) {
    const page = pages.get(path) as Page;
    const first = page.lines.findIndex(line => line.startsWith('- ['));
    const beyond = page.lines.findIndex((line, at) => at > first && line === '');
    const contents = page.lines.slice(first, beyond).join('\n');

    t.deepEqual(parsePage(contents).links, contentsOf(page), path);
    t.is(page.headings.filter(({level}) => level === 1).length, 1, path);
    t.true(page.lines.slice(1, first).join(' ').trim().length > 100, `${path}: what is it for?`);
  }
});

test('README has at most 250 lines, and a link to every page', t => {
  const {lines, links} = pages.get('README.md') as Page;

  t.true(lines.length <= 250, String(lines.length));
  t.deepEqual(
    docs.filter(path => !links.some(({target}) => target === path)),
    [],
  );
});
