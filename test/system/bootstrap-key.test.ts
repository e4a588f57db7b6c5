// `mfd bootstrap-key` run as root, on a node that belongs to another user.
import {chmod, chown, copyFile, readdir, rename, stat, symlink} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {makeNode, mfdFile, nodeFolder, run} from '../helpers/node.ts';
import {openTestStore, testFolder} from '../helpers/store.ts';

const asRoot = process.getuid?.() === 0 ? test : test.skip;
const uid = 12_345;

const arrange = async (t: ExecutionContext): Promise<string> => {
  const {root, xdgConfigHome} = await nodeFolder(t);
  const {data} = await makeNode(['init', '--data', join(root, 'data')], {env: {XDG_CONFIG_HOME: xdgConfigHome}});
  for (const name of ['', ...(await readdir(data, {recursive: true}))]) await chown(join(data, name), uid, uid);
  await chmod(dirname(data), 0o755);
  return data;
};

const keysIn = async (file: string): Promise<number> => {
  const store = await openTestStore(file);
  try {
    return (await store.config.listApiKeys()).length;
  } finally {
    await store.close();
  }
};

asRoot('root makes a key in the node of another user (needs root)', async t => {
  const data = await arrange(t);

  const {code, stdout, stderr} = await run(mfdFile, ['bootstrap-key', '--data', data, '--force']);

  t.is(code, 0, stderr);
  t.regex(stdout, /^mfk_\w{38}\n$/);
  for (const name of await readdir(data, {recursive: true})) t.is((await stat(join(data, name))).uid, uid, name);
});

asRoot('a link in the folder of another user has root write no database of a third (needs root)', async t => {
  const data = await arrange(t);
  const other = join(await testFolder(t), 'mfd.db');
  await chmod(dirname(other), 0o755);
  await copyFile(join(data, 'mfd.db'), other);
  await chmod(other, 0o600);
  await rename(join(data, 'mfd.db'), join(data, 'own.db'));
  await symlink(other, join(data, 'mfd.db'));

  const {code, stdout, stderr} = await run(mfdFile, ['bootstrap-key', '--data', data, '--force']);

  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr, /^mfd: the database cannot be used: /);
  t.is(await keysIn(other), 1);
});
