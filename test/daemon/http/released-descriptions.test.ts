// Compatibility of the descriptions with clients of earlier releases. docs/openapi/README.md says how a release updates the
// files.
import {readdir, readFile} from 'node:fs/promises';
import test from 'ava';
import {parse} from 'yaml';
import {adminText, curatedText} from '../../../daemon/http/api/openapi-text.ts';
import manifest from '../../../package.json' with {type: 'json'};
import {
  breakingDifferences,
  changeBetween,
  type DescribedApi,
  deprecationFaults,
  earlyRemovals,
  hasGrown,
} from '../../helpers/description-differences.ts';

const root = new URL('../../../', import.meta.url);
const folder = new URL('docs/openapi/', root);

/** Releases of mfd, newest first: the first heading of the changelog is the unreleased one. */
const headings = [...(await readFile(new URL('CHANGELOG.md', root), 'utf8')).matchAll(/^## (\S+)/gm)].map(
  ([, heading]) => heading,
);
const releases = headings.filter(heading => heading !== 'Unreleased');
const files = await readdir(folder);

const kinds = [
  {kind: 'curated', suffix: '.yaml', served: curatedText},
  {kind: 'administrators’', suffix: '-admin.yaml', served: adminText},
];

/** The newest release that has a description of this kind. */
const newest = (suffix: string): string => releases.find(version => files.includes(version + suffix)) ?? '';
const kept = async (file: string) => parse(await readFile(new URL(file, folder), 'utf8')) as DescribedApi;

for (const {kind, suffix, served} of kinds) {
  const version = newest(suffix);
  const now = parse(served) as DescribedApi;

  test(`the ${kind} description breaks no client of ${version}, unless its major version has grown`, async t => {
    const old = await kept(version + suffix);

    t.true(Object.keys(old.paths).length > 5);
    const differences = breakingDifferences(old, now);
    if (!hasGrown(old.info.version, now.info.version, 'major'))
      t.deepEqual(
        differences.map(({what}) => what),
        [],
        'breaks clients',
      );
    t.deepEqual(earlyRemovals(differences, new Date().toISOString().slice(0, 10)), []);
  });

  test(`the version of the ${kind} description has grown as its differences from ${version} ask for`, async t => {
    const old = await kept(version + suffix);

    const change = changeBetween(old, now);
    t.true(
      hasGrown(old.info.version, now.info.version, change),
      `${old.info.version} → ${now.info.version} is no ${change} version`,
    );
  });

  test(`whatever the ${kind} description calls deprecated is announced six months before it goes away`, t => {
    t.deepEqual(deprecationFaults(parse(served)), []);
  });
}

test('every release since 0.4.0 has kept the descriptions that it serves', async t => {
  const since = releases.slice(0, releases.indexOf('0.4.0'));
  const expected = ['0.4.0.yaml', ...since.flatMap(version => kinds.map(({suffix}) => version + suffix))];

  t.deepEqual(
    expected.filter(file => !files.includes(file)),
    [],
  );
  if (headings[0] === 'Unreleased') return;
  for (const {suffix, served} of kinds)
    t.is(await readFile(new URL(manifest.version + suffix, folder), 'utf8'), served, 'npm run openapi');
});
