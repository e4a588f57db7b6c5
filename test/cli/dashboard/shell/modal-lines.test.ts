import test from 'ava';
import type {Modal} from '../../../../cli/dashboard/shell/modal.ts';
import {modalBorder, modalLines} from '../../../../cli/dashboard/shell/modal-lines.ts';
import {afterKey, startOf} from '../../../../cli/dashboard/shell/modal-state.ts';
import {hostileTexts} from '../../../helpers/cli/hostile-text.ts';
import {fits, plainTheme, withoutStyle} from '../../../helpers/dashboard/drawn.ts';

const nothing = () => undefined;

/** A modal of each kind, with the given text wherever external text may appear. */
const modalsWith = (text: string): Modal[] => [
  {kind: 'question', lines: [text, `Delete ${text}?`], yes: `delete ${text}`, onYes: nothing, no: text},
  {kind: 'question', lines: [text], yes: `delete ${text}`, number: 100_000, onYes: nothing, no: text},
  {kind: 'prompt', label: 'Type it:', text, hint: () => text, onSubmit: nothing},
  {kind: 'choice', title: text, items: [{label: text, detail: text}], onChoose: nothing},
  {kind: 'form', title: text, fields: [{name: 'a', label: 'A', value: text, hint: text}], onSubmit: nothing},
];

test('no text from elsewhere gets through a question, a prompt, a choice or a form to the terminal, nor out of its line', t => {
  for (const size of [
    {columns: 60, rows: 12},
    {columns: 120, rows: 30},
  ])
    for (const text of hostileTexts(500, 11))
      for (const modal of modalsWith(text))
        fits(t, modalLines(modal, startOf(modal), {width: size.columns, height: size.rows, theme: plainTheme}), size);
});

test('a long name does not take the keys out of the question', t => {
  const modal: Modal = {kind: 'question', lines: ['Delete it?'], yes: `delete ${'x'.repeat(253)}`, onYes: nothing};

  const last = modalLines(modal, startOf(modal), {width: 80, height: 12, theme: plainTheme}).at(-1);

  t.regex(withoutStyle(last ?? ''), /^ y delete x+… {2}n do nothing $/);
});

test('all of a question can be read before it is answered, however long it is', t => {
  const lines = Array.from({length: 40}, (_, at) => `line ${at}`);
  const modal: Modal = {kind: 'question', lines, yes: 'create', onYes: nothing};
  const room = {width: 80, height: 12, theme: plainTheme};
  const seen = new Set<string>();

  let state = startOf(modal);
  for (let key = 0; key < 60; key += 1) {
    const shown = modalLines(modal, state, room).map(withoutStyle);
    t.is(shown.at(-1), ' y create  n do nothing  j k scroll ');
    for (const line of shown) seen.add(line.trim());
    const outcome = afterKey(modal, state, 'j', {height: room.height - modalBorder, count: lines.length});
    if (outcome.kind === 'stay') state = outcome.state;
  }

  t.deepEqual(
    lines.filter(line => !seen.has(line)),
    [],
  );
});
