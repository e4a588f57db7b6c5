import {execFileSync} from 'node:child_process';
import {appendFile, copyFile, mkdir, rename, rm, stat, truncate, utimes, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createLogFile} from '../../../../daemon/mail/postfix-log/log-file.ts';
import type {LogFollower} from '../../../../daemon/mail/postfix-log/log-follower.ts';
import {testFolder} from '../../../helpers/test-folder.ts';

/** A line about the mail with this number. */
const lineOf = (n: number): string =>
  `Nov 27 14:38:47 mx postfix/smtp[6805]: 4jbbd${n}z: to=<ben@example.com>, relay=mx[192.0.2.5]:25, delay=1, delays=0/0/1/0, dsn=2.0.0, status=sent (250 OK)\n`;
const linesOf = (...numbers: number[]): string => numbers.map(lineOf).join('');

/** A log, and what was taken of it. What is stored outlives the followers. */
const startLog = async (t: ExecutionContext) => {
  const folder = await testFolder(t);
  const path = join(folder, 'mail.log');
  const taken: number[] = [];
  let place: string | undefined;
  let clock = 1_000_000;
  let follower: LogFollower | undefined;
  let isStoreAway = false;
  let onTake = (): void => {};
  const killed: LogFollower[] = [];
  t.teardown(async () => {
    isStoreAway = true;
    await Promise.all([follower, ...killed].map(async one => one?.close()));
  });

  const open = (): LogFollower => {
    follower = createLogFile({
      path,
      readPlace: async () => place,
      async take(lines, next) {
        if (isStoreAway) throw new Error('the store is away');
        onTake();
        taken.push(...lines.map(({queueId}) => Number(/4jbbd(\d+)z/.exec(queueId)?.[1])));
        place = next;
      },
      now: Date.now,
      monotonic: () => clock,
    });
    return follower;
  };
  /** Several looks, as long as lines have to wait. */
  const follow = async () => {
    const current = follower ?? open();
    for (let looks = 0; looks < 6; looks += 1) {
      await current.follow();
      clock += 2500;
    }
  };
  return {
    path,
    taken,
    follow,
    look: async () => (follower ?? open()).follow(),
    pass: (ms: number) => {
      clock += ms;
    },
    place: () => place,
    onTake: (run: () => void) => {
      onTake = run;
    },
    storeIsAway: (isAway: boolean) => {
      isStoreAway = isAway;
    },
    /** In the middle of what it reads. */
    stopSoon: () => follower?.stop(),
    /** The node stops. */
    async stop() {
      await follower?.close();
      follower = undefined;
    },
    /** The node is killed: nothing is kept. */
    kill() {
      if (follower) killed.push(follower);
      follower = undefined;
    },
    write: async (...numbers: number[]) => appendFile(path, linesOf(...numbers)),
  };
};

/** Rotated files are told apart by their times. */
const writtenAt = async (path: string, secondsAgo: number) => {
  const then = Date.now() / 1000 - secondsAgo;
  await utimes(path, then, then);
};

/** The first line was there before the first look, and the second one was taken. */
const startTaken = async (t: ExecutionContext) => {
  const log = await startLog(t);
  await log.write(1);
  await log.follow();
  await log.write(2);
  await log.follow();
  return log;
};

test('what is written after the first look is taken, once it is old enough', async t => {
  const log = await startLog(t);
  await log.write(1, 2);
  await log.follow();

  await log.write(3);
  await log.look();
  log.pass(1900);
  await log.look();
  t.deepEqual(log.taken, []);
  log.pass(200);
  await log.look();
  await log.write(4);
  await log.follow();

  t.deepEqual(log.taken, [3, 4]);
});

test('a line that is being written is taken when it is complete', async t => {
  const log = await startLog(t);
  const [begin, end] = [lineOf(1).slice(0, 60), lineOf(1).slice(60)];
  await writeFile(log.path, '');
  await log.follow();

  await appendFile(log.path, begin);
  await log.follow();
  t.deepEqual(log.taken, []);
  await appendFile(log.path, end + lineOf(2));
  await log.follow();

  t.deepEqual(log.taken, [1, 2]);
});

test('where the first look is in the middle of a line, this line is not read', async t => {
  const log = await startLog(t);
  await writeFile(log.path, `a client said: `);
  await log.follow();

  await appendFile(log.path, linesOf(1, 2));
  await log.follow();

  t.deepEqual(log.taken, [2]);
});

test('a stop and a kill lose no line and repeat none', async t => {
  const log = await startTaken(t);

  log.kill();
  await log.write(3);
  await log.follow();
  await log.stop();
  await log.write(4);
  await log.follow();
  log.kill();
  await log.follow();

  t.deepEqual(log.taken, [2, 3, 4]);
});

test('lines that could not be stored come again, and those before them do not', async t => {
  const log = await startLog(t);
  await log.write(1);
  await log.follow();
  const many = Array.from({length: 450}, (_, n) => n + 1000);
  await log.write(...many);

  log.storeIsAway(true);
  await log.look();
  log.pass(3000);
  await t.throwsAsync(log.look(), {message: 'the store is away'});
  log.storeIsAway(false);
  await log.follow();

  t.deepEqual(log.taken, many);
});

for (const [how, restart] of [
  ['goes on', async () => {}],
  ['is stopped', async (log: {stop(): Promise<void>}) => log.stop()],
  ['is killed', async (log: {kill(): void}) => log.kill()],
] as const) {
  test(`a log that is renamed and made anew loses nothing while the node ${how}`, async t => {
    const log = await startTaken(t);
    await log.write(3);
    await restart(log);

    await rename(log.path, `${log.path}.1`);
    await writeFile(log.path, '');
    await log.look();
    await log.write(5);
    await log.look();
    // syslogd writes into the old file until it is told.
    await appendFile(`${log.path}.1`, lineOf(4));
    await log.follow();
    await log.write(6);
    await log.follow();

    t.deepEqual(log.taken, [2, 3, 4, 5, 6]);
  });

  test(`a log that is copied and truncated loses nothing while the node ${how}`, async t => {
    const log = await startTaken(t);
    await log.write(3);
    await restart(log);

    await copyFile(log.path, `${log.path}-20261127`);
    await truncate(log.path);
    // It is longer than before when it is seen the next time.
    await log.write(4, 5, 6, 7, 8);
    await log.follow();
    await log.write(9);
    await log.follow();

    t.deepEqual(log.taken, [2, 3, 4, 5, 6, 7, 8, 9]);
  });
}

test('several rotations while the node was stopped lose nothing, and neither compressed files nor copies by hand are read', async t => {
  const log = await startTaken(t);
  await log.stop();

  await log.write(3);
  await rename(log.path, `${log.path}.2`);
  await writtenAt(`${log.path}.2`, 300);
  await writeFile(`${log.path}.1`, linesOf(4));
  await writtenAt(`${log.path}.1`, 200);
  await writeFile(`${log.path}.3`, linesOf(77));
  await writtenAt(`${log.path}.3`, 400);
  await writeFile(`${log.path}.4.gz`, linesOf(78));
  await writeFile(`${log.path}.bak`, linesOf(79));
  await log.write(5);
  await log.follow();

  t.deepEqual(log.taken, [2, 3, 4, 5]);
});

test('a log whose former file is gone is read from its beginning', async t => {
  const log = await startTaken(t);
  await log.stop();

  await rm(log.path);
  await log.write(3);
  await log.follow();

  t.deepEqual(log.taken, [2, 3]);
});

test('an editor that writes the log anew does not repeat its lines', async t => {
  const log = await startLog(t);
  await log.write(1);
  await log.follow();
  await log.write(2, 3);
  await log.follow();

  await copyFile(log.path, `${log.path}~`);
  await rename(`${log.path}~`, log.path);
  await log.write(4);
  await log.follow();

  t.deepEqual(log.taken, [2, 3, 4]);
});

test('a log that is away is a problem that ends when it is back, and then it is read from its beginning', async t => {
  const log = await startLog(t);
  await t.throwsAsync(log.look(), {name: 'LogUnreadable', message: /there is no such file/});
  await log.stop();

  await log.write(1);
  await log.follow();
  await rename(log.path, `${log.path}.1`);
  await log.look();
  log.pass(11_000);
  await t.throwsAsync(log.look(), {name: 'LogUnreadable'});
  await log.write(2);
  await log.follow();

  t.deepEqual(log.taken, [1, 2]);
});

test('neither a folder nor a pipe is a log, and the message has no path', async t => {
  const log = await startLog(t);
  await mkdir(log.path);

  const error = await t.throwsAsync(log.look(), {name: 'LogUnreadable', message: /it is no file/});

  t.false(error.message.includes(log.path));
  await rm(log.path, {recursive: true});
  execFileSync('mkfifo', [log.path]);
  await t.throwsAsync(log.look(), {name: 'LogUnreadable', message: /it is no file/});
});

test('a line without an end is left out, and what follows it is read from the next line on', async t => {
  const log = await startLog(t);
  await writeFile(log.path, '');
  await log.follow();

  await appendFile(log.path, `${'x'.repeat(700_000)}${lineOf(1)}${lineOf(2)}`);
  await log.follow();
  await appendFile(log.path, 'y'.repeat(600_000));
  await log.follow();
  await log.stop();
  await appendFile(log.path, linesOf(3, 4));
  await log.follow();

  t.deepEqual(log.taken, [2, 4]);
});

test('a stop does not wait until all of a long log was read, and nothing is lost or repeated', async t => {
  const log = await startLog(t);
  await writeFile(log.path, '');
  await log.follow();
  const numbers = Array.from({length: 10_000}, (_, n) => n);
  await log.write(...numbers);
  log.onTake(log.stopSoon);

  await log.look();
  log.pass(2500);
  await log.look();
  t.true(log.taken.length > 0 && log.taken.length < 5000, String(log.taken.length));
  await log.stop();
  log.onTake(() => {});
  await log.follow();

  t.deepEqual(log.taken, numbers);
});

test('a log that says nothing of mail that is known has its place kept once a minute and at the end', async t => {
  const log = await startLog(t);
  await writeFile(log.path, '');
  await log.follow();
  const first = log.place();
  await appendFile(log.path, 'Nov 27 14:38:47 mx postfix/qmgr[1]: 4jbb1j3hz1: removed\n'.repeat(10));

  await log.follow();
  t.is(log.place(), first);
  log.pass(60_000);
  await log.look();
  t.is(JSON.parse(log.place() ?? '').offset, (await stat(log.path)).size);
  await appendFile(log.path, 'Nov 27 14:38:47 mx postfix/qmgr[1]: 4jbb1j3hz1: removed\n');
  await log.follow();
  await log.stop();

  t.is(JSON.parse(log.place() ?? '').offset, (await stat(log.path)).size);
});
