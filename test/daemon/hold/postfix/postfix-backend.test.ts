// Held mails when a program of Postfix does only half of a request: the test plays the helper.

import {createServer} from 'node:net';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {setTimeout as delay} from 'node:timers/promises';
import test, {type ExecutionContext} from 'ava';
import {createHoldQueue} from '../../../../daemon/hold/hold-queue.ts';
import {createPostfixBackend} from '../../../../daemon/hold/postfix/postfix-backend.ts';
import {createPostfixPrograms} from '../../../../daemon/hold/postfix/postfix-programs.ts';
import type {StoredHeldMail} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {idleTrainer, operator, testQueue} from '../../../helpers/hold-queue.ts';
import {testFolder} from '../../../helpers/store.ts';

/** `answer` returns the lines with which the helper answers a request; undefined breaks the connection. */
const startQueue = async (t: ExecutionContext, answer: (request: string[]) => string | undefined) => {
  const mails = await testQueue(t);
  const helperSocket = join(await testFolder(t), 'helper.sock');
  const requests: string[][] = [];
  const server = createServer({allowHalfOpen: true}, socket => {
    let asked = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      asked += text;
    });
    socket.on('end', () => {
      const request = asked.trimEnd().split('\n');
      requests.push(request);
      const said = answer(request);
      if (said === undefined) socket.destroy();
      else socket.end(said);
    });
  });
  await new Promise<void>(resolve => server.listen(helperSocket, resolve));
  t.teardown(() => void server.close());

  const keeper = createPostfixBackend({
    programs: {...createPostfixPrograms({configDir: '/etc/postfix', helperSocket}), flush: async () => {}},
    isArriving: () => false,
    lifetimeMs: async () => 5 * 86_400_000,
    tmpDir: await testFolder(t),
    onNotFlushed: () => {},
    now: () => mails.now,
  });
  const queue = createHoldQueue({
    nodeId: 'alpha',
    store: mails.store,
    query: mails.store.heldQuery('alpha'),
    backendOf: () => keeper,
    trainer: idleTrainer,
    withReserve: async write => write(),
    onActed: () => {},
    onLeftover: () => {},
    now: () => mails.now,
  });
  const stateOf = async (queueId: string) => (await mails.store.hold.find(queueId))?.state;
  return {mails, keeper, queue, requests, stateOf};
};

test('of a batch that Postfix did half of, one half is released and the other is not taken for gone', async t => {
  const {mails, keeper, requests} = await startQueue(
    t,
    () =>
      'postsuper: AAAAAA: released from hold\npostsuper: fatal: rename file hold/BBBBBB as deferred/BBBBBB: Read-only file system\n\nexit 1\n',
  );
  const release = async (queue_id: string) =>
    keeper.release({queue_id, queued_at: null, arrived_at: new Date(mails.now).toISOString()} as StoredHeldMail, () => {});

  const [one, other] = await Promise.allSettled(['AAAAAA', 'BBBBBB'].map(release));

  t.deepEqual(requests, [['release', 'AAAAAA', 'BBBBBB']]);
  t.is(one?.status, 'fulfilled');
  t.like(other, {status: 'rejected', reason: {code: 'unavailable'}});
});

test('a mail that Postfix may not remove is still held, and one that is not there is gone', async t => {
  const {mails, queue, stateOf} = await startQueue(t, ([, id]) =>
    id === 'AAAAAA'
      ? 'postsuper: warning: remove file hold/AAAAAA: Operation not permitted\n\nexit 0\n'
      : 'postsuper: warning: /etc/postfix/main.cf, line 9: overriding earlier entry: x=y\n\nexit 0\n',
  );
  for (const id of ['AAAAAA', 'BBBBBB']) await mails.hold(id);

  await t.throwsAsync(queue.act('discard', 'AAAAAA', operator), {message: /unavailable/});
  await t.throwsAsync(queue.act('discard', 'BBBBBB', operator), {message: /not_found/});

  t.deepEqual([await stateOf('AAAAAA'), await stateOf('BBBBBB')], ['held', 'gone']);
});

test('more mails than one call takes do not share what happens to another call', async t => {
  const {keeper, requests} = await startQueue(t, ([, ...ids]) =>
    ids.length === 1000 ? `${ids.map(id => `postsuper: ${id}: removed\n`).join('')}\nexit 0\n` : '\nexit 64\n',
  );
  const ids = Array.from({length: 1001}, (_, n) => `Q${String(n).padStart(6, '0')}`);

  const results = await Promise.allSettled(ids.map(async queue_id => keeper.discard?.({queue_id} as StoredHeldMail)));

  t.deepEqual(
    requests.map(({length}) => length - 1),
    [1000, 1],
  );
  t.deepEqual(
    results.flatMap(({status}, n) => (status === 'rejected' ? ids[n] : [])),
    [ids[1000]],
  );
});

test('many bodies read at once leave the helper room for what else there is to do', async t => {
  let [running, most] = [0, 0];
  const body = async () => {
    running += 1;
    most = Math.max(most, running);
    const ended = delay(20).then(() => {
      running -= 1;
      return {code: 0, stderr: ''};
    });
    return {stdout: Readable.from([Buffer.from('Subject: x\n\n')]), ended};
  };
  const keeper = createPostfixBackend({
    programs: {...createPostfixPrograms({configDir: '/etc/postfix'}), body},
    isArriving: () => false,
    lifetimeMs: async () => 5 * 86_400_000,
    tmpDir: await testFolder(t),
    onNotFlushed: () => {},
    now: Date.now,
  });

  const bodies = await Promise.all(Array.from({length: 64}, async () => keeper.body({queue_id: 'AAAAAA'} as StoredHeldMail)));

  for (const {stream} of bodies) stream.destroy();
  t.is(most, 8);
});

test('an act that nobody knows the outcome of is not called undone, and its claim stands until Postfix is looked at', async t => {
  const {mails, queue, stateOf} = await startQueue(t, () => undefined);
  await mails.hold('AAAAAA');

  await t.throwsAsync(queue.act('release', 'AAAAAA', operator), {message: /^outcome_unknown: /});

  t.is(await stateOf('AAAAAA'), 'releasing');
  t.false(queue.isUnderWay('AAAAAA'));
});
