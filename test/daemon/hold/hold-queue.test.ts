import {createReadStream} from 'node:fs';
import {copyFile, mkdir, rm, stat, truncate} from 'node:fs/promises';
import {join} from 'node:path';
import {buffer} from 'node:stream/consumers';
import {setTimeout as wait} from 'node:timers/promises';
import test from 'ava';
import {createHoldQueue} from '../../../daemon/hold/hold-queue.ts';
import {createSpool} from '../../../daemon/hold/spool/spool.ts';
import {Fault, type FaultCode} from '../../../shared/fault.ts';
import {eventually} from '../../helpers/eventually.ts';
import {idleTrainer, operator, type TestQueue, testQueue, trace} from '../../helpers/hold-queue.ts';
import {contentOf, sample} from '../../helpers/received-mail.ts';
import {spoolNames} from '../../helpers/spool-names.ts';

const id = 'Q1w2E3r4T5';
const page = {limit: 100, offset: 0};

const listed = async ({queue}: TestQueue) => (await queue.list({}, page, operator)).mails.map(({queue_id}) => queue_id);
const stateOf = async ({store}: TestQueue, queueId = id) => (await store.hold.find(queueId))?.state;
const audited = async ({store}: TestQueue) =>
  (await store.read('audit').orderBy('seq')).map(({action, result}) => `${action} ${result}`);
const codeOf = async (work: Promise<unknown>): Promise<FaultCode | 'done'> =>
  work.then(
    () => 'done' as const,
    error => {
      if (error instanceof Fault) return error.code;
      throw error;
    },
  );

test('a mail whose file is gone when it is opened for reading is unknown once its life has ended, and ends no process', async t => {
  const {store, hold} = await testQueue(t);
  await hold(id);
  const queue = createHoldQueue({
    nodeId: 'alpha',
    store,
    query: store.heldQuery('alpha'),
    backendOf: () => ({
      isReadableToTheEnd: true,
      release: async () => {},
      forget: async () => {},
      body: async () => ({sizeBytes: 1, stream: createReadStream('/nonexistent/mail')}),
    }),
    trainer: idleTrainer,
    withReserve: async write => {
      const done = await write();
      await store.transaction(async tx => {
        await tx.hold.claim([id], {state: 'releasing', keyId: 7});
        await tx.hold.end([id], 'releasing', {state: 'released', at: new Date().toISOString(), keyId: 7});
      });
      return done;
    },
    onActed: () => {},
    onLeftover: () => {},
    now: Date.now,
  });

  const code = await codeOf(queue.body(id, operator));

  t.is(code, 'not_found');
});

test('what is held can be listed, looked at and read, byte for byte after the trace header', async t => {
  const test = await testQueue(t);
  await test.hold(id, {reason: 'rbl', score: 8.5});

  const {mails, total} = await test.queue.list({}, page, operator);
  const detail = await test.queue.get(id, operator);
  const body = await test.queue.body(id, operator);

  t.is(total, 1);
  t.like(mails[0], {
    node_id: 'alpha',
    queue_id: id,
    sender: 'ada@example.net',
    recipients: ['ben@example.com'],
    symbols: ['A_SYMBOL'],
  });
  t.like(detail, {domain: 'example.com', direction: 'inbound', symbol_scores: [{name: 'A_SYMBOL', score: 8.5}], reason: 'rbl'});
  t.true((await buffer(body.stream)).equals(Buffer.concat([trace, sample('plain.eml')])));
  t.is(body.sizeBytes, trace.length + sample('plain.eml').length);
  t.is(detail.size_bytes, body.sizeBytes);
  t.deepEqual(await audited(test), ['quarantine.body ok']);
});

test('a mail for six hundred recipients is held like any other', async t => {
  const test = await testQueue(t);
  const recipients = Array.from({length: 600}, (_, n) => `user${n}@example.com`);

  await test.hold(id, {envelope: {recipients}});

  t.deepEqual((await test.queue.get(id, operator)).recipients, recipients);
  t.is((await test.queue.list({recipient: 'user599@example.com'}, page, operator)).total, 1);
});

test('a mail whose row cannot be written leaves no file', async t => {
  const test = await testQueue(t);
  await test.store.write.schema.dropTable('held_recipient');

  await t.throwsAsync(test.hold(id));

  t.deepEqual(await spoolNames(test.spool), []);
  t.deepEqual(await listed(test), []);
});

test('a released mail has been delivered to all before the answer, and is out of the list and off the disk', async t => {
  const test = await testQueue(t);
  await test.hold(id, {envelope: {recipients: ['a@example.com', 'b@example.com']}});

  const outcome = await test.queue.act('release', id, operator);

  t.deepEqual(outcome, {
    node_id: 'alpha',
    queue_id: id,
    state: 'released',
    acted_at: '2026-03-01T12:00:00.000Z',
    acted_by_key_id: 7,
    already: false,
  });
  t.deepEqual(test.deliveries, [
    {recipients: ['a@example.com', 'b@example.com'], content: `${trace}${sample('plain.eml').toString('latin1')}`},
  ]);
  t.deepEqual(await listed(test), []);
  t.deepEqual(await spoolNames(test.spool), []);
  t.deepEqual(await audited(test), ['quarantine.release ok']);
  t.is(await codeOf(test.queue.get(id, operator)), 'not_found');
});

test('the same action again says already, the opposite one conflict, and nothing is done twice', async t => {
  const test = await testQueue(t);
  await test.hold('Released01');
  await test.hold('Discarded1');
  const released = await test.queue.act('release', 'Released01', operator);
  const discarded = await test.queue.act('discard', 'Discarded1', {...operator, keyId: 8});
  test.now += 60_000;

  const again = await test.queue.act('release', 'Released01', {...operator, keyId: 9});
  const discardedAgain = await test.queue.act('discard', 'Discarded1', operator);

  t.deepEqual(again, {...released, already: true});
  t.deepEqual(discardedAgain, {...discarded, already: true});
  t.is(await codeOf(test.queue.act('discard', 'Released01', operator)), 'conflict');
  t.is(await codeOf(test.queue.act('release', 'Discarded1', operator)), 'conflict');
  t.is(test.deliveries.length, 1);
  t.deepEqual(await audited(test), ['quarantine.release ok', 'quarantine.discard ok']);
});

test('what was never known, or belongs to a domain out of reach, is not_found', async t => {
  const test = await testQueue(t);
  await test.hold(id, {domainId: 1});
  const stranger = {...operator, reach: {kind: 'domain', domainId: 2} as const};

  for (const action of ['release', 'discard'] as const) {
    t.is(await codeOf(test.queue.act(action, 'NeverKnown', operator)), 'not_found');
    t.is(await codeOf(test.queue.act(action, id, stranger)), 'not_found');
  }
  t.is(await codeOf(test.queue.get(id, stranger)), 'not_found');
  t.is(await codeOf(test.queue.body(id, stranger)), 'not_found');
  t.is(await stateOf(test), 'held');
});

test('a refused delivery leaves the mail held, with a line per recipient', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  test.answer = async () => 'refused';

  const error = (await t.throwsAsync(test.queue.act('release', id, operator), {instanceOf: Fault})) as Fault;

  t.is(error.code, 'delivery_failed');
  t.deepEqual(error.details.fields, [{path: 'ben@example.com', detail: '550 refused'}]);
  t.is(await stateOf(test), 'held');
  t.deepEqual(await listed(test), [id]);
  t.deepEqual(await audited(test), ['quarantine.release delivery_failed']);
});

test('recipients who have had the mail are struck, and nobody gets it twice', async t => {
  const test = await testQueue(t);
  await test.hold(id, {envelope: {recipients: ['a@example.com', 'B@example.com', 'c@example.com']}});
  test.answer = async recipient => (recipient === 'B@example.com' ? 'refused' : 'delivered');

  t.is(await codeOf(test.queue.act('release', id, operator)), 'delivery_failed');
  const left = (await test.queue.get(id, operator)).recipients;
  const byStruck = await test.queue.list({recipient: 'a@example.com'}, page, operator);
  const byLeft = await test.queue.list({recipient: 'b@example.com'}, page, operator);
  test.answer = async () => 'delivered';
  await test.queue.act('release', id, operator);

  t.deepEqual(left, ['B@example.com']);
  t.is(byStruck.total, 0);
  t.is(byLeft.total, 1);
  t.deepEqual(
    test.deliveries.map(({recipients}) => recipients),
    [['a@example.com', 'c@example.com'], ['B@example.com']],
  );
});

test('of many who release at once one delivers, and the others are told already', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  test.answer = async () => wait(30, 'delivered' as const);

  const outcomes = await Promise.all(Array.from({length: 20}, async () => test.queue.act('release', id, operator)));

  t.is(test.deliveries.length, 1);
  t.is(outcomes.filter(({already}) => !already).length, 1);
});

test('in two hundred races of release against discard there is one winner, and a delivery only when it was release', async t => {
  const test = await testQueue(t, {isDurable: false});
  let wins = 0;
  for (let round = 0; round < 200; round += 1) {
    const queueId = `Race${String(round).padStart(6, '0')}`;
    await test.hold(queueId);
    const before = test.deliveries.length;
    const actions = round % 2 === 0 ? (['release', 'discard'] as const) : (['discard', 'release'] as const);
    const pause = round % 5;

    const [first, second] = await Promise.all(
      actions.map(async (action, n) => {
        if (n === 1 && pause > 0) await wait(pause);
        return codeOf(test.queue.act(action, queueId, operator));
      }),
    );

    const state = await stateOf(test, queueId);
    t.deepEqual([first, second].sort(), ['conflict', 'done']);
    t.is(test.deliveries.length - before, state === 'released' ? 1 : 0);
    t.is(state, (first === 'done' ? actions[0] : actions[1]) === 'release' ? 'released' : 'discarded');
    wins += Number(state === 'released');
  }
  t.deepEqual(await spoolNames(test.spool), []);
  t.true(wins > 0 && wins < 200);
});

test('a mail that is being released cannot expire', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  let isExpired: boolean | undefined;
  test.answer = async () => {
    isExpired = await test.queue.expire(id);
    return 'delivered';
  };

  await test.queue.act('release', id, operator);

  t.is(isExpired, false);
  t.is(await stateOf(test), 'released');
});

test('an expired mail is out of the list and off the disk, and can be neither released nor discarded', async t => {
  const test = await testQueue(t);
  await test.hold(id);

  t.true(await test.queue.expire(id));

  t.false(await test.queue.expire(id));
  t.deepEqual(await listed(test), []);
  t.deepEqual(await spoolNames(test.spool), []);
  t.is(await codeOf(test.queue.act('release', id, operator)), 'not_found');
  t.is(await codeOf(test.queue.act('discard', id, operator)), 'not_found');
  t.deepEqual(await audited(test), ['quarantine.expire ok']);
});

test('a release that throws returns the mail to held', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  test.answer = async () => {
    throw new Error('no such thing');
  };

  await t.throwsAsync(test.queue.act('release', id, operator), {message: 'no such thing'});

  t.is(await stateOf(test), 'held');
  t.deepEqual(await audited(test), ['quarantine.release internal']);
});

test('a file that was put in the place of another is neither delivered nor shown', async t => {
  const test = await testQueue(t);
  await test.hold(id, {envelope: {recipients: ['a@example.com']}});
  await test.hold('Other00001', {bytes: Buffer.from('Subject: secret\r\n\r\n'), envelope: {recipients: ['b@example.com']}});
  await copyFile(join(test.spoolFolder, 'held', 'Other00001'), join(test.spoolFolder, 'held', id));

  t.is(await codeOf(test.queue.act('release', id, operator)), 'delivery_failed');
  t.is(await codeOf(test.queue.body(id, operator)), 'internal');

  t.is(await stateOf(test), 'held');
  t.is(test.deliveries.length, 0);
});

test('a file that is cut short is not delivered, before or while it is read', async t => {
  const test = await testQueue(t);
  const file = join(test.spoolFolder, 'held', id);
  await test.hold(id, {bytes: Buffer.from(`Subject: x\r\n\r\n${'a'.repeat(100_000)}\r\n`)});
  const {size} = await stat(file);

  test.answer = async () => {
    await truncate(file, size - 5000);
    return 'delivered';
  };
  await t.throwsAsync(test.queue.act('release', id, operator), {message: /changed on the disk/});
  t.is(await codeOf(test.queue.act('release', id, operator)), 'delivery_failed');

  t.is(await stateOf(test), 'held');
  t.is(test.deliveries.length, 0);
});

test('a file that cannot be removed is told of, and the mail has ended all the same', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  const file = join(test.spoolFolder, 'held', id);
  await rm(file);
  await mkdir(file);

  t.is((await test.queue.act('discard', id, operator)).state, 'discarded');
  await test.queue.idle();

  t.deepEqual(test.leftovers, [id]);
});

test('a mail whose file is gone is not released, and stays held until the next start', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await rm(join(test.spoolFolder, 'held', id));

  t.is(await codeOf(test.queue.act('release', id, operator)), 'not_found');

  t.is(await stateOf(test), 'held');
  t.is(test.deliveries.length, 0);
});

test('a delivery that could not be written down is not repeated', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  let isBroken = false;
  test.withReserve = async write => {
    if (isBroken) throw new Error('the disk is full');
    return write();
  };
  test.answer = async () => {
    isBroken = true;
    return 'delivered';
  };
  await t.throwsAsync(test.queue.act('release', id, operator), {message: 'the disk is full'});
  await t.throwsAsync(test.queue.act('release', id, operator), {message: 'the disk is full'});

  isBroken = false;
  t.is(await codeOf(test.queue.act('discard', id, operator)), 'conflict');
  const again = await test.queue.act('release', id, operator);

  t.like(again, {state: 'released', already: true});
  t.is(test.deliveries.length, 1);
  t.deepEqual(await audited(test), ['quarantine.release ok']);
});

test('recipients who could not be struck are struck before the next delivery', async t => {
  const test = await testQueue(t);
  await test.hold(id, {envelope: {recipients: ['a@example.com', 'b@example.com']}});
  let isBroken = false;
  test.withReserve = async write => {
    if (isBroken) throw new Error('the disk is full');
    return write();
  };
  test.answer = async recipient => {
    isBroken = true;
    return recipient === 'a@example.com' ? 'delivered' : 'deferred';
  };
  await t.throwsAsync(test.queue.act('release', id, operator), {message: 'the disk is full'});

  isBroken = false;
  test.answer = async () => 'delivered';
  await test.queue.act('release', id, operator);

  t.deepEqual(
    test.deliveries.map(({recipients}) => recipients),
    [['a@example.com'], ['b@example.com']],
  );
});

test('a mail whose claim could not be taken back can still be discarded', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  await test.store.transaction(async tx => tx.hold.claim([id], {state: 'releasing', keyId: 7}));

  const outcome = await test.queue.act('discard', id, operator);

  t.is(outcome.state, 'discarded');
  t.is(test.deliveries.length, 0);
});

test('an action that waited for another one longer than its caller is not begun', async t => {
  const {store, hold} = await testQueue(t);
  await hold(id);
  let fail: ((error: Error) => void) | undefined;
  const queue = createHoldQueue({
    nodeId: 'alpha',
    store,
    query: store.heldQuery('alpha'),
    backendOf: () => ({
      isReadableToTheEnd: true,
      release: async () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
      forget: async () => {},
      body: async () => ({sizeBytes: 1, stream: createReadStream('/nonexistent/mail')}),
    }),
    trainer: idleTrainer,
    withReserve: async write => write(),
    onActed: () => {},
    onLeftover: () => {},
    now: Date.now,
    withinMs: 100,
  });
  const released = codeOf(queue.act('release', id, operator));
  const discarded = codeOf(queue.act('discard', id, operator));
  const failRelease = await eventually(() => fail);
  await wait(150);

  failRelease(new Fault('delivery_failed', 'as scripted'));

  t.deepEqual([await released, await discarded], ['delivery_failed', 'outcome_unknown']);
  t.is((await store.hold.find(id))?.state, 'held');
  t.is((await queue.act('discard', id, operator)).state, 'discarded');
});

test('closing waits for the release that is under way', async t => {
  const test = await testQueue(t);
  await test.hold(id);
  test.answer = async () => wait(50, 'delivered' as const);
  const released = test.queue.act('release', id, operator);

  await test.queue.idle();

  t.is(await stateOf(test), 'released');
  await released;
});

test('a score is the same number in the list and of the mail alone', async t => {
  const test = await testQueue(t);
  const scores = [0.1 + 0.2, 14, -7.3, 1e-7, 9999.999, 10_000, 1.005 * 3];
  for (const [n, score] of scores.entries()) await test.hold(`${id}${n}`, {score, arrivedAt: n * 1000});

  const {mails} = await test.queue.list({}, page, operator);
  const alone = await Promise.all(mails.map(async ({queue_id}) => (await test.queue.get(queue_id, operator)).score));

  t.deepEqual(
    mails.map(({score}) => score),
    alone,
  );
  t.is(alone.at(-1), 0.3);
});

test('many mails held at once are all listed, newest first', async t => {
  const test = await testQueue(t);
  const ids = Array.from({length: 100}, (_, n) => `Many${String(n).padStart(6, '0')}`);

  await Promise.all(ids.map(async (queueId, n) => test.hold(queueId, {arrivedAt: test.now + n})));

  t.deepEqual(await listed(test), ids.toReversed());
  t.deepEqual(await spoolNames(await createSpool(test.spoolFolder)), ids);
});

test('a summary counts by domain and reason, within reach', async t => {
  const test = await testQueue(t);
  const bytes = Buffer.from('Subject: x\r\n\r\n');
  await test.hold('Sum0000001', {bytes, arrivedAt: test.now - 5000});
  await test.hold('Sum0000002', {bytes});
  await test.hold('Sum0000003', {bytes, reason: 'rbl'});
  await test.hold('Sum0000004', {bytes, domainId: 2, domain: 'other.com'});
  const size = trace.length + bytes.length;

  const everything = await test.queue.summary({}, operator);
  const own = await test.queue.summary({}, {...operator, reach: {kind: 'domain', domainId: 2}});
  const nothing = await test.queue.summary({}, {...operator, reach: {kind: 'none'}});

  t.like(everything, {count: 4, size_bytes: 4 * size, oldest_arrived_at: '2026-03-01T11:59:55.000Z'});
  t.deepEqual(
    everything.groups.map(({domain, reason, node_id, count}) => [domain, reason, node_id, count]),
    [
      ['example.com', 'rbl', 'alpha', 1],
      ['example.com', 'spam', 'alpha', 2],
      ['other.com', 'spam', 'alpha', 1],
    ],
  );
  t.is(own.count, 1);
  t.deepEqual(nothing, {count: 0, size_bytes: 0, oldest_arrived_at: null, groups: []});
  t.is((await test.queue.summary({node: 'beta'}, operator)).count, 0);
  t.is(contentOf(bytes).sizeBytes, bytes.length);
});
