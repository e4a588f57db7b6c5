import {Readable} from 'node:stream';
import test from 'ava';
import type {Classifier, TrainingClass, TrainingResult} from '../../../../daemon/services/intake/mail.ts';
import {createTrainer} from '../../../../daemon/services/quarantine/trainer.ts';

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
  };
  const newClassifier = (): Classifier => ({
    train: async () => {
      world.asked += 1;
      return world.next;
    },
  });
  world.classifier = newClassifier();
  const trainer = createTrainer({
    classifier: () => world.classifier,
    onTrained: (sampleClass, outcome) => said.push(`${sampleClass} ${outcome}`),
    onOutage: detail => said.push(`outage: ${detail}`),
    onRecovery: missed => said.push(`missed ${missed}`),
    now: () => world.now,
  });
  const read = async () => {
    const stream = Readable.from(['text']);
    world.reads.push(stream);
    return {sizeBytes: 4, stream};
  };
  const train = async (sampleClass: TrainingClass) => trainer.train(sampleClass, mail, read);
  return {trainer, train, world, said, newClassifier};
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
  world.next = {kind: 'known'};
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
