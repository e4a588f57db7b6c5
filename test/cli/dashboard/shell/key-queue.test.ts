import test from 'ava';
import {createKeyQueue, keyNames} from '../../../../cli/dashboard/shell/keys.ts';

test('a key waits until the one before has taken effect', t => {
  const handled: string[] = [];
  const queue = createKeyQueue<string>(key => void handled.push(key));

  queue.add(['a', 'b']);
  queue.add(['c']);
  t.deepEqual(handled, ['a']);
  queue.next();
  t.deepEqual(handled, ['a', 'b']);
  queue.next();
  queue.next();
  queue.add(['d']);

  t.deepEqual(handled, ['a', 'b', 'c', 'd']);
});

test('more than anybody types ahead is dropped, not kept', t => {
  let handled = 0;
  const queue = createKeyQueue(() => {
    handled += 1;
  });

  for (let line = 0; line < 10_000; line += 1) queue.add([...'x'.repeat(80)]);
  for (let key = 0; key < 1_000_000; key += 1) queue.next();

  t.true(handled < 6000, `${handled} keys`);
});

test('what arrives in one piece is as many keys as were pressed', t => {
  const none = {} as Parameters<typeof keyNames>[1];

  t.deepEqual(keyNames('jjG', none), ['j', 'j', 'G']);
  t.deepEqual(keyNames(':q\r', none), [':', 'q', 'enter']);
  t.deepEqual(keyNames('a\x03', none), ['a', 'ctrl+c']);
  t.deepEqual(keyNames('\t', {...none, tab: true, shift: true}), ['shift+tab']);
});
