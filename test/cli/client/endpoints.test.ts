// That mfctl asks nothing of a node that the administrators' description does not have.
import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test from 'ava';
import {isDescribed} from '../../helpers/cli/endpoints.ts';

const cli = fileURLToPath(new URL('../../../cli', import.meta.url));

/** Text after these is a path whatever it looks like; other text is one when it begins as one and has more than one segment. */
const pathText =
  /(?:\bpath: |\bpath = |\bask(?:<[^>]*>)?\(|\bdownload\()(['`])([a-z][^'`]*)\1|(['`])((?:auth|domains|mail|cluster)\/[^'`]*)\3/g;

const pathsIn = (source: string): string[] =>
  [...source.matchAll(pathText)]
    .map(([, , named, , bare]) => named ?? bare ?? '')
    .map(path => `/${path.replace(/\$\{[^}]*\}/g, '{}').split('?')[0]}`);

test('every path that is in the source of mfctl is described', async t => {
  const files = (await readdir(cli, {recursive: true})).filter(file => /\.tsx?$/.test(file));
  const found = new Set<string>();
  for (const file of files) for (const path of pathsIn(await readFile(join(cli, file), 'utf8'))) found.add(path);

  const paths = [...found].filter(path => !path.startsWith('/openapi')).toSorted();

  for (const known of ['/audit', '/events', '/mail/quarantine/{}', '/domains/{}/dkim-keys/{}', '/cluster/nodes/{}'])
    t.true(found.has(known), `${known} is found`);
  t.deepEqual(
    paths.filter(path => !isDescribed(path)),
    [],
  );
});

test('a path that is not described is noticed', t => {
  t.false(isDescribed('/domains/{}/aliases'));
  t.false(isDescribed('/domains', 'PATCH'));
  t.true(isDescribed('/mail/quarantine/mx1/abcdef/release', 'POST'));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
  const source = "client.send({path: `domains/${await find(id)}/aliases`, query: {x: 'domains'}})";
  t.deepEqual(pathsIn(source), ['/domains/{}/aliases']);
});
