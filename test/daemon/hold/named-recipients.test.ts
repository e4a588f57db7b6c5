// Actions for some of the recipients of a held mail.

import test from 'ava';
import type {StoredHeldMail} from '../../../daemon/services/quarantine/stored-mail.ts';
import {Fault} from '../../../shared/fault.ts';
import {operator, type TestQueue, testQueue, trace} from '../../helpers/hold-queue.ts';
import {sample} from '../../helpers/received-mail.ts';
import {spoolNames} from '../../helpers/spool-names.ts';

const id = 'Q1w2E3r4T5';
const [ann, ben, cat] = ['Ann@example.com', 'ben@example.com', 'cat@example.com'] as const;

const start = async (t: Parameters<typeof testQueue>[0]): Promise<TestQueue> => {
  const test = await testQueue(t);
  await test.hold(id, {envelope: {recipients: [ann, ben, cat]}});
  return test;
};

const faultOf = async (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => {
      throw new Error('it was done');
    },
    error => {
      if (error instanceof Fault) return error;
      throw error;
    },
  );
const find = async ({store}: TestQueue) => (await store.hold.find(id)) as StoredHeldMail;
const entriesOf = async ({store}: TestQueue) =>
  (await store.events.find({}, {kind: 'all'}, {limit: 100}))
    .toReversed()
    .map(({event, recipients, recipients_left}) => `${event} ${recipients.join()} ${recipients_left}`);
const audited = async ({store}: TestQueue) =>
  (await store.read('audit').orderBy('seq')).map(({action, result, detail}) => `${action} ${result} ${detail}`.trim());

test('a mail is released for some, discarded for others, and ends with the last: each gets it once, byte for byte', async t => {
  const test = await start(t);

  const released = await test.queue.act('release', id, operator, ['BEN@example.com']);
  test.now += 60_000;
  const discarded = await test.queue.act('discard', id, {...operator, keyId: 8}, [ann]);

  t.deepEqual(released, {
    ...{node_id: 'alpha', queue_id: id, state: 'released', acted_at: '2026-03-01T12:00:00.000Z', acted_by_key_id: 7},
    already: false,
  });
  t.like(discarded, {state: 'discarded', acted_at: '2026-03-01T12:01:00.000Z', acted_by_key_id: 8, already: false});
  const detail = await test.queue.get(id, operator);
  t.deepEqual(detail.recipients, [cat]);
  t.deepEqual(detail.recipient_states, [
    {address: cat, state: 'held', acted_at: null, acted_by: null, requested_at: null},
    {address: ben, state: 'released', acted_at: '2026-03-01T12:00:00.000Z', acted_by: 7, requested_at: null},
    {address: ann, state: 'discarded', acted_at: '2026-03-01T12:01:00.000Z', acted_by: 8, requested_at: null},
  ]);
  t.is((await test.queue.list({recipient: ben}, {limit: 10, offset: 0}, operator)).total, 0);
  t.deepEqual(test.told, [`held ${id}`], 'who knows two states takes it for held');

  await test.queue.act('release', id, operator);

  const content = `${trace}${sample('plain.eml').toString('latin1')}`;
  t.deepEqual(test.deliveries, [
    {recipients: [ben], content},
    {recipients: [cat], content},
  ]);
  t.like(await find(test), {state: 'released'});
  t.deepEqual(await spoolNames(test.spool), []);
  t.deepEqual(test.told, [`held ${id}`, `released ${id}`]);
  t.deepEqual(await entriesOf(test), [
    `held ${ann},${ben},${cat} null`,
    `released ${ben} 2`,
    `discarded ${ann} 1`,
    `released ${cat} null`,
  ]);
  t.deepEqual(await audited(test), [
    `quarantine.release ok for ${ben}`,
    `quarantine.discard ok for ${ann}`,
    'quarantine.release ok',
  ]);
});

test('all who are left are the whole mail, and what was done for some is told of each, also after the end', async t => {
  const test = await start(t);
  const first = await test.queue.act('release', id, operator, [ann]);
  test.now += 60_000;

  t.deepEqual(await test.queue.act('release', id, {...operator, keyId: 9}, [ann]), {...first, already: true});
  const last = await test.queue.act('discard', id, operator, [cat, ben]);

  t.like(await find(test), {state: 'discarded', recipients: [ben, cat]});
  t.deepEqual(await test.queue.act('discard', id, operator, [ben]), {...last, already: true});
  t.deepEqual(await test.queue.act('release', id, operator, [ann]), {...first, already: true});
  const conflict = await faultOf(test.queue.act('discard', id, operator, [ann]));
  t.is(conflict.code, 'conflict');
  t.regex(conflict.detail, /was released for Ann@example\.com at 2026-03-01T12:00:00\.000Z; that cannot be undone/);
  t.is((await faultOf(test.queue.act('release', id, operator, [ben]))).code, 'conflict');
  t.deepEqual(
    test.deliveries.map(({recipients}) => recipients),
    [[ann]],
  );
});

test('who is no recipient, and for whom something else was done, keep the others from being acted on', async t => {
  const test = await start(t);
  await test.queue.act('discard', id, operator, [ben]);

  const unknown = await faultOf(test.queue.act('release', id, operator, [ann, 'dan@example.com', 'annexample.com']));
  const conflict = await faultOf(test.queue.act('release', id, operator, [ann, ben]));

  t.is(unknown.code, 'validation_failed');
  t.deepEqual(
    unknown.details.fields?.map(({path}) => path),
    ['recipients.1', 'recipients.2'],
  );
  t.is(conflict.code, 'conflict');
  t.deepEqual(test.deliveries, []);
  t.deepEqual((await find(test)).recipients, [ann, cat]);
  // Of those that are named, what is left to do is done.
  t.like(await test.queue.act('discard', id, operator, [ann, ben]), {already: false});
  t.deepEqual((await find(test)).recipients, [cat]);
});

test('whom the backend refuses stays, and whom it serves is known to have the mail', async t => {
  const test = await start(t);
  test.answer = async recipient => (recipient === ben ? 'refused' : 'delivered');

  const failed = await faultOf(test.queue.act('release', id, operator, [ann, ben]));

  t.is(failed.code, 'delivery_failed');
  t.deepEqual((await find(test)).recipients, [ben, cat]);
  t.deepEqual(await entriesOf(test), [`held ${ann},${ben},${cat} null`, `released ${ann} 2`]);
  t.like((await test.queue.get(id, operator)).recipient_states, {length: 3, 2: {address: ann, state: 'released', acted_by: 7}});
  t.like(await test.queue.act('release', id, operator, [ann]), {already: true});
  test.answer = async () => 'delivered';
  await test.queue.act('release', id, operator, [ben]);
  t.deepEqual(
    test.deliveries.map(({recipients}) => recipients),
    [[ann], [ben]],
  );
});

test('what could not be recorded is recorded later, and not done again', async t => {
  const test = await start(t);
  let isFull = false;
  test.withReserve = async write => {
    if (isFull) throw new Fault('unavailable', 'the disk is full');
    return write();
  };
  test.answer = async () => {
    isFull = true;
    return 'delivered';
  };

  const unclear = await faultOf(test.queue.act('release', id, operator, [ben]));
  t.is(unclear.code, 'outcome_unknown');
  t.true(test.queue.isUnderWay(id));
  isFull = false;
  test.now += 60_000;
  const again = await test.queue.act('release', id, {...operator, keyId: 9}, [ben]);

  t.like(again, {already: true, acted_by_key_id: 7, acted_at: '2026-03-01T12:00:00.000Z'});
  t.is(test.deliveries.length, 1);
  t.deepEqual(await audited(test), [`quarantine.release ok for ${ben}`]);
  t.like(await find(test), {state: 'held', recipients: [ann, cat]});
});

test('a mail of which another node has served all others meanwhile ends', async t => {
  const test = await start(t);
  test.answer = async () => {
    const act = {state: 'released', acted_at: '2026-03-01T11:00:00.000Z', acted_by_key_id: 5} as const;
    await test.store.transaction(async tx => {
      await tx.hold.strikeRecipients(id, [
        {address: ann, ...act},
        {address: cat, ...act},
      ]);
    });
    return 'delivered';
  };

  await test.queue.act('release', id, operator, [ben]);

  t.like(await find(test), {state: 'released', recipients: [ben]});
  t.like(await test.store.hold.counts(), {length: 0});
  t.deepEqual(await entriesOf(test), [`held ${ann},${ben},${cat} null`, `released ${ben} null`]);
});

test('the scanner learns a mail when it ends, and not where its recipients were of two minds', async t => {
  const test = await start(t);
  const learned: string[] = [];
  test.train = async (as, {queueId}, read) => {
    const body = await read();
    if (body) learned.push(`${as} ${queueId}`);
    body?.stream.destroy();
  };
  await test.hold('Agreed0001', {envelope: {recipients: [ann, ben]}});
  await test.queue.act('release', 'Agreed0001', operator, [ann]);
  await test.queue.act('release', id, operator, [ann]);

  t.deepEqual(learned, []);
  await test.queue.act('release', 'Agreed0001', operator);
  await test.queue.act('discard', id, operator);

  t.deepEqual(learned, ['ham Agreed0001']);
});

test('fifty who release and fifty who discard at once each get what they decided', async t => {
  const test = await testQueue(t);
  const recipients = Array.from({length: 100}, (_, n) => `user${n}@example.com`);
  await test.hold(id, {envelope: {recipients}});

  const outcomes = await Promise.all(
    recipients.map(async (recipient, n) => test.queue.act(n % 2 === 0 ? 'release' : 'discard', id, operator, [recipient])),
  );

  t.deepEqual(
    outcomes.map(({state, already}) => `${state} ${already}`),
    recipients.map((_, n) => `${n % 2 === 0 ? 'released' : 'discarded'} false`),
  );
  t.deepEqual(
    test.deliveries.flatMap(({recipients: some}) => some).toSorted(),
    recipients.filter((_, n) => n % 2 === 0).toSorted(),
  );
  t.deepEqual(await spoolNames(test.spool), []);
});
