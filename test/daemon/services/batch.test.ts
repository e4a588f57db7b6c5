import {setImmediate as turn} from 'node:timers/promises';
import test from 'ava';
import {createBatch} from '../../../daemon/services/batch.ts';

/** A flush that ends when a test says so, with success or an error. */
const heldFlush = () => {
  const batches: {items: number[]; succeed(): void; fail(error: Error): void}[] = [];
  const flush = async (items: number[]) =>
    new Promise<void>((resolve, reject) => {
      batches.push({items, succeed: resolve, fail: reject});
    });
  return {batches, flush};
};

test('items that come while a flush runs share the next one', async t => {
  const {batches, flush} = heldFlush();
  const submit = createBatch(flush);

  const first = submit(1);
  await turn();
  const others = [submit(2), submit(3)];
  batches[0]?.succeed();
  await first;
  await turn();
  batches[1]?.succeed();
  await Promise.all(others);

  t.deepEqual(
    batches.map(({items}) => items),
    [[1], [2, 3]],
  );
});

test('items of one turn share a flush', async t => {
  const {batches, flush} = heldFlush();
  const submit = createBatch(flush);

  const all = [submit(1), submit(2), submit(3)];
  await turn();
  batches[0]?.succeed();
  await Promise.all(all);

  t.deepEqual(
    batches.map(({items}) => items),
    [[1, 2, 3]],
  );
});

test('an item is not done before its own flush is', async t => {
  const {batches, flush} = heldFlush();
  const submit = createBatch(flush);
  const done: number[] = [];

  void submit(1).then(() => done.push(1));
  await turn();
  const second = submit(2).then(() => done.push(2));
  await turn();
  t.deepEqual(done, []);
  batches[0]?.succeed();
  await turn();
  t.deepEqual(done, [1]);
  batches[1]?.succeed();
  await second;

  t.deepEqual(done, [1, 2]);
});

test('a failed flush fails all of its items and no other', async t => {
  const {batches, flush} = heldFlush();
  const submit = createBatch(flush);

  const first = submit(1);
  await turn();
  const doomed = Promise.allSettled([submit(2), submit(3)]);
  batches[0]?.succeed();
  await first;
  await turn();
  const last = submit(4);
  batches[1]?.fail(new Error('the disk is full'));
  const outcomes = await doomed;
  await turn();
  batches[2]?.succeed();

  t.deepEqual(
    outcomes.map(({status}) => status),
    ['rejected', 'rejected'],
  );
  t.like(outcomes[0], {reason: {message: 'the disk is full'}});
  await t.notThrowsAsync(last);
});

test('there is never more than one flush at a time, and no item is lost or flushed twice', async t => {
  let running = 0;
  const flushed: number[] = [];
  const submit = createBatch<number>(async items => {
    running += 1;
    t.is(running, 1);
    await turn();
    flushed.push(...items);
    running -= 1;
  });

  await Promise.all(
    Array.from({length: 500}, async (_, n) => {
      if (n % 3 === 0) await turn();
      return submit(n);
    }),
  );

  t.deepEqual(
    flushed.toSorted((a, b) => a - b),
    Array.from({length: 500}, (_, n) => n),
  );
});
