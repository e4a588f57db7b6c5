import test from 'ava';
import type {Form, Modal, Page, Prompt} from '../../../../cli/dashboard/shell/modal.ts';
import {afterKey, type ModalState, type Outcome, startOf} from '../../../../cli/dashboard/shell/modal-state.ts';

const extent = {height: 5, count: 20};

/** The last outcome, and the state after the previous key. */
const press = (modal: Modal, ...keys: string[]): {outcome: Outcome; state: ModalState} => {
  let state = startOf(modal);
  let outcome: Outcome = {kind: 'stay', state};
  for (const key of keys) {
    outcome = afterKey(modal, state, key, extent);
    if (outcome.kind === 'stay') state = outcome.state;
  }
  return {outcome, state};
};

const question: Modal = {kind: 'question', lines: ['Sure?'], yes: 'do it', onYes: () => undefined};
const page = (more: Partial<Page> = {}): Page => ({kind: 'page', title: 'Page', lines: () => [], ...more});
const prompt = (more: Partial<Prompt> = {}): Prompt => ({
  kind: 'prompt',
  label: ':',
  text: '',
  onSubmit: () => undefined,
  ...more,
});
const form = (more: Partial<Form> = {}): Form => ({
  kind: 'form',
  title: 'Form',
  fields: [
    {name: 'name', label: 'Name', value: ''},
    {name: 'kind', label: 'Kind', value: 'a', choices: ['a', 'b', 'c']},
    {name: 'note', label: 'Note', value: 'x'},
  ],
  onSubmit: () => undefined,
  ...more,
});

test('only y is a yes', t => {
  for (const key of ['enter', 'space', 'j', 'x', 'tab']) t.is(press(question, key).outcome.kind, 'stay', key);
  for (const key of ['n', 'q', 'escape', 'ctrl+c']) t.is(press(question, key).outcome.kind, 'closed', key);
  t.is(press(question, 'y').outcome.kind, 'done');
});

test('a question that names a number takes that number alone for a yes', t => {
  const many: Modal = {kind: 'question', lines: ['Sure?'], yes: 'discard', number: 120, onYes: () => undefined};

  for (const keys of [['y'], ['Y'], ['enter'], ['1', '2', 'enter'], ['1', '2', '0', '0', 'enter'], ['1', '2', '0', 'y']])
    t.is(press(many, ...keys).outcome.kind, 'stay', keys.join(' '));
  t.is(press(many, '1', '2', '0', 'enter').outcome.kind, 'done');
  t.is(press(many, '1', '3', 'backspace', '2', '0', 'enter').outcome.kind, 'done');
  for (const key of ['n', 'q', 'escape']) t.is(press(many, '1', key).outcome.kind, 'closed', key);
});

test('a page that must be confirmed is left by enter alone', t => {
  const secret = page({mustConfirm: 'I have it'});

  for (const key of ['escape', 'q', 'ctrl+c', '?', 'space', 'y']) t.is(press(secret, key).outcome.kind, 'stay', key);
  t.is(press(secret, 'enter').outcome.kind, 'done');
  for (const key of ['escape', 'q', 'ctrl+c', '?']) t.is(press(page(), key).outcome.kind, 'closed', key);
});

test('a further key of a page does not close it', t => {
  const withKey = page({mustConfirm: 'I have it', keys: [{key: 'y', label: 'copy', run: () => undefined}]});

  t.is(press(withKey, 'y').outcome.kind, 'pageKey');
});

test('a page scrolls to its last line and no further', t => {
  t.is(press(page(), ...Array(100).fill('j')).state.position.top, 15);
  t.is(press(page(), 'G').state.position.top, 15);
  t.is(press(page(), 'G', 'k').state.position.top, 14);
  t.is(press(page(), 'space').state.position.top, 4);
});

test('a prompt that is wrong says so and stays, until it is mended', t => {
  const checked = prompt({check: text => (text === 'ok' ? undefined : 'not ok')});

  const wrong = press(checked, 'n', 'enter');
  const mended = press(checked, 'n', 'enter', 'backspace', 'o', 'k');
  const right = press(checked, 'o', 'k', 'enter');

  t.is(wrong.outcome.kind, 'stay');
  t.deepEqual(wrong.state.errors, {'': 'not ok'});
  t.deepEqual(mended.state.errors, {});
  t.is(right.outcome.kind, 'done');
});

test('tab goes through the ways to go on, and shift+tab back', t => {
  const completing = prompt({complete: text => ['quarantine', 'quit'].filter(word => word.startsWith(text))});

  t.is(press(completing, 'q', 'tab').state.line.text, 'quarantine');
  t.is(press(completing, 'q', 'tab', 'tab').state.line.text, 'quit');
  t.is(press(completing, 'q', 'tab', 'tab', 'tab').state.line.text, 'quarantine');
  t.is(press(completing, 'q', 'tab', 'shift+tab').state.line.text, 'quit');
  t.is(press(completing, 'z', 'tab').state.line.text, 'z');
});

test('what was submitted before comes back with the arrows', t => {
  const remembering = prompt({history: ['old', 'new']});

  t.is(press(remembering, 'up').state.line.text, 'new');
  t.is(press(remembering, 'up', 'up', 'up').state.line.text, 'old');
  t.is(press(remembering, 'up', 'down').state.line.text, '');
});

test('a form keeps what was typed in each field, and goes through choices', t => {
  const {state} = press(form(), 'h', 'i', 'tab', 'right', 'right', 'tab', 'y', 'shift+tab', 'left');

  t.deepEqual(state.values, {name: 'hi', kind: 'b', note: 'xy'});
});

test('letters do not change a choice', t => {
  t.deepEqual(press(form(), 'tab', 'z', 'backspace').state.values, {name: '', kind: 'a', note: 'x'});
});

test('a form that is wrong goes to the first field that is', t => {
  const checked = form({check: ({note}) => (note === 'x' ? {note: 'not x'} : {})});

  const wrong = press(checked, 'enter');
  const mended = press(checked, 'enter', 'y', 'enter');

  t.is(wrong.state.position.cursor, 2);
  t.is(wrong.state.line.text, 'x');
  t.is(mended.outcome.kind, 'done');
});

test('a form that is opened with what the node found wrong begins there', t => {
  const state = startOf(form({errors: {kind: 'taken'}}));

  t.is(state.position.cursor, 1);
  t.deepEqual(state.errors, {kind: 'taken'});
});

test('a field that the cursor comes back to has it where it was', t => {
  const {state} = press(form(), 'a', 'b', 'c', 'left', 'left', 'tab', 'tab', 'home', 'shift+tab', 'shift+tab', 'X');

  t.deepEqual(state.values, {name: 'aXbc', kind: 'a', note: 'x'});
  t.is(press(form(), 'tab', 'tab', 'home', 'tab', 'up', 'Y').state.values.note, 'Yx');
});

test('a form that is opened again begins where the cursor was', t => {
  const places: unknown[] = [];
  const left = form({onGiveUp: (values, place) => places.push(values, place)});
  const {outcome} = press(left, 'a', 'b', 'left', 'tab', 'tab', 'left', 'escape');
  t.true(outcome.kind === 'closed' && places.length === 0);
  if (outcome.kind === 'closed') outcome.run?.();

  const place = {field: 2, cursors: {name: 1, kind: 1, note: 0}};
  t.deepEqual(places, [{name: 'ab', kind: 'a', note: 'x'}, place]);
  const again = startOf(form({place}));
  t.is(again.position.cursor, 2);
  t.deepEqual(again.line, {text: 'x', cursor: 0});
  t.is(startOf(form({place, errors: {kind: 'taken'}})).position.cursor, 1);
});

test('an empty choice closes, and never chooses', t => {
  const choice: Modal = {kind: 'choice', title: 'Which?', items: [], onChoose: () => undefined};

  t.is(press(choice, 'enter').outcome.kind, 'closed');
});
