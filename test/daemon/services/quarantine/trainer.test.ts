import {Readable} from 'node:stream';
import test from 'ava';
import type {Classifier, TrainingResult} from '../../../../daemon/services/intake/mail.ts';
import {createTrainer} from '../../../../daemon/services/quarantine/trainer.ts';
import type {TrainingClass} from '../../../../shared/held-mail.ts';

const mail = {queueId: 'Q1w2E3', sender: 'ada@example.net', recipients: ['ben@example.com']};
const silence: TrainingResult = {kind: 'unreachable', detail: 'no answer within 5000 ms'};
const refusal: TrainingResult = {kind: 'refused', detail: 'HTTP status 401'};

/** A trainer whose classifier answers with `next`, and everything that it reports. */
const startTrainer = () => {
  const said: string[] = [];
  const world = {
    now: 0,
    asked: 0,
    reads: [] as Readable[],
    next: {kind: 'learned'} as TrainingResult,
    classifier: undefined as Classifier | undefined,
    isTrainedByActions: true,
    sizeBytes: 4,
  };
  const newClassifier = (): Classifier => ({
    train: async () => {
      world.asked += 1;
      return world.next;
    },
  });
  world.classifier = newClassifier();
  const trainer = createTrainer({
    nodeId: 'alpha',
    classifier: () => world.classifier,
    isTrainedByActions: () => world.isTrainedByActions,
    onTrained: (sampleClass, outcome) => said.push(`${sampleClass} ${outcome}`),
    onOutage: detail => said.push(`outage: ${detail}`),
    onRecovery: missed => said.push(`missed ${missed}`),
    now: () => world.now,
  });
  const read = async () => {
    const stream = Readable.from(['text']);
    world.reads.push(stream);
    return {sizeBytes: world.sizeBytes, stream};
  };
  const train = async (sampleClass: TrainingClass) => trainer.train(sampleClass, mail, read);
  const ask = async (sampleClass: TrainingClass) => trainer.trainAsAsked(sampleClass, mail, read);
  return {trainer, train, ask, world, said, newClassifier};
};

test('without a classifier no mail is read', async t => {
  const {train, world, said} = startTrainer();
  world.classifier = undefined;

  await train('ham');

  t.deepEqual([said, world.reads], [[], []]);
});

test('what was read is let go of, whatever became of it', async t => {
  const {train, world} = startTrainer();

  for (const next of [{kind: 'learned'} as const, refusal, silence]) {
    world.next = next;
    await train('ham');
  }

  t.deepEqual(
    world.reads.map(({destroyed}) => destroyed),
    [true, true, true],
  );
});

test('a mail that cannot be read is a missed sample', async t => {
  const {trainer, world, said} = startTrainer();

  await trainer.train('spam', mail, async () => {
    throw new Error('disk');
  });

  t.deepEqual(said, ['spam failed', 'outage: the mail could not be read']);
  t.is(world.asked, 0);
});

test('an outage is reported once, and its end with the number of missed samples', async t => {
  const {train, world, said} = startTrainer();

  world.next = refusal;
  for (let count = 0; count < 3; count += 1) await train('spam');
  world.next = {kind: 'known', why: 'too_short'};
  await train('ham');
  world.next = {kind: 'learned'};
  await train('ham');

  t.deepEqual(said, [
    'spam failed',
    'outage: HTTP status 401',
    'spam failed',
    'spam failed',
    'ham known',
    'missed 3',
    'ham learned',
  ]);
});

test('who was silent is not asked again for half a minute, unless it is another', async t => {
  const {train, world, said, newClassifier} = startTrainer();

  world.next = silence;
  await train('spam');
  world.now = 29_999;
  await train('spam');
  t.is(world.asked, 1);
  world.now = 30_000;
  await train('spam');
  t.deepEqual([world.asked, world.reads.length], [2, 2]);
  world.next = {kind: 'learned'};
  world.classifier = newClassifier();
  await train('spam');

  t.is(world.asked, 3);
  t.deepEqual(said.slice(-2), ['spam learned', 'missed 3']);
});

test('who refuses is asked again at once', async t => {
  const {train, world} = startTrainer();

  world.next = refusal;
  await train('spam');
  await train('spam');

  t.is(world.asked, 2);
});

test('what a caller asks to train is trained where releases and discards train nothing', async t => {
  const {train, ask, world, said} = startTrainer();
  world.isTrainedByActions = false;

  await train('ham');
  t.deepEqual([world.asked, world.reads.length], [0, 0]);
  const outcomes = [await ask('ham')];
  for (const why of ['learned_before', 'too_short', 'nothing_new'] as const) {
    world.next = {kind: 'known', why};
    outcomes.push(await ask('spam'));
  }

  t.deepEqual(outcomes, ['learned', 'learned_before', 'too_short', 'nothing_new']);
  t.deepEqual(said, ['ham learned', 'spam known', 'spam known', 'spam known']);
  t.true(world.reads.every(({destroyed}) => destroyed));
});

test('a caller is told why nothing was learned, and pauses nothing', async t => {
  const {train, ask, world, said} = startTrainer();
  const fails = async (code: string, detail: RegExp) => {
    const error = await t.throwsAsync(ask('spam'));
    t.like(error, {code});
    t.regex(error?.message ?? '', detail);
  };

  world.next = silence;
  await fails('unavailable', /cannot be reached \(no answer within 5000 ms\); check scanner\.rspamd_controller_url$/);
  await fails('unavailable', /cannot be reached/);
  world.next = refusal;
  await fails('conflict', /Rspamd did not learn this mail: HTTP status 401$/);
  world.next = {kind: 'learned'};
  await train('spam');
  t.is(world.asked, 4);
  t.deepEqual(said, ['spam failed', 'spam failed', 'spam failed', 'spam learned']);
  world.sizeBytes = 1024 ** 3;
  world.next = {kind: 'refused', detail: 'HTTP status 413; the mail is larger than it takes'};
  await fails('conflict', /Rspamd did not learn this mail: HTTP status 413; the mail is larger than it takes$/);
  t.is(world.asked, 5);
  t.true(world.reads.every(({destroyed}) => destroyed));
  world.classifier = undefined;
  await fails(
    'conflict',
    /node alpha scores mail with the built-in scanner, which learns nothing; .*scanner\.rspamd_controller_url/,
  );
});

test('a mail that cannot be read is the failure of who asked', async t => {
  const {trainer, world} = startTrainer();

  const failed = trainer.trainAsAsked('ham', mail, async () => Promise.reject(new Error('disk')));

  await t.throwsAsync(failed, {message: 'disk'});
  t.is(world.asked, 0);
});
