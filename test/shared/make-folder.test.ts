import {stat, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {makeFolder} from '../../shared/make-folder.ts';
import {testFolder} from '../helpers/test-folder.ts';

test('a folder and those above it are made for their owner only, and once', async t => {
  const folder = await testFolder(t);
  const path = join(folder, 'a/b/c');

  t.true(await makeFolder(path));
  t.false(await makeFolder(path));

  for (const made of [path, join(folder, 'a')]) t.is((await stat(made)).mode & 0o777, 0o700);
});

test('of many who make the same folders at once nobody fails', async t => {
  const path = join(await testFolder(t), 'a/b/c');

  const made = await Promise.all(Array.from({length: 20}, async () => makeFolder(path)));

  t.is(made.filter(Boolean).length, 1);
});

test('a folder that cannot be made is an error, with the reason', async t => {
  const folder = await testFolder(t);
  await writeFile(join(folder, 'file'), '');

  await t.throwsAsync(makeFolder(join(folder, 'file')), {code: 'EEXIST'});
  await t.throwsAsync(makeFolder(join(folder, 'file/below')), {code: 'ENOTDIR'});
});

(process.platform === 'linux' ? test : test.skip)('a folder in /proc is an error and no endless attempt', async t => {
  await t.throwsAsync(makeFolder('/proc/x'), {code: 'ENOENT'});
  await t.throwsAsync(makeFolder('/proc/x/y'), {code: 'ENOENT'});
});
