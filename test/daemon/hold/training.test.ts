// Training samples from releases and discards.
import {buffer} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import type {HoldBackend} from '../../../daemon/hold/hold-backend.ts';
import {createHoldQueue} from '../../../daemon/hold/hold-queue.ts';
import {Fault} from '../../../shared/fault.ts';
import {idleTrainer, operator, type TestQueue, testQueue, trace} from '../../helpers/hold-queue.ts';
import {sample} from '../../helpers/received-mail.ts';

/** A queue, and its training samples, each with what was delivered before and whether the mail could be read. */
const startTrained = async (t: ExecutionContext): Promise<{mails: TestQueue; samples: string[]}> => {
  const mails = await testQueue(t);
  const samples: string[] = [];
  mails.train = async (sampleClass, {queueId, sender, recipients}, read) => {
    const body = await read();
    const bytes = body && (await buffer(body.stream));
    const isWhole = bytes?.equals(Buffer.concat([trace, sample('plain.eml')]));
    samples.push([sampleClass, queueId, sender, recipients, `${mails.deliveries.length} delivered`, isWhole].join(' '));
  };
  return {mails, samples};
};

test('a release trains ham after the delivery, a discard spam, each once and while the bytes are there', async t => {
  const {mails, samples} = await startTrained(t);
  await mails.hold('Q00001');
  await mails.hold('Q00002');

  await Promise.all(Array.from({length: 5}, async () => mails.queue.act('release', 'Q00001', operator)));
  await Promise.all(Array.from({length: 5}, async () => mails.queue.act('discard', 'Q00002', operator)));

  t.deepEqual(samples, [
    'ham Q00001 ada@example.net ben@example.com 1 delivered true',
    'spam Q00002 ada@example.net ben@example.com 1 delivered true',
  ]);
  t.deepEqual(mails.leftovers, []);
  await t.throwsAsync(mails.spool.open('Q00002'));
});

test('of a release against a discard only the winner trains', async t => {
  const {mails, samples} = await startTrained(t);

  for (let n = 0; n < 20; n += 1) {
    await mails.hold(`Q1000${n}`);
    const [released] = await Promise.allSettled([
      mails.queue.act(n % 2 ? 'release' : 'discard', `Q1000${n}`, operator),
      mails.queue.act(n % 2 ? 'discard' : 'release', `Q1000${n}`, operator),
    ]);
    t.is(released.status, 'fulfilled');
  }

  t.is(samples.length, 20);
  t.is(samples.filter(line => line.startsWith('ham')).length, 10);
});

test('a release that fails, and the end of retention, train nothing', async t => {
  const {mails, samples} = await startTrained(t);
  mails.answer = async () => 'refused';
  await mails.hold('Q00001');

  await t.throwsAsync(mails.queue.act('release', 'Q00001', operator));
  t.true(await mails.queue.expire('Q00001'));

  t.deepEqual(samples, []);
});

test('outbound mail, and mail that nobody judged, train nothing', async t => {
  const {mails, samples} = await startTrained(t);
  await mails.hold('Q00001', {direction: 'outbound'});
  await mails.hold('Q00002');
  await mails.hold('Q00003');
  const setSymbols = async (queue_id: string, symbols: object[]) =>
    mails.store
      .write('held_mail')
      .where({queue_id})
      .update({symbols: JSON.stringify(symbols)});
  await setSymbols('Q00002', []);
  // As Postfix's own rules and administrators put mail on hold.
  await setSymbols('Q00003', [{name: 'POSTFIX_HOLD', score: 0}]);

  await mails.queue.act('discard', 'Q00001', operator);
  await mails.queue.act('release', 'Q00002', operator);
  await mails.queue.act('discard', 'Q00003', operator);

  t.deepEqual(samples, []);
});

test('where the action removes the bytes, the training comes before it', async t => {
  const {mails, samples} = await startTrained(t);
  await mails.hold('Q00001');
  const {body} = mails.queue;
  const steps: string[] = [];
  mails.train = async (sampleClass, {queueId}, read) => {
    steps.push(`${sampleClass} ${queueId}`);
    (await read())?.stream.destroy();
  };
  const backend: HoldBackend = {
    isReadableToTheEnd: false,
    release: async ({queue_id}) => void steps.push(`release ${queue_id}`),
    discard: async ({queue_id}) => void steps.push(`discard ${queue_id}`),
    forget: async () => {},
    body: async ({queue_id}) => body(queue_id, operator),
  };
  const queue = createHoldQueue({
    nodeId: 'alpha',
    store: mails.store,
    query: mails.store.heldQuery('alpha'),
    backendOf: () => backend,
    trainer: {...idleTrainer, train: async (...training) => mails.train(...training)},
    withReserve: async write => write(),
    onActed: () => {},
    onLeftover: () => {},
    now: () => mails.now,
  });
  await mails.hold('Q00002');

  await queue.act('discard', 'Q00001', operator);
  await queue.act('release', 'Q00002', operator);

  t.deepEqual(steps, ['spam Q00001', 'discard Q00001', 'ham Q00002', 'release Q00002']);
  t.deepEqual(samples, []);
});

test('a mail that a caller wants to be learned is read whole, stays held, and is audited with what the scanner said', async t => {
  const {mails} = await startTrained(t);
  const samples: string[] = [];
  mails.trainAsAsked = async (sampleClass, {queueId, sender, recipients}, read) => {
    const isWhole = (await buffer((await read()).stream)).equals(Buffer.concat([trace, sample('plain.eml')]));
    samples.push([sampleClass, queueId, sender, recipients, isWhole].join(' '));
    if (samples.length === 2) throw new Fault('conflict', 'Rspamd did not learn this mail');
    return 'too_short';
  };
  // What trains nothing by itself is trained when someone asks for it.
  await mails.hold('Q00001', {direction: 'outbound'});

  const outcome = await mails.queue.train('spam', 'Q00001', operator);
  await t.throwsAsync(mails.queue.train('ham', 'Q00001', operator), {message: /did not learn/});

  t.deepEqual(outcome, {node_id: 'alpha', queue_id: 'Q00001', as: 'spam', outcome: 'too_short'});
  t.deepEqual(
    samples,
    ['spam', 'ham'].map(each => `${each} Q00001 ada@example.net ben@example.com true`),
  );
  t.is((await mails.queue.get('Q00001', operator)).queue_id, 'Q00001');
  const entries = await mails.store.read('audit').orderBy('seq');
  t.deepEqual(
    entries.map(({action, key_id, result, detail}) => [action, key_id, result, detail]),
    [
      ['quarantine.train', operator.keyId, 'ok', 'as spam: too_short'],
      ['quarantine.train', operator.keyId, 'conflict', 'as ham: Rspamd did not learn this mail'],
    ],
  );
});

test('a mail of which the life has ended, or that another key may not see, trains nothing', async t => {
  const {mails} = await startTrained(t);
  mails.trainAsAsked = async () => t.fail() as never;
  await mails.hold('Q00001', {domainId: 1});
  const stranger = {...operator, reach: {kind: 'domain', domainId: 2}} as const;

  await t.throwsAsync(mails.queue.train('ham', 'Q00001', stranger), {message: /there is no held mail/});
  await mails.queue.act('discard', 'Q00001', operator);

  await t.throwsAsync(mails.queue.train('ham', 'Q00001', operator), {message: /there is no held mail/});
});

test('a mail that another action ends while it is read to be learned is unknown then', async t => {
  const {mails} = await startTrained(t);
  await mails.hold('Q00001');
  mails.trainAsAsked = async (_class, _mail, read) => {
    await mails.queue.act('discard', 'Q00001', operator);
    await read();
    return 'learned';
  };

  await t.throwsAsync(mails.queue.train('spam', 'Q00001', operator), {message: /there is no held mail/});
});
