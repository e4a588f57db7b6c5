import test from 'ava';
import fc from 'fast-check';
import {edited, lineOf} from '../../../../cli/dashboard/shell/line-editor.ts';

const press = (text: string, ...keys: string[]) => keys.reduce((line, key) => edited(line, key) ?? line, lineOf(text));

test('letters go in at the cursor, and whole characters go out', t => {
  t.deepEqual(press('ac', 'left', 'b'), {text: 'abc', cursor: 2});
  t.deepEqual(press('a😀', 'backspace'), {text: 'a', cursor: 1});
  t.deepEqual(press('', 'space', 'ö'), {text: ' ö', cursor: 2});
});

test('the keys of a shell do what they do there', t => {
  t.deepEqual(press('one two  ', 'ctrl+w'), {text: 'one ', cursor: 4});
  t.deepEqual(press('one two', 'ctrl+u'), {text: '', cursor: 0});
  t.deepEqual(press('one two', 'ctrl+a', 'ctrl+k'), {text: '', cursor: 0});
  t.deepEqual(press('one', 'home', 'ctrl+d'), {text: 'ne', cursor: 0});
  t.deepEqual(press('one', 'home', 'ctrl+e', 's'), {text: 'ones', cursor: 4});
});

test('a key that does not edit is left to others', t => {
  t.is(edited(lineOf('one'), 'enter'), undefined);
  t.is(edited(lineOf('one'), 'pagedown'), undefined);
});

test('whatever is pressed, the cursor stays in the line', t => {
  const key = fc.constantFrom(
    ...['left', 'right', 'home', 'end', 'backspace', 'ctrl+d', 'ctrl+w', 'ctrl+u', 'ctrl+k', 'a', 'space', '😀'],
  );
  fc.assert(
    fc.property(fc.string({unit: 'grapheme'}), fc.array(key), (text, keys) => {
      const {text: after, cursor} = press(text, ...keys);
      return cursor >= 0 && cursor <= [...after].length;
    }),
  );
  t.pass();
});
