// Reconciliation of the index with Postfix's hold queue, when the clock or the database misbehaves.
import test from 'ava';
import {createPostfixHolder} from '../../../../daemon/hold/postfix/hold-mail.ts';
import {createPostfixReconcile} from '../../../../daemon/hold/postfix/postfix-reconcile.ts';
import type {QueuedMail} from '../../../../daemon/hold/postfix/postqueue.ts';
import type {Judgement, Ownership} from '../../../../daemon/services/intake/mail.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {operator, type TestQueue, testQueue} from '../../../helpers/hold-queue.ts';
import {receivedMail} from '../../../helpers/received-mail.ts';

const ownership: Ownership = {direction: 'inbound', domain: {id: 1, name: 'example.com'} as Domain};
const judgement: Judgement = {action: 'hold', score: 9, reason: 'rbl', symbols: [{name: 'A_SYMBOL', score: 9}]};

/** `list` returns the output of postqueue. */
const start = (mails: TestQueue, list: () => QueuedMail[]) => {
  const {store} = mails;
  const holder = createPostfixHolder({nodeId: 'alpha', store, onHeld: () => {}, now: () => mails.now});
  const queue = async function* () {
    yield* list();
  };
  const reconcile = createPostfixReconcile({
    nodeId: 'alpha',
    store,
    programs: {queue},
    holder,
    isUnderWay: mails.queue.isUnderWay,
    adopt: async () => 0,
    now: () => mails.now,
  });
  const hold = async (queueId: string) => holder.hold({...receivedMail(), queueId}, ownership, judgement);
  const stateOf = async (queueId: string) => (await store.hold.find(queueId))?.state;
  return {holder, reconcile, hold, stateOf};
};

test('a mail that came while a long look at the queue had begun is not gone because that look is long', async t => {
  const mails = await testQueue(t);
  const {reconcile, hold, stateOf} = start(mails, () => {
    mails.now += 20_000;
    return [];
  });
  await hold('ARRIVING');

  const {gone} = await reconcile(new AbortController().signal);

  t.deepEqual(gone, []);
  t.is(await stateOf('ARRIVING'), 'held');
});

test('with the clock put back an arrival takes no longer', async t => {
  const mails = await testQueue(t);
  const {holder, hold} = start(mails, () => []);
  await hold('ARRIVING');
  const isAtFirst = holder.isArriving('ARRIVING');

  mails.now -= 3_600_000;

  t.true(isAtFirst);
  t.false(holder.isArriving('ARRIVING'));
});

test('what was done while the database could not be written is written down without anybody asking again', async t => {
  const mails = await testQueue(t);
  await mails.hold('Q00001');
  let writes = 0;
  mails.withReserve = async write => {
    writes += 1;
    if (writes > 1) throw new Error('the disk is gone');
    return write();
  };
  await t.throwsAsync(mails.queue.act('release', 'Q00001', operator), {message: /disk is gone/});
  t.true(mails.queue.isUnderWay('Q00001'));

  mails.withReserve = async write => write();
  await mails.queue.catchUp();

  t.like(await mails.store.hold.find('Q00001'), {state: 'released', acted_by_key_id: operator.keyId});
  t.false(mails.queue.isUnderWay('Q00001'));
  t.is(mails.deliveries.length, 1);
});

test('the size that Postfix says of a mail that has just ended is not counted', async t => {
  const mails = await testQueue(t);
  const {hold} = start(mails, () => []);
  await hold('ENDED1');
  await mails.store.transaction(async tx => {
    await tx.hold.end(['ENDED1'], 'held', {state: 'released', at: '2026-03-01T12:00:00.000Z', keyId: null});
    await tx.postfix.confirm([{queueId: 'ENDED1', queuedAt: 1, sizeBytes: 99_999}]);
  });

  t.like(await mails.store.read('held_count').first(), {count: 0, size_bytes: 0});
});
