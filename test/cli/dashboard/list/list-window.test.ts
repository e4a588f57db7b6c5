import test from 'ava';
import fc from 'fast-check';
import {initialPosition, moved, movingKeys, within} from '../../../../cli/dashboard/list/list-window.ts';

test('whatever is pressed and however the list changes, the cursor is in the list and in sight', t => {
  const step = fc.record({
    key: fc.constantFrom(...movingKeys),
    extent: fc.record({count: fc.integer({min: 0, max: 50}), height: fc.integer({min: 1, max: 20})}),
  });
  fc.assert(
    fc.property(fc.array(step), steps => {
      let position = initialPosition;
      for (const {key, extent} of steps) {
        position = moved(within(position, extent), key, extent) ?? position;
        const {cursor, top} = position;
        if (cursor < 0 || cursor > Math.max(0, extent.count - 1)) return false;
        if (cursor < top || cursor >= top + extent.height) return false;
        if (top > Math.max(0, extent.count - extent.height)) return false;
      }
      return true;
    }),
  );
  t.pass();
});

test('the window moves only when the cursor would leave it', t => {
  const extent = {count: 100, height: 10};

  const inside = moved({cursor: 5, top: 0}, 'j', extent);
  const below = moved({cursor: 9, top: 0}, 'j', extent);
  const above = moved({cursor: 20, top: 20}, 'k', extent);

  t.deepEqual(
    [inside, below, above],
    [
      {cursor: 6, top: 0},
      {cursor: 10, top: 1},
      {cursor: 19, top: 19},
    ],
  );
});

test('pages overlap by one row, and both ends are one key away', t => {
  const extent = {count: 100, height: 10};

  t.is(moved(initialPosition, 'pagedown', extent)?.cursor, 9);
  t.is(moved(initialPosition, 'G', extent)?.cursor, 99);
  t.is(moved({cursor: 99, top: 90}, 'g', extent)?.cursor, 0);
  t.is(moved(initialPosition, 'x', extent), undefined);
});
