import test from 'ava';
import {createKeyQueue} from '../../../../cli/dashboard/shell/keys.ts';

test('a key waits until the one before has taken effect', t => {
  const handled: string[] = [];
  const queue = createKeyQueue<string>(key => void handled.push(key));

  queue.add('a');
  queue.add('b');
  queue.add('c');
  t.deepEqual(handled, ['a']);
  queue.next();
  t.deepEqual(handled, ['a', 'b']);
  queue.next();
  queue.next();
  queue.add('d');

  t.deepEqual(handled, ['a', 'b', 'c', 'd']);
});

test('more than anybody types ahead is dropped, not kept', t => {
  let handled = 0;
  const queue = createKeyQueue(() => {
    handled += 1;
  });

  for (let key = 0; key < 800_000; key += 1) queue.add('x');
  for (let key = 0; key < 1_000_000; key += 1) queue.next();

  t.true(handled < 6000, `${handled} keys`);
});
