import test from 'ava';
import {testStore} from '../../../helpers/store.ts';

const everything = {limit: 1000, maxChars: Number.MAX_SAFE_INTEGER};

for (const {seq, first} of [
  {seq: 500, first: 501},
  {seq: 12, first: 13},
  {seq: 10, first: 11},
  // Below the existing numbers: numbers that others have stored must not be used again either.
  {seq: 7, first: 11},
])
  test(`events 5 to 10 that are to come after ${seq} are numbered from ${first} on, in their order and without a gap`, async t => {
    const {store} = await testStore(t);
    await store.transaction(async tx => {
      for (let n = 1; n <= 10; n += 1) await tx.outbox.append({n});
      await tx.outbox.prune(4);
    });

    await store.transaction(async tx => tx.outbox.renumber(seq));
    const next = await store.transaction(async tx => tx.outbox.append({n: 11}));

    t.deepEqual(await store.outbox.after(0, everything), {
      floor: first - 1,
      entries: [5, 6, 7, 8, 9, 10, 11].map((n, index) => ({seq: first + index, event: {n}})),
    });
    t.is(await store.outbox.floor(), first - 1);
    t.is(next, first + 6);
  });

test('an outbox without events goes on after the number it is told', async t => {
  const {store} = await testStore(t);

  await store.transaction(async tx => tx.outbox.renumber(7));

  t.is(await store.outbox.last(), 7);
  t.is(await store.outbox.floor(), 7);
  t.is(await store.transaction(async tx => tx.outbox.append({})), 8);
});

test('a database that is found to be older than what others know has an event log of a new epoch', async t => {
  const {store} = await testStore(t);
  const choice = {events: [], reach: {kind: 'all'}, limit: 1} as const;
  const {place} = await store.events.follow(undefined, choice);
  t.false((await store.events.follow(place, choice)).isGap);

  await store.transaction(async tx => tx.outbox.renumber(500));

  t.true((await store.events.follow(place, choice)).isGap);
});
