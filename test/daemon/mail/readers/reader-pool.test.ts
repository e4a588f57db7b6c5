import {execFile, spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync, readFileSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {promisify} from 'node:util';
import test, {type ExecutionContext} from 'ava';
import {build} from 'esbuild';
import {bytesContent} from '../../../../daemon/mail/bytes-content.ts';
import type {Lookup} from '../../../../daemon/mail/lookup.ts';
import {createReaderPool, type PoolNeeds, ReaderLost} from '../../../../daemon/mail/readers/reader-pool.ts';
import type {MailContent} from '../../../../daemon/services/intake/mail.ts';
import {eventually} from '../../../helpers/eventually.ts';

let folder = '';
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mfd-readers-'));
  const helper = (name: string) => fileURLToPath(new URL(`../../../helpers/${name}.ts`, import.meta.url));
  await build({
    entryPoints: {reader: helper('bad-reader-main'), full: helper('full-process-main'), killed: helper('killed-node-main')},
    outdir: folder,
    outExtension: {'.js': '.mjs'},
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
});
test.after.always(async () => rm(folder, {recursive: true, force: true}));

const start = (t: ExecutionContext, needs: Partial<PoolNeeds> = {}) => {
  const pool = createReaderPool({file: pathToFileURL(join(folder, 'reader.mjs')), ...needs});
  t.teardown(pool.close);
  const spf = async (sender: string, lookup?: Lookup) =>
    pool.read({kind: 'spf', question: {ip: '192.0.2.1', helo: 'x', sender, mta: 'mx'}}, lookup ? {lookup} : {});
  const key = (domain: string, selector: string) => ({domain, selector, algorithm: 'ed25519', private_key_pem: ''}) as const;
  const sign = async (domain: string, selector: string, content: MailContent = bytesContent(Buffer.from('x'))) =>
    pool.read({kind: 'sign', keys: [key(domain, selector)]}, {content});
  const factsOf = async (domain: string) => JSON.parse(await sign(domain, 'facts')) as Record<string, unknown>;
  return {pool, spf, sign, factsOf};
};

for (const [what, reason] of [
  ['hang', 'time'],
  ['end', 'end'],
  ['wrong result', 'end'],
  ['wrong message', 'end'],
  ['no JSON', 'end'],
  ['flood', 'end'],
  ['ask without end', 'end'],
  ['start again', 'end'],
] as const)
  test(`a mail that makes its reader do this fails, and no other mail does: ${what}`, async t => {
    const {spf} = start(t, {maxReaders: 2, maxMs: reason === 'time' ? 400 : 30_000});

    const bad = spf(what);
    const honest = Promise.all(Array.from({length: 40}, async () => spf('honest')));

    const error = await t.throwsAsync(bad, {instanceOf: ReaderLost});
    t.is(error.reason, reason);
    t.deepEqual(await honest, Array(40).fill('pass'));
    t.is(await spf('honest'), 'pass');
  });

test('a mail that was lost is read again in a process that has read no other', async t => {
  const {spf} = start(t, {maxReaders: 2});
  await Promise.all([spf('honest'), spf('honest')]);

  t.is(await spf('end a used one'), 'pass');
});

test('a report has no more sources than are read of one', async t => {
  const {pool} = start(t);
  const sourcesOf = async (maxUnpackedBytes: number) => pool.read({kind: 'report', maxUnpackedBytes}, {maxMs: 30_000});

  const report = await sourcesOf(150_000);
  t.is('sources' in report && report.sources.length, 150_000);
  t.is(
    await sourcesOf(151_000).then(
      () => 'read',
      error => error.reason,
    ),
    'end',
  );
});

test('mails that are read again keep no other mail waiting', async t => {
  const {spf} = start(t, {maxReaders: 1, maxMs: 1500});
  let asked = 0;
  const lookup: Lookup = async () => {
    asked += 1;
    throw Object.assign(new Error('none'), {code: 'ENOTFOUND'});
  };
  const bad = Array.from({length: 3}, async () => t.throwsAsync(spf('ask and hang', lookup), {instanceOf: ReaderLost}));
  let isRead = false;
  const others = Promise.all(bad).then(() => t.true(isRead));
  // All three were lost once.
  await eventually(() => asked > 3);

  t.is(await spf('honest'), 'pass');
  isRead = true;

  await others;
});

test('large mails keep no other mail waiting', async t => {
  const {pool, spf} = start(t, {maxReaders: 1, maxMs: 1500});
  const content = bytesContent(Buffer.alloc(2 * 1024 * 1024));
  const question = {ip: '192.0.2.1', helo: 'x', sender: 'hang', mta: 'mx'};
  let isLost = false;
  const large = Array.from({length: 2}, async () =>
    pool.read({kind: 'spf', question}, {content}).catch(error => {
      isLost = error instanceof ReaderLost;
    }),
  );

  t.is(await spf('honest'), 'pass');
  t.false(isLost);

  await Promise.all(large);
  t.true(isLost);
});

test('mails that were lost are read again in the order in which they were lost', async t => {
  const {spf} = start(t, {maxReaders: 1, maxMs: 400});
  const order: string[] = [];
  const lose = async (batch: string) =>
    Promise.all(Array.from({length: 5}, async () => spf('hang').catch(() => void order.push(batch))));
  const first = lose('first');
  // All of them are lost once, and some wait to be read again.
  await eventually(() => order.length > 0);

  await Promise.all([first, lose('second')]);

  // Two may be read at the same time.
  t.true(order.lastIndexOf('first') < 7, order.join());
});

test('mails that wait for DNS keep no other mail waiting', async t => {
  const {spf} = start(t, {maxReaders: 1});
  const slow = Array.from({length: 50}, async () => spf('ask', async () => new Promise(() => {})));
  for (const mail of slow) mail.catch(() => {});

  t.is(await spf('honest'), 'pass');
});

test('mails that wait for DNS keep no large mail waiting, and so none behind it', async t => {
  const {pool, spf} = start(t, {maxReaders: 1});
  const slow = Array.from({length: 5}, async () => spf('ask', async () => new Promise(() => {})));
  for (const mail of slow) mail.catch(() => {});
  await spf('honest');
  const large = pool.read(
    {kind: 'spf', question: {ip: '192.0.2.1', helo: 'x', sender: 'honest', mta: 'mx'}},
    {content: bytesContent(Buffer.alloc(2 * 1024 * 1024))},
  );

  t.deepEqual(await Promise.all([large, spf('honest')]), ['pass', 'pass']);
});

test('no more mails wait than there is room for, and those that do are read', async t => {
  const {spf} = start(t, {maxReaders: 1, maxQueued: 10});
  const all = Array.from({length: 30}, async () => spf('honest').catch(error => error.message as string));

  const results = await Promise.all(all);

  t.is(results.filter(result => result === 'pass').length, 18);
  t.is(results.filter(result => result === 'too many mails wait to be read').length, 12);
});

test('time that a mail waits for DNS is not counted, and time without an answer is', async t => {
  const {spf} = start(t, {maxMs: 200});
  const slow: Lookup = async () => {
    await delay(1000);
    return [];
  };

  t.is(await spf('ask', slow), 'neutral');
  await t.throwsAsync(spf('nothing'), {instanceOf: ReaderLost});
});

test.serial('a reader inherits nothing, may do nothing, reaches nobody, and has no __proto__', async t => {
  const {factsOf} = start(t);
  Object.defineProperty(Object.prototype, 'NODE_OPTIONS', {value: '--no-such-option', enumerable: true, configurable: true});
  const started = factsOf('a.test');
  Reflect.deleteProperty(Object.prototype, 'NODE_OPTIONS');

  const {pid, ...facts} = await started;

  t.is(typeof pid, 'number');
  t.deepEqual(facts, {
    ...{environment: [], inherited: '', hasProto: false, mayRead: false, mayWrite: false, mayStart: false},
    ...{maySignal: false, sockets: []},
  });
});

test('a key is in no process that reads mail of others, and mail of one domain shares a process', async t => {
  const {factsOf, spf} = start(t);
  await spf('honest');

  const first = await factsOf('a.test');
  const others = [];
  for (let n = 0; n < 7; n += 1) others.push(await factsOf(`${n}.test`));
  const again = await factsOf('a.test');
  // One more than there may be: the process ends that has been idle for longest.
  const ninth = await factsOf('c.test');

  t.is(new Set([first, ...others, ninth].map(({pid}) => pid)).size, 9);
  t.is(again.pid, first.pid);
  t.is((await factsOf('a.test')).pid, first.pid);
  t.not((await factsOf('0.test')).pid, others[0]?.pid);
});

test('a reader that has nothing to do ends', async t => {
  const {factsOf} = start(t, {idleMs: 50});
  const before = await factsOf('a.test');
  for (let isThere = true; isThere; ) {
    await delay(20);
    try {
      process.kill(before.pid as number, 0);
    } catch {
      isThere = false;
    }
  }

  t.not((await factsOf('a.test')).pid, before.pid);
});

test('a mail that cannot be read to its end is an error, and the next one is read', async t => {
  const {sign, factsOf} = start(t);
  const open = () => {
    throw new Error('the disk is gone');
  };

  await t.throwsAsync(sign('a.test', 'nothing', {...bytesContent(Buffer.from('x')), open}), {message: 'the disk is gone'});
  t.is(typeof (await factsOf('a.test')).pid, 'number');
});

test('readers that do not start are an error, for each mail that waits for them', async t => {
  const {spf} = start(t, {file: new URL('none.mjs', pathToFileURL(`${folder}/`))});

  await Promise.all(
    ['a', 'b', 'c'].map(async sender => t.throwsAsync(spf(sender), {message: /did not start/, instanceOf: Error})),
  );
});

test('a node that can open no more files goes on without readers', async t => {
  const {stdout} = await promisify(execFile)('sh', [
    '-c',
    `ulimit -n 60; exec "$0" "$1"`,
    process.execPath,
    join(folder, 'full.mjs'),
  ]);

  t.is(stdout, 'a process that reads mail did not start\n');
});

(existsSync('/usr/bin/setpriv') ? test : test.skip)(
  'a reader that is busy ends with a node that is killed (setpriv)',
  async t => {
    const node = spawn(process.execPath, [join(folder, 'killed.mjs'), join(folder, 'reader.mjs')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(node.stdout, 'data')) as [Buffer];
    const reader = Number(line.toString());
    t.teardown(() => existsSync(`/proc/${reader}`) && process.kill(reader, 'SIGKILL'));
    t.true(isRunning(reader));

    node.kill('SIGKILL');

    t.true(await eventually(() => !isRunning(reader)));
  },
);

/** Not as a zombie, which waits for another process. */
const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

test('what waits when the pool closes fails at once, and so does what comes later', async t => {
  const {pool, spf} = start(t, {maxReaders: 1});
  const waiting = Promise.all(Array.from({length: 20}, async () => t.throwsAsync(spf('nothing'), {message: 'the node stops'})));

  await pool.close();

  await waiting;
  await t.throwsAsync(spf('honest'), {message: 'the node stops'});
});
