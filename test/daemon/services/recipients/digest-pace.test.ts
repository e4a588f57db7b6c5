import test from 'ava';
import {createPace} from '../../../../daemon/services/recipients/digest-pace.ts';
import {useFakeClock} from '../../../helpers/fake-clock.ts';

test.serial('many are under way while there is time left, and while there is none one begins at a time', async t => {
  const clock = useFakeClock(t);
  let isBusy = true;
  const pace = createPace({atMost: 5, isBusy: () => isBusy});
  const ends = new Set<() => void>();
  const end = async (count: number): Promise<void> => {
    for (const one of [...ends].slice(0, count)) one();
    await clock.advance(0);
  };
  const run = async () =>
    pace.run(
      async () =>
        new Promise<void>(resolve => {
          const done = () => {
            ends.delete(done);
            resolve();
          };
          ends.add(done);
        }),
    );
  const all = Promise.all(Array.from({length: 20}, run));

  await clock.advance(50);
  t.is(ends.size, 2, 'one that a slow server keeps under way keeps none of the others');
  await clock.advance(1000);
  t.is(ends.size, 5);
  await end(5);
  t.is(ends.size, 0, 'what ends is followed at the next tick');
  for (let ended = 5; ended < 10; ended += 1) {
    await clock.advance(50);
    t.is(ends.size, 1);
    await end(1);
  }
  isBusy = false;
  await clock.advance(1000);
  t.is(ends.size, 5);
  await end(5);
  t.is(ends.size, 5);
  await end(5);
  await all;
});
