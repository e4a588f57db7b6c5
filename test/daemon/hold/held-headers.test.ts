import {appendFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {createHeldHeaders} from '../../../daemon/hold/held-headers.ts';
import type {HoldBackend} from '../../../daemon/hold/hold-backend.ts';
import type {StoredHeldMail} from '../../../daemon/services/quarantine/stored-mail.ts';
import {startHoldNode} from '../../helpers/common-hold.ts';
import {newCluster} from '../../helpers/common-store.ts';
import {operator, type TestQueue, testQueue} from '../../helpers/hold-queue.ts';
import {testWithPostgres, usePostgres} from '../../helpers/test-with-postgres.ts';

const idOf = (n: number) => `Mail${String(n).padStart(6, '0')}`;
const mailFrom = (author: string) => ({bytes: Buffer.from(`Subject: x\r\nFrom: ${author}\r\n\r\nhello\r\n`)});

/** As an earlier version leaves them. */
const forgetHeaders = async ({store}: TestQueue) => store.write('held_mail').update({from_addresses: null});

const idsFrom = async ({queue}: TestQueue, from: string) =>
  (await queue.list({from}, {limit: 1000, offset: 0}, operator)).mails.map(({queue_id}) => queue_id).sort();

test('the headers of all mail that an earlier version held are read, once, and only of mail that is still held', async t => {
  const test = await testQueue(t, {isDurable: false});
  for (let n = 0; n < 230; n += 1) await test.hold(idOf(n), mailFrom(n % 2 === 0 ? '"CEO" <Ceo@Bank.test>' : 'x@other.test'));
  await test.queue.act('discard', idOf(0), operator);
  await forgetHeaders(test);
  await test.hold(idOf(500), mailFrom('new@bank.test'));

  t.deepEqual(await idsFrom(test, 'bank.test'), [idOf(500)]);
  t.is((await test.queue.readFrom()).read, 229);

  t.is((await idsFrom(test, 'ceo@bank.test')).length, 114);
  t.is((await idsFrom(test, 'other.test')).length, 115);
  t.is((await test.store.hold.find(idOf(0)))?.from, null);
  t.deepEqual(await test.queue.readFrom(), {read: 0, left: 0});
});

test('a mail that cannot be read keeps no other from being read, and is tried again later', async t => {
  const test = await testQueue(t, {isDurable: false});
  for (const n of [1, 2, 3]) await test.hold(idOf(n), mailFrom(n === 3 ? 'none' : 'ceo@bank.test'));
  await forgetHeaders(test);
  const file = join(test.spoolFolder, 'held', idOf(1));
  await appendFile(file, 'x');

  t.deepEqual(await test.queue.readFrom(), {read: 2, left: 1});
  t.deepEqual(await idsFrom(test, 'bank.test'), [idOf(2)]);
  t.deepEqual((await test.store.hold.find(idOf(3)))?.from, ['none'], 'a local user');
  t.is((await test.queue.get(idOf(1), operator)).from, null);
  t.is((await test.queue.readFrom()).read, 0);
  await test.spool.remove(idOf(1));
  await test.store.transaction(async tx => tx.hold.forget(idOf(1)));
  await test.hold(idOf(1), mailFrom('back@bank.test'));
  await forgetHeaders(test);
  t.is((await test.queue.readFrom()).read, 2, 'not again at once');
  test.now += 600_000;

  t.is((await test.queue.readFrom()).read, 1);
  t.deepEqual(await idsFrom(test, 'bank.test'), [idOf(1), idOf(2)]);
});

test('only so many mails that cannot be read are remembered, and none that has ended', async t => {
  const {store, queue, now, ...test} = await testQueue(t, {isDurable: false});
  const tried: string[] = [];
  const backend = {
    async body({queue_id}: StoredHeldMail) {
      tried.push(queue_id);
      throw new Error('damaged');
    },
  } as unknown as HoldBackend;
  const headers = createHeldHeaders({store, backendOf: () => backend, now: () => now}, 2);
  const hold = async (n: number) => {
    await test.hold(idOf(n), mailFrom('ceo@bank.test'));
    await store.write('held_mail').update({from_addresses: null});
  };
  for (const n of [1, 2]) await hold(n);

  t.deepEqual(await headers.readFrom(), {read: 0, left: 2});
  await hold(3);
  t.deepEqual(await headers.readFrom(), {read: 0, left: 3});
  t.deepEqual(tried, [idOf(1), idOf(2)]);
  await queue.act('discard', idOf(1), operator);
  for (let pass = 0; pass < 2; pass += 1) t.deepEqual(await headers.readFrom(), {read: 0, left: 2});

  t.deepEqual(tried, [idOf(1), idOf(2), idOf(3)]);
});

const postgres = usePostgres();

testWithPostgres('a node reads the headers of mail that nodes of 0.8 hold, except those in their Postfix', async t => {
  const settings = await newCluster(postgres());
  const alpha = await startHoldNode(t, settings, {});
  const beta = await startHoldNode(t, settings, {nodeId: 'beta', nodeNo: 2});
  const retention_ms = {spam: 1, phishing: 1, sandbox: 1, rbl: 1};
  for (const node of [alpha, beta]) await node.store.notePresence({seq: 1, retention_ms, longest_ms: retention_ms});
  await alpha.hold(idOf(1), mailFrom('ceo@bank.test'));
  await beta.hold(idOf(2), mailFrom('ceo@bank.test'));
  await beta.holdInPostfix(idOf(3));
  await postgres().query('UPDATE held_mail SET from_addresses = NULL, from_domain = NULL, folded_from = NULL', settings);
  const found = async () =>
    (await alpha.store.heldQuery.list({from: 'bank.test'}, {kind: 'all'}, {limit: 10, offset: 0})).mails.map(
      ({queue_id}) => queue_id,
    );

  t.deepEqual(await found(), []);
  t.deepEqual(await alpha.queues.readFrom(), {read: 2, left: 0});

  t.deepEqual((await found()).sort(), [idOf(1), idOf(2)]);
  t.deepEqual(await beta.store.hold.listWithoutFrom('', {limit: 10}), [idOf(3)]);
});
