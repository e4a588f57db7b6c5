import {chown, mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {asOwnerOf} from '../../../daemon/commands/as-owner.ts';

const isRoot = process.getuid?.() === 0;
// User and group ids belong to the whole process.
const asRoot = isRoot ? test.serial : test.serial.skip;
const titleOf = (title: string): string => (isRoot ? title : `${title} (needs root)`);

const rights = () => ({
  uid: process.geteuid?.(),
  gid: process.getegid?.(),
  groups: process.getgroups?.().toSorted((a, b) => a - b),
});

const folderOf = async (t: ExecutionContext, uid: number): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'mfd-owner-'));
  t.teardown(async () => rm(folder, {recursive: true}));
  await chown(folder, uid, uid);
  return folder;
};

asRoot(titleOf('root works with the owner’s rights and groups and no others, and has its own back afterwards'), async t => {
  const folder = await folderOf(t, 12_345);
  const own = process.getgroups?.() ?? [];
  t.teardown(() => process.setgroups?.(own));
  process.setgroups?.([0, 4, 27]);
  const before = rights();

  const meanwhile = await asOwnerOf(folder, async () => rights());
  const afterwards = rights();
  await t.throwsAsync(
    asOwnerOf(folder, async () => {
      throw new Error('in the middle');
    }),
  );

  t.deepEqual(meanwhile, {uid: 12_345, gid: 12_345, groups: [12_345]});
  t.deepEqual(afterwards, before);
  t.deepEqual(rights(), before);
});

asRoot(titleOf('root works as root where the folder is root’s, or not there'), async t => {
  const before = rights();

  t.deepEqual(await asOwnerOf(await folderOf(t, 0), async () => rights()), before);
  t.deepEqual(await asOwnerOf('/nonexistent', async () => rights()), before);
});
