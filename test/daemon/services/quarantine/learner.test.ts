import {Readable} from 'node:stream';
import test from 'ava';
import type {Classifier, Learnt, Lesson} from '../../../../daemon/services/intake/mail-ports.ts';
import {createLearner} from '../../../../daemon/services/quarantine/learner.ts';

const mail = {queueId: 'Q1w2E3', sender: 'ada@example.net', recipients: ['ben@example.com']};
const silence: Learnt = {kind: 'unreachable', detail: 'no answer within 5000 ms'};
const refusal: Learnt = {kind: 'refused', detail: 'HTTP status 401'};

/** A learner whose classifier answers with `next`, and all it tells of. */
const startLearner = () => {
  const said: string[] = [];
  const world = {
    now: 0,
    asked: 0,
    reads: [] as Readable[],
    next: {kind: 'learned'} as Learnt,
    classifier: undefined as Classifier | undefined,
  };
  const newClassifier = (): Classifier => ({
    learn: async () => {
      world.asked += 1;
      return world.next;
    },
  });
  world.classifier = newClassifier();
  const learner = createLearner({
    classifier: () => world.classifier,
    onLesson: (lesson, outcome) => said.push(`${lesson} ${outcome}`),
    onOutage: detail => said.push(`outage: ${detail}`),
    onRecovery: missed => said.push(`missed ${missed}`),
    now: () => world.now,
  });
  const read = async () => {
    const stream = Readable.from(['text']);
    world.reads.push(stream);
    return {sizeBytes: 4, stream};
  };
  const learn = async (lesson: Lesson) => learner.learn(lesson, mail, read);
  return {learner, learn, world, said, newClassifier};
};

test('with nobody to teach no mail is read', async t => {
  const {learn, world, said} = startLearner();
  world.classifier = undefined;

  await learn('ham');

  t.deepEqual([said, world.reads], [[], []]);
});

test('what was read is let go of, whatever became of it', async t => {
  const {learn, world} = startLearner();

  for (const next of [{kind: 'learned'} as const, refusal, silence]) {
    world.next = next;
    await learn('ham');
  }

  t.deepEqual(
    world.reads.map(({destroyed}) => destroyed),
    [true, true, true],
  );
});

test('a mail that cannot be read is a lesson missed', async t => {
  const {learner, world, said} = startLearner();

  await learner.learn('spam', mail, async () => {
    throw new Error('disk');
  });

  t.deepEqual(said, ['spam failed', 'outage: the mail could not be read']);
  t.is(world.asked, 0);
});

test('an outage is told of once, and its end with the number of lessons missed', async t => {
  const {learn, world, said} = startLearner();

  world.next = refusal;
  for (let count = 0; count < 3; count += 1) await learn('spam');
  world.next = {kind: 'known'};
  await learn('ham');
  world.next = {kind: 'learned'};
  await learn('ham');

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
  const {learn, world, said, newClassifier} = startLearner();

  world.next = silence;
  await learn('spam');
  world.now = 29_999;
  await learn('spam');
  t.is(world.asked, 1);
  world.now = 30_000;
  await learn('spam');
  t.deepEqual([world.asked, world.reads.length], [2, 2]);
  world.next = {kind: 'learned'};
  world.classifier = newClassifier();
  await learn('spam');

  t.is(world.asked, 3);
  t.deepEqual(said.slice(-2), ['spam learned', 'missed 3']);
});

test('who refuses is asked again at once', async t => {
  const {learn, world} = startLearner();

  world.next = refusal;
  await learn('spam');
  await learn('spam');

  t.is(world.asked, 2);
});
