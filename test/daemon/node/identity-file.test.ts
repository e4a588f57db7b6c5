import {readdir, readFile, stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {CommandError} from '../../../daemon/node/command-error.ts';
import {readIdentityFile, writeIdentityFile} from '../../../daemon/node/identity-file.ts';
import {testFolder} from '../../helpers/test-folder.ts';

test('the identity is read as it was written, and the file is for its owner only', async t => {
  const folder = await testFolder(t);
  const file = join(folder, 'node.json');

  await writeIdentityFile(file, {nodeId: 'mx1.example', nodeNo: 65_535});
  await writeIdentityFile(file, {nodeId: 'mx1.example', nodeNo: 7});

  t.deepEqual(await readIdentityFile(file), {nodeId: 'mx1.example', nodeNo: 7});
  t.deepEqual(JSON.parse(await readFile(file, 'utf8')), {node_id: 'mx1.example', node_no: 7});
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.deepEqual(await readdir(folder), ['node.json']);
});

test('a file that is gone, cut off or of no node is refused with what to do', async t => {
  const file = join(await testFolder(t), 'node.json');
  const refusal = async () => (await t.throwsAsync(readIdentityFile(file), {instanceOf: CommandError}))?.message;

  t.is(await refusal(), `${file} is gone; restore it from a backup, or make a new node in another folder`);
  const wrong = ['', '{"node_id":"a"', '[]', '{"node_id":"a"}', '{"node_id":"a","node_no":0}', '{"node_id":"a/b","node_no":1}'];
  for (const text of [...wrong, '{"node_id":"a","node_no":1.5}', '{"node_id":"a","node_no":1,"more":1}']) {
    await writeFile(file, text);
    t.is(await refusal(), `${file} does not say which node this is; restore it from a backup`, text);
  }
});
