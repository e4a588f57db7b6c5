import {text} from 'node:stream/consumers';
import test from 'ava';
import {queuedMails} from '../../../../daemon/hold/postfix/postqueue.ts';
import {CutOff, runProgram} from '../../../../daemon/hold/postfix/run-program.ts';

const run = async (program: Parameters<typeof runProgram>[0], timeoutMs = 20_000) => {
  const {stdout, ended} = runProgram(program, timeoutMs);
  const said = await text(stdout).catch(() => '');
  return {said, ...(await ended)};
};

test('arguments are no shell’s to read, and input is given on standard input', async t => {
  t.deepEqual(await run({file: '/bin/echo', args: ['$(id)', ';', '*']}), {said: '$(id) ; *\n', code: 0, stderr: ''});
  t.deepEqual(await run({file: '/bin/cat', args: [], input: 'one\ntwo\n'}), {said: 'one\ntwo\n', code: 0, stderr: ''});
});

test('nothing of our environment is passed on', async t => {
  process.env.MAIL_CONFIG = '/tmp';
  t.teardown(() => delete process.env.MAIL_CONFIG);

  t.notRegex((await run({file: '/usr/bin/env', args: []})).said, /MAIL_CONFIG|HOME|MFD/);
});

test('what a prototype has is no variable of a program', async t => {
  Object.defineProperty(Object.prototype, 'LD_PRELOAD', {value: '/tmp/other.so', enumerable: true, configurable: true});
  const running = runProgram({file: '/usr/bin/env', args: []}, 20_000);
  Reflect.deleteProperty(Object.prototype, 'LD_PRELOAD');

  t.notRegex(await text(running.stdout), /LD_PRELOAD/);
});

test('a program that fails says how, and one that reads nothing is no error', async t => {
  const input = 'x'.repeat(1_000_000);

  t.like(await run({file: '/bin/sh', args: ['-c', 'echo no >&2; exit 3'], input}), {code: 3, stderr: 'no\n'});
});

test('a program that is not there, or does not end, is an error', async t => {
  await t.throwsAsync(run({file: '/nonexistent/postsuper', args: []}), {code: 'ENOENT'});
  await t.throwsAsync(run({file: '/bin/sleep', args: ['600']}, 100), {message: /\/bin\/sleep did not end within 100 ms/});
});

test('a program is given up in time also while another one that it has started keeps its output open', async t => {
  const script = 'echo begun; echo half >&2; sleep 600 & echo $! >&2; wait';
  const {stdout, ended} = runProgram({file: '/bin/sh', args: ['-c', script]}, 2000);

  await t.throwsAsync(async () => {
    for await (const _ of queuedMails(stdout));
  });
  const error = await t.throwsAsync(ended, {instanceOf: CutOff});

  const [half, pid] = error?.stderr.split('\n') ?? [];
  process.kill(Number(pid));
  t.is(half, 'half');
});

test('what it says of its errors is bounded', async t => {
  const {stderr} = await run({file: '/bin/sh', args: ['-c', 'head -c 3000000 /dev/zero >&2']});

  t.true(stderr.length <= 64 * 1024);
});

test('a program for which there is no file descriptor left is an error, and ends nobody', async t => {
  const script = `
    import {openSync} from 'node:fs';
    import {runProgram} from '${new URL('../../../../daemon/hold/postfix/run-program.ts', import.meta.url).href}';
    try { for (;;) openSync('/dev/null'); } catch {}
    const {stdout, ended} = runProgram({file: '/bin/true', args: []}, 20_000);
    stdout.resume();
    ended.catch(error => process.exit(error.code === 'EMFILE' ? 42 : 1));
  `;
  const command = 'ulimit -n 100; exec "$0" --import="$1" --input-type=module --eval="$2"';
  const args = ['-c', command, process.execPath, import.meta.resolve('tsx'), script];

  const {code, stderr} = await run({file: '/bin/sh', args});

  t.is(code, 42, stderr);
});
