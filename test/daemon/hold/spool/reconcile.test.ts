import {copyFile, mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test from 'ava';
import {reconcile} from '../../../../daemon/hold/spool/reconcile.ts';
import {readCounts} from '../../../../daemon/store/sql/held-mail.ts';
import {openQueue, operator, type TestQueue, testQueue} from '../../../helpers/hold-queue.ts';
import {spoolNames} from '../../../helpers/spool-names.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';

const id = 'Q1w2E3r4T5';
const nothing = {indexed: 0, lost: [], recovered: [], remade: [], damaged: [], unclaimed: 0, removed: 0, leftover: []};

/** Opens the spool and reconciles it, as at a start. */
const restart = async (test: TestQueue) => {
  const opened = await openQueue(test.store, test.spoolFolder);
  const report = await reconcile({store: test.store, spool: opened.spool, nodeId: 'alpha', now: () => opened.now});
  return {...opened, report};
};

const forgetRow = async ({store}: TestQueue, queueId: string) => {
  await store.transaction(async tx => tx.hold.forget(queueId));
};

const fileOf = ({spoolFolder}: TestQueue, queueId: string) => join(spoolFolder, 'held', queueId);

test('a queue that was closed in order is left as it is', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.hold('Released01');
  await test.queue.act('release', 'Released01', operator);

  const {report} = await restart(test);

  t.deepEqual(report, nothing);
  t.is((await test.store.hold.find(id))?.state, 'held');
});

test('a file without a row is indexed again with everything that was known of it', async t => {
  const test = await testQueue(t);
  await test.hold(id, {
    reason: 'phishing',
    direction: 'outbound',
    domain: 'example.com',
    domainId: 5,
    bytes: Buffer.from('Subject: =?utf-8?q?caf=C3=A9?=\r\n\r\nhello\r\n'),
    envelope: {sender: 'Ada@Example.net', recipients: ['Ben@example.com', 'zoë@example.com'], isUtf8: true, isEightBit: true},
  });
  const before = await test.store.hold.find(id);
  const counts = await readCounts(test.store.read);
  await forgetRow(test, id);

  const {report, queue} = await restart(test);

  t.deepEqual(report, {...nothing, indexed: 1});
  t.deepEqual(await test.store.hold.find(id), before);
  t.deepEqual(await readCounts(test.store.read), counts);
  const found = await queue.list(
    {recipient: 'ben@example.com', sender: 'ada@example.net', subject: 'CAFÉ'},
    {limit: 1, offset: 0},
    operator,
  );
  t.is(found.total, 1);
});

test('a row without a file is marked lost, audited, and not listed any more', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await rm(fileOf(test, id));

  const {report, queue} = await restart(test);

  t.deepEqual(report, {...nothing, lost: [id]});
  t.is((await queue.list({}, {limit: 10, offset: 0}, operator)).total, 0);
  t.is((await test.store.hold.find(id))?.state, 'lost');
  t.like((await test.store.read('audit'))[0], {action: 'quarantine.lost', target: `alpha/${id}`, key_id: null});
  t.deepEqual((await restart(test)).report, nothing);
});

test('only those are looked at that are not in both places', async t => {
  const test = await testQueue(t);
  const ids = Array.from({length: 1200}, (_, n) => `Mail${String(n).padStart(6, '0')}`);
  const mails = ids.map(queue_id => storedMail({queue_id, arrived_at: '2026-03-01T12:00:00.000Z', subject: 'x', score: 1}));
  await test.store.transaction(async tx => tx.hold.insert(mails));
  for (const queueId of ids.slice(1)) await writeFile(fileOf(test, queueId), '');
  await test.hold(id);
  await forgetRow(test, id);
  const asked: string[] = [];
  const {spooled} = test.store;
  const watched = {
    ...spooled,
    states: async (names: readonly string[]) => {
      asked.push(...names);
      return spooled.states(names);
    },
  };
  const {spool} = await openQueue(test.store, test.spoolFolder);

  const report = await reconcile({store: {...test.store, spooled: watched}, spool, nodeId: 'alpha', now: Date.now});

  t.deepEqual(report, {...nothing, lost: ids.slice(0, 1), indexed: 1});
  t.true(asked.includes(id));
  t.true(asked.length < 50, String(asked.length));
});

test('nothing is written when the database turns out to be damaged meanwhile', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.store.transaction(async tx => tx.hold.claim([id], {state: 'releasing', keyId: 7}));
  await rm(fileOf(test, id));
  const {spool} = await openQueue(test.store, test.spoolFolder);

  const mayWrite = Promise.reject(new Error('damaged'));
  await t.throwsAsync(reconcile({store: test.store, spool, nodeId: 'alpha', now: Date.now, mayWrite}), {message: 'damaged'});

  t.is((await test.store.hold.find(id))?.state, 'releasing');
});

test('a row that contradicts itself is written again from its file', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.hold('Discarded1');
  const before = await test.store.hold.find(id);
  const counts = await readCounts(test.store.read);
  await test.store.write('held_mail').where({queue_id: id}).update({is_held: false});
  await test.store.write('held_mail').where({queue_id: 'Discarded1'}).update({recipients: '["ben@exam'});

  const {report, queue} = await restart(test);

  t.deepEqual({...report, remade: report.remade.toSorted()}, {...nothing, remade: ['Discarded1', id]});
  t.deepEqual(await test.store.hold.find(id), before);
  t.deepEqual(await readCounts(test.store.read), counts);
  t.is((await queue.list({}, {limit: 10, offset: 0}, operator)).total, 2);
});

test('a mail whose file was missing for a while is held again, and nothing of it is deleted', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.hold('Discarded1');
  const before = await readCounts(test.store.read);
  await rename(join(test.spoolFolder, 'held'), join(test.spoolFolder, 'away'));
  const without = await restart(test);
  await rm(join(test.spoolFolder, 'held'), {recursive: true});
  await rename(join(test.spoolFolder, 'away'), join(test.spoolFolder, 'held'));

  const {report, queue} = await restart(test);

  t.is(without.report.lost.length, 2);
  t.deepEqual(report, {...nothing, recovered: ['Discarded1', id]});
  t.deepEqual(await readCounts(test.store.read), before);
  t.is((await queue.list({}, {limit: 10, offset: 0}, operator)).total, 2);
  t.is((await queue.act('release', id, operator)).state, 'released');
  t.deepEqual(
    (
      await test.store
        .read('audit')
        .where({target: `alpha/${id}`})
        .orderBy('seq')
    ).map(({action}) => action),
    ['quarantine.lost', 'quarantine.recovered', 'quarantine.release'],
  );
});

test('a lost mail whose file came back as another is not held again, and the file is kept', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.hold('Other00001');
  await rm(fileOf(test, id));
  await restart(test);
  await copyFile(fileOf(test, 'Other00001'), fileOf(test, id));

  const {report} = await restart(test);

  t.deepEqual(report, {...nothing, damaged: [id]});
  t.deepEqual(await readdir(join(test.spoolFolder, 'damaged')), [id]);
  t.is((await test.store.hold.find(id))?.state, 'lost');
});

test('a file that cannot be removed does not keep the node from starting', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.queue.act('discard', id, operator);
  await mkdir(fileOf(test, id));

  const {report} = await restart(test);

  t.deepEqual(report, {...nothing, leftover: [id]});
});

test('a mail that was being released when the node died is held again, and can be released', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.store.transaction(async tx => tx.hold.claim([id], {state: 'releasing', keyId: 7}));

  const {report, queue, deliveries} = await restart(test);

  t.deepEqual(report, {...nothing, unclaimed: 1});
  t.like(await queue.act('release', id, operator), {state: 'released', already: false});
  t.is(deliveries.length, 1);
});

test('a mail that was being released and whose file is gone is lost', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.store.transaction(async tx => tx.hold.claim([id], {state: 'releasing', keyId: 7}));
  await rm(fileOf(test, id));

  const {report} = await restart(test);

  t.deepEqual(report, {...nothing, lost: [id], unclaimed: 1});
  t.is((await test.store.hold.find(id))?.state, 'lost');
});

for (const [what, end] of Object.entries({
  released: async ({queue}: TestQueue) => queue.act('release', id, operator),
  discarded: async ({queue}: TestQueue) => queue.act('discard', id, operator),
  expired: async ({queue}: TestQueue) => queue.expire(id),
}))
  test(`the file of a mail that was ${what} just before the node died goes, and the mail does not come back`, async t => {
    const test = await testQueue(t);
    await test.hold(id);
    const kept = join(test.spoolFolder, 'copy');
    await copyFile(fileOf(test, id), kept);
    await end(test);
    await rename(kept, fileOf(test, id));

    const {report, spool} = await restart(test);

    t.deepEqual(report, {...nothing, removed: 1});
    t.deepEqual(await spoolNames(spool), []);
    t.is((await test.store.hold.find(id))?.state, what as 'released');
  });

test('a file without a row that stops short, or is something else, is set aside and not deleted', async t => {
  const test = await testQueue(t);
  await test.hold('Truncated1');
  await test.hold('Misnamed01');
  await truncate(fileOf(test, 'Truncated1'), (await stat(fileOf(test, 'Truncated1'))).size - 10);
  await rename(fileOf(test, 'Misnamed01'), fileOf(test, 'Misnamed02'));
  await writeFile(fileOf(test, 'Something1'), 'no mail at all');
  for (const queueId of ['Truncated1', 'Misnamed01']) await forgetRow(test, queueId);

  const {report, queue, spool} = await restart(test);

  t.deepEqual({...report, damaged: report.damaged.toSorted()}, {...nothing, damaged: ['Misnamed02', 'Something1', 'Truncated1']});
  t.deepEqual((await readdir(join(test.spoolFolder, 'damaged'))).sort(), ['Misnamed02', 'Something1', 'Truncated1']);
  t.deepEqual(await spoolNames(spool), []);
  t.is((await queue.list({}, {limit: 10, offset: 0}, operator)).total, 0);
});

test('a file without a row of which a byte has changed is set aside', async t => {
  const test = await testQueue(t);
  await test.hold(id, {bytes: Buffer.from('Subject: x\r\n\r\nhello\r\n')});
  await forgetRow(test, id);
  await writeFile(fileOf(test, id), (await readFile(fileOf(test, id), 'latin1')).replace('hello', 'jello'), 'latin1');

  const {report} = await restart(test);

  t.deepEqual(report, {...nothing, damaged: [id]});
});

test('files that are no queue ids are none of ours and stay', async t => {
  const test = await testQueue(t);
  await writeFile(fileOf(test, '.nfs0000'), 'x');

  const {report} = await restart(test);

  t.deepEqual(report, nothing);
  t.deepEqual(await readdir(join(test.spoolFolder, 'held')), ['.nfs0000']);
});

test('a whole index that is lost comes back from the files', async t => {
  const test = await testQueue(t);
  const ids = Array.from({length: 30}, (_, n) => `Many${String(n).padStart(6, '0')}`);
  for (const queueId of ids) await test.hold(queueId);
  await test.store.write('held_mail').delete();
  await test.store.write('held_count').delete();

  const {report, queue} = await restart(test);

  t.deepEqual(report, {...nothing, indexed: 30});
  t.is((await queue.list({}, {limit: 100, offset: 0}, operator)).total, 30);
});

test('a file of an earlier version, which does not say who the author is, leaves what was read of the mail', async t => {
  const test = await testQueue(t);
  await test.hold(id, {bytes: Buffer.from('From: ceo@bank.test\r\n\r\nhello\r\n')});
  const mail = await test.spool.open(id);
  const {from, ...earlier} = mail.facts;
  await test.spool.remove(id);
  await test.spool.place(earlier as typeof mail.facts, Buffer.alloc(0), mail.content);

  const thorough = async () =>
    reconcile({store: test.store, spool: test.spool, nodeId: 'alpha', now: () => test.now, isThorough: true});

  t.deepEqual(from, ['ceo@bank.test']);
  t.deepEqual(await thorough(), nothing);
  t.deepEqual((await test.store.hold.find(id))?.from, ['ceo@bank.test']);
  await forgetRow(test, id);
  t.deepEqual(await thorough(), {...nothing, indexed: 1});
  t.is((await test.store.hold.find(id))?.from, null);
  t.is((await test.queue.readFrom()).read, 1);
});
