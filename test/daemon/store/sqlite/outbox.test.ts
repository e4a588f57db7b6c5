import test from 'ava';
import {
  appendEvent,
  lastOutboxSeq,
  outboxAfter,
  outboxFloor,
  pruneOutbox,
  renumberOutbox,
} from '../../../../daemon/store/sqlite/outbox.ts';
import {testDatabase} from '../../../helpers/database.ts';

const everything = {limit: 1000, maxChars: Number.MAX_SAFE_INTEGER};

for (const {seq, first} of [
  {seq: 500, first: 501},
  {seq: 12, first: 13},
  {seq: 10, first: 11},
  // Below what there is: numbers that are taken by others must not come again either.
  {seq: 7, first: 11},
])
  test(`events 5 to 10 that are to come after ${seq} are numbered from ${first} on, in their order and without a gap`, async t => {
    const {database} = await testDatabase(t);
    await database.transaction(async tx => {
      for (let n = 1; n <= 10; n += 1) await appendEvent(tx, {n});
      await pruneOutbox(tx, 4);
    });

    await database.transaction(async tx => renumberOutbox(tx, seq));
    const next = await database.transaction(async tx => appendEvent(tx, {n: 11}));

    t.deepEqual(await outboxAfter(database.read, 0, everything), {
      floor: first - 1,
      entries: [5, 6, 7, 8, 9, 10, 11].map((n, index) => ({seq: first + index, event: {n}})),
    });
    t.is(await outboxFloor(database.read), first - 1);
    t.is(next, first + 6);
  });

test('an outbox without events goes on after the number it is told', async t => {
  const {database} = await testDatabase(t);

  await database.transaction(async tx => renumberOutbox(tx, 7));

  t.is(await lastOutboxSeq(database.read), 7);
  t.is(await outboxFloor(database.read), 7);
  t.is(await database.transaction(async tx => appendEvent(tx, {})), 8);
});
