import type {ChildProcess} from 'node:child_process';
// One test for each exit status of the built program, as a script sees it.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {text} from 'node:stream/consumers';
import test from 'ava';
import {domain, outcome} from '../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../helpers/cli/scripted-api.ts';
import {cleanEnvironment, mfctlFile, run} from '../helpers/program.ts';
import {hasScript, runInTerminal} from '../helpers/pseudo-terminal.ts';

const onTerminal = hasScript ? test : test.skip;
const onFullDisk = existsSync('/dev/full') ? test : test.skip;
const failure = (status: number, code: string): Reply => ({status, error: {code, detail: 'as scripted'}});

test('0: it is done', async t => {
  const {env} = await startApi(t, {'GET /domains': {data: [domain]}});

  t.is((await run(mfctlFile, ['domain', 'list'], {env})).code, 0);
  t.is((await run(mfctlFile, ['domain', 'list', '--help'])).code, 0);
});

test('1: it failed', async t => {
  const {env} = await startApi(t, {'POST /domains': failure(409, 'conflict'), 'GET /domains': failure(500, 'internal')});

  t.is((await run(mfctlFile, ['domain', 'create', 'example.com', '--backend', 'a.example:25'], {env})).code, 1);
  t.is((await run(mfctlFile, ['domain', 'list'], {env})).code, 1);
});

onFullDisk('1: what is printed has no room (needs /dev/full)', async t => {
  const {env} = await startApi(t, {'GET /domains': {data: [domain]}});

  for (const argv of [['domain', 'list'], ['--help']]) {
    const shell = spawn('sh', ['-c', '"$@" > /dev/full', 'sh', process.execPath, mfctlFile, ...argv], {
      env: {...cleanEnvironment(), ...env},
    });
    const [stderr, [code]] = await Promise.all([text(shell.stderr), once(shell, 'close')]);

    t.is(stderr, 'error: cannot write to standard output: no space left on the disk (file_failed)\n');
    t.is(code, 1);
  }
});

test('2: it was typed wrong', async t => {
  const {env, requests} = await startApi(t, {});

  for (const argv of [
    ['domian', 'list'],
    ['domain', 'list', '--fast'],
    ['domain', 'get'],
    ['domain', 'list', '--json', 'nme'],
  ])
    t.is((await run(mfctlFile, argv, {env})).code, 2, argv.join(' '));
  t.deepEqual(requests, []);
});

onTerminal('3: the question was answered with no (needs script of util-linux)', async t => {
  const {env, requests} = await startApi(t, {});

  const {code, output} = await runInTerminal(mfctlFile, ['cluster', 'remove', 'mx2'], {
    env,
    answer: {to: '[y/N]', keys: 'n\r'},
  });

  t.is(code, 3);
  t.regex(output.toString(), /nothing was changed \(cancelled\)/);
  t.true(requests.every(({method}) => method === 'GET'));
});

test('4: the key is not known, or may not do this', async t => {
  const {env} = await startApi(t, {
    'GET /domains': failure(401, 'key_revoked'),
    'GET /audit': failure(403, 'insufficient_scope'),
  });

  t.is((await run(mfctlFile, ['domain', 'list'], {env})).code, 4);
  t.is((await run(mfctlFile, ['audit'], {env})).code, 4);
});

test('5: it is not there', async t => {
  const {env} = await startApi(t, {'GET /domains': {data: [domain]}});

  t.is((await run(mfctlFile, ['domain', 'get', '7'], {env})).code, 5);
  t.is((await run(mfctlFile, ['domain', 'get', 'example.org'], {env})).code, 5);
});

test('6: a part of it failed, or a list is not whole under --strict', async t => {
  const gone = {node_id: 'mx1', queue_id: 'bbbbbb', error: {code: 'not_found', detail: 'gone'}};
  const {env} = await startApi(t, {
    'POST /mail/quarantine/release': {data: [outcome('aaaaaa'), gone]},
    'GET /mail/quarantine': {data: [], headers: {'x-unreachable-nodes': 'mx2'}},
  });

  t.is((await run(mfctlFile, ['quarantine', 'release', 'mx1/aaaaaa', 'mx1/bbbbbb'], {env})).code, 6);
  t.is((await run(mfctlFile, ['quarantine', 'list', '--strict'], {env})).code, 6);
});

test('7: nobody answers, or not at this rate', async t => {
  const {env} = await startApi(t, {'GET /domains': {...failure(429, 'rate_limited'), headers: {'retry-after': '9'}}});

  t.is((await run(mfctlFile, ['domain', 'list', '--url', 'https://127.0.0.1:1'], {env})).code, 7);
  t.is((await run(mfctlFile, ['domain', 'list'], {env})).code, 7);
});

onTerminal('130: Ctrl-C at a question (needs script of util-linux)', async t => {
  const {env, requests} = await startApi(t, {});

  const {code, output} = await runInTerminal(mfctlFile, ['cluster', 'remove', 'mx2'], {
    env,
    answer: {to: '[y/N]', keys: '\x03'},
  });

  t.is(code, 130);
  t.regex(output.toString(), /nothing was changed \(interrupted\)/);
  t.true(requests.every(({method}) => method === 'GET'));
});

onTerminal('130: Ctrl-C while the node has yet to answer (needs script of util-linux)', async t => {
  let interrupt = (): void => {};
  const {env} = await startApi(t, {
    'GET /domains': () => {
      interrupt();
      return {isHeld: true};
    },
  });

  const {code} = await runInTerminal(mfctlFile, ['domain', 'list'], {
    env,
    onStart: (_, type) => {
      interrupt = () => type('\x03');
    },
  });

  t.is(code, 130);
});

test('130: a script that interrupts it sees a status, and not a signal', async t => {
  let child: ChildProcess | undefined;
  const {env} = await startApi(t, {
    'GET /domains': () => {
      child?.kill('SIGINT');
      return {isHeld: true};
    },
  });

  const {code} = await run(mfctlFile, ['domain', 'list'], {
    env,
    onStart: started => {
      child = started;
    },
  });

  t.is(code, 130);
});
