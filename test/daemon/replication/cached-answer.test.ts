import test from 'ava';
import {cacheAnswer} from '../../../daemon/replication/cached-answer.ts';

test('a failure is for those who waited for it, and the next one asks again', async t => {
  let asked = 0;
  const ask = cacheAnswer(
    async () => {
      asked += 1;
      if (asked === 1) throw new Error('away');
      return asked;
    },
    {cachedMs: 3000, monotonic: () => 0},
  );

  const failed = await Promise.allSettled([ask(), ask()]);

  t.deepEqual(
    failed.map(({status}) => status),
    ['rejected', 'rejected'],
  );
  t.is(await ask(), 2);
  t.is(await ask(), 2);
});

test('the time counts from when an answer was found, not from when it was asked for', async t => {
  let now = 0;
  let asked = 0;
  const found: (() => void)[] = [];
  const ask = cacheAnswer(
    async () => {
      asked += 1;
      await new Promise<void>(resolve => found.push(resolve));
      return asked;
    },
    {cachedMs: 3000, monotonic: () => now},
  );

  const first = ask();
  now = 10_000;
  const meanwhile = ask();
  found.shift()?.();
  const answers = [await first, await meanwhile];
  now = 12_999;
  answers.push(await ask());

  t.deepEqual(answers, [1, 1, 1]);
});
