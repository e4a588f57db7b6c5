import test from 'ava';
import {lineOf} from '../../../../cli/dashboard/shell/line-editor.ts';
import type {Form, Modal, Prompt} from '../../../../cli/dashboard/shell/modal.ts';
import {afterKey, afterPaste, startOf} from '../../../../cli/dashboard/shell/modal-state.ts';
import {longestPastedLine, type Paste, pastedInto} from '../../../../cli/dashboard/shell/pasted-text.ts';
import {hostileTexts} from '../../../helpers/cli/hostile-text.ts';

const paste = (text: string, more: Partial<Paste> = {}): Paste => ({text, length: text.length, isComplete: true, ...more});
const into = (text: string, separator?: string, line = '') => pastedInto(lineOf(line), paste(text), separator).line.text;

test('line breaks become the separator of the field, and none is left at an end', t => {
  for (const text of [
    'a:25\nb:25\n',
    'a:25\r\nb:25',
    'a:25\rb:25\r',
    '\n\na:25\n\n\n  b:25  \n',
    'a:25,\nb:25,\n',
    'a:25\u2028b:25',
  ])
    t.is(into(text, ', '), 'a:25, b:25', JSON.stringify(text));
  t.is(into('domain:example.com\nsince:2h\n'), 'domain:example.com since:2h');
  t.is(into('example.com\n'), 'example.com');
  t.is(into('a\tb'), 'a b');
});

test('pasted text comes in at the cursor, which stands behind it', t => {
  const {line} = pastedInto({text: 'ad', cursor: 1}, paste('bc'));

  t.deepEqual(line, {text: 'abcd', cursor: 3});
});

test('no control character and no escape sequence gets into a field', t => {
  t.is(into('a\x1b[31mb\x1b]0;title\x07c\x03\x00\x7f\x9b2J\u0085d'), 'abc d');
  for (const text of hostileTexts(2000, 5)) t.notRegex(into(text), /[\p{Cc}\p{Cs}]/u, JSON.stringify(text));
});

test('a field takes no more than it can show in time, and says how much it has taken', t => {
  const all = pastedInto(lineOf('x'), paste('y'.repeat(longestPastedLine - 1)));
  const cut = pastedInto(lineOf('x'), paste('y'.repeat(5000)));
  const cutBefore = pastedInto(lineOf(''), paste('y', {length: 3_000_000}));

  t.is(all.warning, undefined);
  t.is(cut.line.text.length, longestPastedLine);
  t.is(cut.warning, 'Pasted text of 5,000 characters was cut: the field took 4,095');
  t.is(cutBefore.warning, 'Pasted text of 3,000,000 characters was cut: the field took 1');
});

test('what is there of a paste without an end is taken, with a warning', t => {
  t.regex(pastedInto(lineOf(''), paste('a', {isComplete: false})).warning ?? '', /^The end of the pasted text did not arrive/);
});

const nothing = () => undefined;
const form: Form = {
  kind: 'form',
  title: 'Form',
  fields: [
    {name: 'name', label: 'Name', value: ''},
    {name: 'kind', label: 'Kind', value: 'a', choices: ['a', 'b']},
    {name: 'list', label: 'List', value: 'x', separator: ', '},
  ],
  check: ({name = ''}) => (name.includes(' ') ? {name: 'has a space'} : {}),
  onSubmit: nothing,
};
const at = (modal: Modal, ...keys: string[]) =>
  keys.reduce((state, key) => {
    const outcome = afterKey(modal, state, key, {height: 5, count: 5});
    return outcome.kind === 'stay' ? outcome.state : state;
  }, startOf(modal));

test('a paste fills the field under the cursor and never submits', t => {
  t.is(afterPaste(form, at(form), paste('a\nb\n'))?.state.values.name, 'a b');
  t.is(afterPaste(form, at(form, 'tab', 'tab', 'ctrl+u'), paste('a\nb\n'))?.state.values.list, 'a, b');
});

test('a name of several lines is refused when it is submitted', t => {
  const pasted = afterPaste(form, at(form), paste('a\nb'));
  const outcome = pasted && afterKey(form, pasted.state, 'enter', {height: 5, count: 5});

  t.true(outcome?.kind === 'stay' && outcome.state.errors.name === 'has a space');
});

test('a prompt takes a paste as it takes what is typed', t => {
  const prompt: Prompt = {
    kind: 'prompt',
    label: ':',
    text: '',
    complete: () => ['one', 'two'],
    check: () => 'wrong',
    onSubmit: nothing,
  };
  const state = {...at(prompt, 'enter'), completions: ['one']};

  const pasted = afterPaste(prompt, state, paste('x\ny'));

  t.like(pasted?.state, {line: {text: 'x y', cursor: 3}, errors: {}, completions: []});
});

test('where no text is typed a paste changes nothing', t => {
  const modals: Modal[] = [
    {kind: 'question', lines: ['Sure?'], yes: 'do it', onYes: nothing},
    {kind: 'choice', title: 'Which?', items: [{label: 'a'}], onChoose: nothing},
    {kind: 'page', title: 'Page', lines: () => [], mustConfirm: 'I have it'},
  ];

  for (const modal of modals) t.is(afterPaste(modal, startOf(modal), paste('y')), undefined, modal.kind);
  t.is(afterPaste(form, at(form, 'tab'), paste('b')), undefined);
});
