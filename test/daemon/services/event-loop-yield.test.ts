import {setImmediate as nextIteration} from 'node:timers/promises';
import test from 'ava';
import {createYield} from '../../../daemon/services/event-loop-yield.ts';

test('however many ask, there is one turn in each round of the event loop', async t => {
  const yieldNow = createYield();
  let round = 0;
  let isDone = false;
  const count = async () => {
    while (!isDone) {
      await nextIteration();
      round += 1;
    }
  };
  const counting = count();
  const rounds: number[] = [];
  const work = async () => {
    for (let slice = 0; slice < 5; slice += 1) {
      await yieldNow();
      rounds.push(round);
    }
  };

  await Promise.all(Array.from({length: 10}, work));
  isDone = true;
  await counting;

  t.is(rounds.length, 50);
  t.is(new Set(rounds).size, 50);
});
