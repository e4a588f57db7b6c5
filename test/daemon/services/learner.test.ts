import test from 'ava';
import {createLearner} from '../../../daemon/services/learner.ts';
import type {Classifier, Learnt} from '../../../daemon/services/ports.ts';
import {contentOf} from '../../helpers/received-mail.ts';

const mail = {
  queueId: 'Q1w2E3',
  sender: 'ada@example.net',
  recipients: ['ben@example.com'],
  content: contentOf(Buffer.from('x')),
};
const silence: Learnt = {kind: 'unreachable', detail: 'no answer within 5000 ms'};
const refusal: Learnt = {kind: 'refused', detail: 'HTTP status 401'};

/** A learner whose classifier answers with `next`, and all it tells of. */
const startLearner = () => {
  const said: string[] = [];
  const world = {now: 0, asked: 0, next: {kind: 'learned'} as Learnt, classifier: undefined as Classifier | undefined};
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
  return {learner, world, said, newClassifier};
};

test('with nobody to teach it is off, and learns nothing', async t => {
  const {learner, world, said} = startLearner();

  t.true(learner.isOn());
  world.classifier = undefined;
  await learner.learn('ham', mail);

  t.false(learner.isOn());
  t.deepEqual(said, []);
});

test('an outage is told of once, and its end with the number of lessons missed', async t => {
  const {learner, world, said} = startLearner();

  world.next = refusal;
  for (let count = 0; count < 3; count += 1) await learner.learn('spam', mail);
  world.next = {kind: 'known'};
  await learner.learn('ham', mail);
  world.next = {kind: 'learned'};
  await learner.learn('ham', mail);

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
  const {learner, world, said, newClassifier} = startLearner();

  world.next = silence;
  await learner.learn('spam', mail);
  world.now = 29_999;
  await learner.learn('spam', mail);
  t.is(world.asked, 1);
  world.now = 30_000;
  await learner.learn('spam', mail);
  t.is(world.asked, 2);
  world.next = {kind: 'learned'};
  world.classifier = newClassifier();
  await learner.learn('spam', mail);

  t.is(world.asked, 3);
  t.deepEqual(said.slice(-2), ['spam learned', 'missed 3']);
});

test('who refuses is asked again at once', async t => {
  const {learner, world} = startLearner();

  world.next = refusal;
  await learner.learn('spam', mail);
  await learner.learn('spam', mail);

  t.is(world.asked, 2);
});
