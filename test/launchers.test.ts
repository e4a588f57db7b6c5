// Launchers, before the first line of the built program.
import {cp, mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {run} from './helpers/program.ts';
import {testFolder} from './helpers/test-folder.ts';

const root = join(import.meta.dirname, '..');

/** Says as it is loaded whether a name from outside can reach the prototype of all objects. */
const attack = `
  const tree = {};
  const name = ['__proto__'][0];
  tree[name] ??= {};
  tree[name].polluted = 'yes';
  require('node:fs').writeSync(1, 'polluted: ' + {}.polluted);
`;

for (const name of ['mfd', 'mfctl'])
  test(`what ${name} loads finds no way from a name to the prototype of all objects`, async t => {
    const folder = await testFolder(t);
    await mkdir(join(folder, 'bin'));
    await cp(join(root, 'bin', name), join(folder, 'bin', name));
    await writeFile(join(folder, 'bin/package.json'), '{"type": "commonjs"}');
    await writeFile(join(folder, 'bin/bundle.js'), `exports.loadBundle = () => { ${attack} return {main: async () => 0}; };`);

    const {code, stdout} = await run(join(folder, 'bin', name), ['whoami']);

    t.deepEqual({code, stdout}, {code: 0, stdout: 'polluted: undefined'});
  });

test('the attack of these tests works where nothing stands against it', async t => {
  const {stdout} = await run('-e', [attack]);

  t.is(stdout, 'polluted: yes');
});
