import test, {type ExecutionContext} from 'ava';
import {createDeferredActions} from '../../../../cli/dashboard/shell/deferred-actions.ts';
import {useFakeClock} from '../../../helpers/fake-clock.ts';

const setUp = (t: ExecutionContext) => {
  const clock = useFakeClock(t);
  const said: string[] = [];
  const actions = createDeferredActions({
    delayMs: 5000,
    now: clock.now,
    onDone: text => void said.push(`done: ${text}`),
    onFailed: (error, what) => void said.push(`failed: ${what}: ${(error as Error).message}`),
  });
  const add = (what: string, run: () => Promise<string> = async () => what) =>
    actions.add({what, run, onSettled: () => void said.push(`settled: ${what}`)});
  return {clock, said, actions, add};
};

test.serial('an action is done after the delay, once', async t => {
  const {clock, said, actions, add} = setUp(t);

  add('release');
  await clock.advance(4999);
  t.deepEqual(said, []);
  t.like(actions.get()[0], {what: 'release', state: 'waiting'});
  await clock.advance(60_000);

  t.deepEqual(said, ['done: release', 'settled: release']);
  t.deepEqual(actions.get(), []);
});

test.serial('what is taken back in time is never done, the latest first', async t => {
  const {clock, said, actions, add} = setUp(t);
  add('first');
  await clock.advance(1000);
  add('second');

  const taken = actions.takeBack();
  await clock.advance(60_000);

  t.is(taken, 'second');
  t.deepEqual(said, ['settled: second', 'done: first', 'settled: first']);
});

test.serial('what has begun cannot be taken back', async t => {
  const {clock, said, actions, add} = setUp(t);
  let finish = (_text: string): void => undefined;
  add(
    'long',
    () =>
      new Promise(resolve => {
        finish = resolve;
      }),
  );
  await clock.advance(5000);

  t.is(actions.takeBack(), undefined);
  t.deepEqual(actions.dropAll(), []);
  t.is(actions.get()[0]?.state, 'running');
  finish('all of it');
  await clock.advance(0);

  t.deepEqual(said, ['done: all of it', 'settled: long']);
});

test.serial('a failure is told with what was tried, and the next action goes on', async t => {
  const {clock, said, add} = setUp(t);
  add('bad', async () => {
    throw new Error('no');
  });
  add('good');

  await clock.advance(6000);

  t.deepEqual(said.filter(line => !line.startsWith('settled')).sort(), ['done: good', 'failed: bad: no']);
});

test.serial('all that waits can be dropped at once', async t => {
  const {clock, said, actions, add} = setUp(t);
  add('one');
  add('two');

  t.deepEqual(actions.dropAll(), ['one', 'two']);
  await clock.advance(60_000);

  t.false(said.some(line => line.startsWith('done')));
});

test.serial('the list is the same object until something changes, so that it is drawn only then', async t => {
  const {clock, actions, add} = setUp(t);
  let changes = 0;
  actions.subscribe(() => {
    changes += 1;
  });
  add('one');

  const before = actions.get();
  await clock.advance(1000);

  t.is(actions.get(), before);
  t.is(changes, 1);
});
