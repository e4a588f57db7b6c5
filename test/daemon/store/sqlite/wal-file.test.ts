// A write-ahead log whose bytes were changed after a kill: with its index, or without it after a power cut.
import {copyFile, readFile, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {readState, writeState} from '../../../../daemon/store/sql/local-state.ts';
import {openDatabase} from '../../../../daemon/store/sqlite/database.ts';
import {findDamage} from '../../../../daemon/store/sqlite/integrity.ts';
import {findLostCommits} from '../../../../daemon/store/sqlite/wal-file.ts';
import {testDatabase, testFolder} from '../../../helpers/store.ts';

const commits = 20;
const frameBytes = 24 + 4096;

/** The files of an open database, as a kill would leave them, after `commits` numbered commits. */
const killed = async (t: ExecutionContext) => {
  const {database, filename} = await testDatabase(t, {isDurable: false});
  for (let n = 1; n <= commits; n += 1)
    await database.transaction(async tx => {
      await writeState(tx, 'latest', String(n));
      await writeState(tx, `long ${n}`, 'x'.repeat(3000));
    });
  const copy = join(await testFolder(t), 'mfd.db');
  for (const end of ['', '-wal', '-shm']) await copyFile(`${filename}${end}`, `${copy}${end}`);
  const wal = `${copy}-wal`;
  const change = async (work: (log: Buffer) => Buffer | undefined) => {
    const log = await readFile(wal);
    await writeFile(wal, work(log) ?? log);
  };
  return {copy, wal, change, frames: ((await readFile(wal)).length - 32) / frameBytes};
};

/** The state of the database after recovery. */
const latestIn = async (filename: string) => {
  const database = await openDatabase(filename);
  try {
    return {latest: await readState(database.read, 'latest'), damage: await findDamage(database)};
  } finally {
    await database.close();
  }
};

test('a log that is whole has lost nothing', async t => {
  const {copy} = await killed(t);

  t.is(await findLostCommits(copy), undefined);
  await rm(`${copy}-shm`);
  t.is(await findLostCommits(copy), undefined);
});

for (const [where, at] of [
  ['the header', (): number => 17],
  ['the first frame', () => 32 + 2000],
  ['a sum', (frames: number) => 32 + Math.floor(frames / 2) * frameBytes + 18],
  ['the last frame', (frames: number) => 32 + (frames - 1) * frameBytes + 100],
] as const)
  test(`one bit flipped in ${where} is found, and what was committed before it is there`, async t => {
    const {copy, change, frames} = await killed(t);
    await change(log => {
      log.writeUInt8(log.readUInt8(at(frames)) ^ 4, at(frames));
      return undefined;
    });

    const lost = await findLostCommits(copy);
    const {latest, damage} = await latestIn(copy);

    t.is(lost?.isCopied, 'no');
    t.true((lost?.atByte ?? 0) <= at(frames));
    t.true(Number(latest ?? 0) < commits);
    t.is(damage, undefined);
    t.is(await findLostCommits(copy), undefined);
  });

test('where the database has what the damaged part of the log says, that is told', async t => {
  const {database, filename} = await testDatabase(t, {isDurable: false});
  for (let n = 1; n <= commits; n += 1) await writeState(database.write, 'latest', String(n));
  await database.write.raw('PRAGMA wal_checkpoint(PASSIVE)');
  const copy = join(await testFolder(t), 'mfd.db');
  for (const end of ['', '-wal', '-shm']) await copyFile(`${filename}${end}`, `${copy}${end}`);
  const log = await readFile(`${copy}-wal`);
  await writeFile(`${copy}-wal`, log.fill(0, 32 + 2 * frameBytes, 32 + 3 * frameBytes));

  const lost = await findLostCommits(copy);
  for (const end of ['-wal', '-shm']) await rm(`${copy}${end}`);

  t.is(lost?.isCopied, 'all');
  t.is((await latestIn(copy)).latest, String(commits));
});

test('a log that is gone, or ends too soon, is missed', async t => {
  const {copy, wal, change} = await killed(t);

  await change(log => log.subarray(0, log.length - 2 * frameBytes));
  t.truthy(await findLostCommits(copy));
  await rm(wal);
  t.truthy(await findLostCommits(copy));
});

test('after a power cut, which leaves no index, half a last commit is no damage, and two whole ones beyond a hole are', async t => {
  const torn = await killed(t);
  await rm(`${torn.copy}-shm`);
  await torn.change(log => log.fill(0, log.length - frameBytes));
  const holed = await killed(t);
  await rm(`${holed.copy}-shm`);
  await holed.change(log => log.fill(0, 32 + (holed.frames - 12) * frameBytes, 32 + (holed.frames - 11) * frameBytes));

  t.is(await findLostCommits(torn.copy), undefined);
  t.truthy(await findLostCommits(holed.copy));
});
