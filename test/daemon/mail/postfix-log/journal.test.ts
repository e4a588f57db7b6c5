import {chmod, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {createJournal} from '../../../../daemon/mail/postfix-log/journal.ts';
import type {LogFollower} from '../../../../daemon/mail/postfix-log/log-follower.ts';
import type {DeliveryLine} from '../../../../daemon/services/events/postfix-line.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {testFolder} from '../../../helpers/test-folder.ts';

const at = Date.UTC(2026, 10, 27, 15);

const entry = (n: number, fields: object = {}): string =>
  JSON.stringify({
    __CURSOR: `s=1;i=${n}`,
    __REALTIME_TIMESTAMP: String(at * 1000 + n),
    SYSLOG_IDENTIFIER: 'postfix-out/smtp',
    MESSAGE: `4jbbd${n}z: to=<ben@example.com>, relay=mx[192.0.2.5]:25, delay=1, delays=0/0/1/0, dsn=2.0.0, status=sent (250 OK)`,
    ...fields,
  });

const linesIn = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8').catch(() => '')).trim().split('\n').filter(Boolean);

/** A program in the place of journalctl: writes how it was called, then what it is given, and stays. */
const startJournal = async (t: ExecutionContext, script: string) => {
  const folder = await testFolder(t);
  const [program, calls, pids] = ['journalctl', 'calls', 'pids'].map(name => join(folder, name)) as [string, string, string];
  await writeFile(program, `#!/bin/sh\necho "$@" >> ${calls}\n${script}\n`);
  await chmod(program, 0o755);
  const taken: DeliveryLine[] = [];
  let place: string | undefined;
  let clock = 1_000_000;
  const open = (journalctl = program): LogFollower => {
    const follower = createJournal({
      journalctl,
      readPlace: async () => place,
      async take(lines, next) {
        taken.push(...(lines as DeliveryLine[]));
        place = next;
      },
      now: () => at + 60_000,
      monotonic: () => clock,
    });
    t.teardown(follower.close);
    return follower;
  };
  return {
    taken,
    open,
    calls: async () => linesIn(calls),
    pids: async () => linesIn(pids),
    place: () => place,
    pass: (ms: number) => {
      clock += ms;
    },
  };
};

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const stays = 'exec sleep 30';
const says = (...lines: string[]): string => `cat <<'END'\n${lines.join('\n')}\nEND\n`;

test('messages of Postfix are taken from the journal, and the next run goes on after the last of them', async t => {
  const bytes = [...Buffer.from(JSON.parse(entry(3)).MESSAGE.replace('OK', '\u{e9}'), 'latin1')];
  const script = says(
    entry(1),
    entry(2, {SYSLOG_IDENTIFIER: 'sshd'}),
    'no JSON',
    entry(3, {MESSAGE: bytes}),
    entry(4, {MESSAGE: null}),
    `{"__CURSOR":"${'x'.repeat(200_000)}"}`,
    entry(5),
  );
  const journal = await startJournal(t, script + stays);
  const follower = journal.open();

  await eventually(async () => {
    await follower.follow();
    return journal.taken.length === 3;
  });
  await follower.close();
  const next = journal.open();
  await next.follow();
  const [first, second] = await eventually(async () => {
    const calls = await journal.calls();
    return calls.length === 2 && calls;
  });

  t.deepEqual(
    journal.taken.map(({queueId, reply}) => [queueId, reply]),
    [
      ['4jbbd1z', '250 OK'],
      ['4jbbd3z', '250 \ufffd'],
      ['4jbbd5z', '250 OK'],
    ],
  );
  t.is(journal.taken[0]?.at, at + 0.001);
  t.regex(first ?? '', /^--follow --no-tail .*--since=@1795791660\.000 SYSLOG_FACILITY=2$/);
  t.regex(second ?? '', /--after-cursor=s=1;i=5 SYSLOG_FACILITY=2$/);
});

test('a message waits until it is old enough', async t => {
  const young = entry(2, {__REALTIME_TIMESTAMP: String((at + 59_000) * 1000)});
  const journal = await startJournal(t, says(entry(1), young) + stays);
  const follower = journal.open();
  const untilTaken = async (count: number) =>
    eventually(async () => {
      await follower.follow();
      return journal.taken.length >= count;
    });

  await untilTaken(1);
  await follower.follow();
  t.is(journal.taken.length, 1);
  journal.pass(2000);
  await untilTaken(2);

  t.is(journal.taken.length, 2);
});

test('journalctl that ends is run again after ten seconds, and what it said is the problem', async t => {
  const journal = await startJournal(t, 'echo "the journal is broken" >&2; exit 1');
  const follower = journal.open();
  const failing = async () =>
    eventually(async () =>
      follower.follow().then(
        () => undefined,
        error => error as Error,
      ),
    );

  const error = await failing();
  t.like(error, {name: 'LogUnreadable', message: 'journalctl has ended: the journal is broken'});
  t.is((await journal.calls()).length, 1);
  journal.pass(10_000);

  await t.throwsAsync(follower.follow(), {message: error?.message}, 'not before it has run for a while');
  await eventually(async () => (await journal.calls()).length === 2);
});

test('a stop ends journalctl at once, and nothing starts it again', async t => {
  const journal = await startJournal(t, `echo $$ >> "$(dirname "$0")/pids"; ${stays}`);
  const follower = journal.open();
  await follower.follow();
  const [pid] = await eventually(async () => {
    const pids = await journal.pids();
    return pids.length > 0 && pids;
  });

  follower.stop();
  await eventually(() => !isRunning(Number(pid)));
  journal.pass(60_000);
  await follower.follow();
  await follower.close();

  t.is((await journal.calls()).length, 1);
});

test('a user who may not read the journal is told the group, and a machine without journalctl what to set', async t => {
  const hint = 'Hint: You are currently not seeing messages from other users and the system.';
  const journal = await startJournal(t, `echo "${hint}" >&2; ${stays}`);
  const follower = journal.open();
  const missing = journal.open('/nonexistent/journalctl');
  const failing = async (one: LogFollower) =>
    eventually(async () =>
      one.follow().then(
        () => undefined,
        error => error as Error,
      ),
    );

  t.regex((await failing(follower)).message, /group systemd-journal/);
  t.regex((await failing(missing)).message, /journalctl is not installed/);
});
