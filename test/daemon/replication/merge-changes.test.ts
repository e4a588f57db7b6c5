import test from 'ava';
import fc from 'fast-check';
import {isComplete} from '../../../daemon/replication/config-merge.ts';
import {digestOf} from '../../../daemon/replication/merge-changes.ts';
import {delivery, history} from '../../helpers/config-history.ts';
import {createRecordStore} from '../../helpers/record-store.ts';

/** What three nodes wrote, and how it reached two others: doubled, in another order, in batches of any size. */
const deliveries = history(16).chain(changes => fc.tuple(delivery(changes), delivery(changes)));

test('in 10,000 histories, events that are doubled and reordered make the same records everywhere', async t => {
  let sequences = 0;

  await fc.assert(
    fc.asyncProperty(deliveries, async sides => {
      const stores = [createRecordStore(), createRecordStore()];
      for (const [n, batches] of sides.entries()) {
        for (const batch of batches) await stores[n]?.apply(batch);
        sequences += 1;
      }

      const [one, other] = stores.map(store => JSON.stringify(store.dump()));
      if (one !== other) t.deepEqual(stores[0]?.dump(), stores[1]?.dump());
      for (const store of stores) {
        const {kept, recomputed} = store.sums();
        if (kept !== recomputed) t.is(kept, recomputed);
      }
    }),
    {numRuns: 10_000},
  );

  t.is(sequences, 20_000);
});

test('what is applied once more changes nothing, and an acknowledgement that was lost costs nothing', async t => {
  await fc.assert(
    fc.asyncProperty(
      history(16).chain(changes => fc.tuple(delivery(changes), fc.array(fc.nat(20)))),
      async ([batches, again]) => {
        const store = createRecordStore();
        for (const batch of batches) await store.apply(batch);
        const before = JSON.stringify(store.dump());

        for (const n of again) await store.apply(batches[n % batches.length] ?? []);

        t.is(JSON.stringify(store.dump()), before);
      },
    ),
    {numRuns: 1000},
  );
});

test('a record has a digest exactly when it is complete, not deleted, not beaten to its name and not without its parent', async t => {
  await fc.assert(
    fc.asyncProperty(history(20), async changes => {
      const store = createRecordStore();
      await store.apply(changes);

      const records = store.dump();
      for (const record of records) {
        if (record.digest === '') continue;
        t.is(record.digest, digestOf(record));
        t.is(record.deleted, null);
        t.true(isComplete(record.kind, record));
        const parent = records.find(({kind, id}) => kind === 'domain' && id === record.parent_id);
        if (record.parent_id !== null) t.not(parent?.digest, '');
        const namesakes = records.filter(({kind, unique_key}) => kind === record.kind && unique_key === record.unique_key);
        if (record.unique_key !== null) t.is(namesakes.filter(({digest}) => digest !== '').length, 1);
      }
    }),
    {numRuns: 1000},
  );
});
