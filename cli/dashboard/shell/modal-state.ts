// State of a modal between two keys, and the effect of a key. Plain data; the result is an `Outcome`.

import {initialPosition, type ListPosition, moved, movedTo} from '../list/list-window.ts';
import type {KeyName} from './keys.ts';
import {edited, type Line, lineOf} from './line-editor.ts';
import type {Choice, Form, FormField, FormPlace, FormValues, Modal, Page, Prompt, Question} from './modal.ts';
import {type Paste, pastedInto} from './pasted-text.ts';

export interface ModalState {
  /** The text of a prompt, of the form's field under the cursor, or the number typed so far for a question. */
  line: Line;
  /** The position in a choice, a page or a question, or the field of a form. */
  position: ListPosition;
  values: FormValues;
  /** See `FormPlace`. */
  cursors: FormPlace['cursors'];
  errors: Readonly<Record<string, string>>;
  /** The current completions, and the index of the one in the line. */
  completions: readonly string[];
  completion: number;
  /** Index in the history of the prompt; its length stands for the line being typed. */
  recalled: number;
}

/** Anything but `stay` and `pageKey` closes the modal. `run` is called afterwards, so that it can open another one. */
export type Outcome =
  | {kind: 'stay'; state: ModalState}
  | {kind: 'closed' | 'done' | 'key' | 'pageKey'; run?: (() => void) | undefined};

export const startOf = (modal: Modal): ModalState => {
  const state = plainStartOf(modal);
  if (modal.kind !== 'form') return state;
  const {errors = {}, place = {field: 0, cursors: {}}} = modal;
  const wrong = modal.fields.findIndex(({name}) => errors[name] !== undefined);
  return placedAt(modal, {...state, errors, cursors: place.cursors}, wrong === -1 ? place.field : wrong);
};

const plainStartOf = (modal: Modal): ModalState => {
  const values = modal.kind === 'form' ? Object.fromEntries(modal.fields.map(({name, value}) => [name, value])) : {};
  return {
    line: lineOf(modal.kind === 'prompt' ? modal.text : ''),
    position: modal.kind === 'choice' ? {cursor: modal.chosen ?? 0, top: 0} : initialPosition,
    values,
    cursors: {},
    errors: {},
    completions: [],
    completion: 0,
    recalled: modal.kind === 'prompt' ? (modal.history?.length ?? 0) : 0,
  };
};

interface Extent {
  /** The number of rows of a choice, a page or a question that fit. */
  height: number;
  /** All rows of a page or a question at its present width. */
  count: number;
}

export const afterKey = (modal: Modal, state: ModalState, key: KeyName, extent: Extent): Outcome => {
  switch (modal.kind) {
    case 'question':
      return inQuestion(modal, state, key, extent);
    case 'prompt':
      return inPrompt(modal, state, key);
    case 'choice':
      return inChoice(modal, state, key, extent.height);
    case 'page':
      return inPage(modal, state, key, extent);
    case 'form':
      return inForm(modal, state, key);
    default:
      return modal satisfies never;
  }
};

/** Undefined when the modal takes no text. */
export const afterPaste = (
  modal: Modal,
  state: ModalState,
  paste: Paste,
): {state: ModalState; warning: string | undefined} | undefined => {
  if (modal.kind === 'prompt') {
    const {line, warning} = pastedInto(state.line, paste);
    return {state: promptWith(state, line), warning};
  }
  const field = modal.kind === 'form' ? modal.fields[state.position.cursor] : undefined;
  if (modal.kind !== 'form' || !field || field.choices) return undefined;
  const {line, warning} = pastedInto(state.line, paste, field.separator);
  return {state: formWith(modal, state, field, line), warning};
};

const closing: readonly KeyName[] = ['escape', 'q', 'ctrl+c'];

const inQuestion = (question: Question, state: ModalState, key: KeyName, extent: Extent): Outcome => {
  const {onYes, onNo, number} = question;
  if (number !== undefined) {
    if (key === 'enter' && state.line.text === String(number)) return {kind: 'done', run: onYes};
    if (/^\d$/.test(key) || ['backspace', 'ctrl+u', 'ctrl+w'].includes(key))
      return {kind: 'stay', state: {...state, line: edited(state.line, key) ?? state.line}};
  } else if (key === 'y' || key === 'Y') return {kind: 'done', run: onYes};
  if (key === 'n' || key === 'N' || closing.includes(key)) return {kind: 'closed', run: onNo};
  return {kind: 'stay', state: scrolled(state, key, extent)};
};

const inChoice = ({items, keys = [], onChoose}: Choice, state: ModalState, key: KeyName, height: number): Outcome => {
  const {position} = state;
  const extra = keys.find(one => one.key === key);
  if (extra) return {kind: 'key', run: () => extra.run(position.cursor)};
  if (key === 'enter') return items.length === 0 ? {kind: 'closed'} : {kind: 'done', run: () => onChoose(position.cursor)};
  if (closing.includes(key)) return {kind: 'closed'};
  return {kind: 'stay', state: {...state, position: moved(position, key, {count: items.length, height}) ?? position}};
};

/** A page has no cursor: its top moves. A page that must be confirmed is closed by enter alone. */
const inPage = ({mustConfirm, keys = [], onClose}: Page, state: ModalState, key: KeyName, extent: Extent): Outcome => {
  const extra = keys.find(one => one.key === key);
  if (extra) return {kind: 'pageKey', run: extra.run};
  if (key === 'enter') return {kind: 'done', run: onClose};
  if (closing.includes(key) || key === '?')
    return mustConfirm === undefined ? {kind: 'closed', run: onClose} : {kind: 'stay', state};
  return {kind: 'stay', state: scrolled(state, key, extent)};
};

const scrolled = (state: ModalState, key: KeyName, {height, count}: Extent): ModalState => {
  const tops = Math.max(1, count - height + 1);
  const top = {cursor: state.position.top, top: state.position.top};
  const next = moved(top, key === 'space' ? 'pagedown' : key, {count: tops, height}) ?? top;
  return {...state, position: {cursor: next.cursor, top: next.cursor}};
};

const inPrompt = (prompt: Prompt, state: ModalState, key: KeyName): Outcome => {
  if (key === 'escape' || key === 'ctrl+c') return {kind: 'closed'};
  if (key === 'enter') {
    const {text} = state.line;
    const error = prompt.check?.(text);
    if (error !== undefined) return {kind: 'stay', state: {...state, errors: {'': error}}};
    return {kind: 'done', run: () => prompt.onSubmit(text)};
  }
  if (key === 'tab' || key === 'shift+tab') return {kind: 'stay', state: completed(prompt, state, key === 'tab' ? 1 : -1)};
  if (key === 'up' || key === 'down') return {kind: 'stay', state: recalled(prompt, state, key === 'up' ? -1 : 1)};
  const line = edited(state.line, key);
  return {kind: 'stay', state: line ? promptWith(state, line) : state};
};

const promptWith = (state: ModalState, line: Line): ModalState => ({...state, line, errors: {}, completions: [], completion: 0});

/** The first tab takes the first completion, further ones go through the others. */
const completed = (prompt: Prompt, state: ModalState, step: number): ModalState => {
  const isUnderWay = state.completions.length > 0;
  const completions = isUnderWay ? state.completions : (prompt.complete?.(state.line.text) ?? []);
  if (completions.length === 0) return state;
  const at = isUnderWay ? (state.completion + step + completions.length) % completions.length : 0;
  const isOnly = completions.length === 1;
  return {...state, line: lineOf(completions[at] ?? ''), completions: isOnly ? [] : completions, completion: at};
};

const recalled = ({history = []}: Prompt, state: ModalState, step: number): ModalState => {
  const at = Math.max(0, Math.min(history.length, state.recalled + step));
  return {...state, recalled: at, line: lineOf(history[at] ?? ''), completions: [], errors: {}};
};

const inForm = (form: Form, state: ModalState, key: KeyName): Outcome => {
  const {onGiveUp} = form;
  if (key === 'escape' || key === 'ctrl+c')
    return {kind: 'closed', run: onGiveUp && (() => onGiveUp(state.values, placeIn(form, state)))};
  const field = form.fields[state.position.cursor];
  if (!field) return {kind: 'closed'};
  if (key === 'enter' || key === 'ctrl+s') {
    const errors = form.check?.(state.values) ?? {};
    const wrong = form.fields.findIndex(({name}) => errors[name] !== undefined);
    if (wrong === -1) return {kind: 'done', run: () => form.onSubmit(state.values, placeIn(form, state))};
    return {kind: 'stay', state: atField(form, {...state, errors}, wrong)};
  }
  if (key === 'tab' || key === 'down') return {kind: 'stay', state: leftField(form, state, state.position.cursor + 1)};
  if (key === 'shift+tab' || key === 'up') return {kind: 'stay', state: leftField(form, state, state.position.cursor - 1)};

  const line = field.choices ? chosen(field.choices, state.line.text, key) : edited(state.line, key);
  return {kind: 'stay', state: line ? formWith(form, state, field, line) : state};
};

const formWith = (form: Form, state: ModalState, field: FormField, line: Line): ModalState => {
  const values = {...state.values, [field.name]: line.text};
  const {[field.name]: _typed, ...others} = state.errors;
  return {...state, line, values, errors: stillWrong(form, values, Object.keys(others))};
};

/** The errors of these fields only: fields that were not visited yet have none. */
const stillWrong = (form: Form, values: FormValues, names: readonly string[]): ModalState['errors'] => {
  const errors = form.check?.(values) ?? {};
  return Object.fromEntries(Object.entries(errors).filter(([name]) => names.includes(name)));
};

/** Checks the field that the cursor leaves. */
const leftField = (form: Form, state: ModalState, at: number): ModalState => {
  const name = form.fields[state.position.cursor]?.name ?? '';
  return atField(form, {...state, errors: stillWrong(form, state.values, [...Object.keys(state.errors), name])}, at);
};

const atField = (form: Form, state: ModalState, at: number): ModalState => {
  const {cursors} = placeIn(form, state);
  return placedAt(form, {...state, cursors}, at);
};

const placeIn = ({fields}: Form, {position, line, cursors}: ModalState): FormPlace => {
  const name = fields[position.cursor]?.name;
  return {field: position.cursor, cursors: name === undefined ? cursors : {...cursors, [name]: line.cursor}};
};

/** In a field that the cursor was in before it is where it was, else at the end. */
const placedAt = (form: Form, state: ModalState, at: number): ModalState => {
  const {fields} = form;
  const index = (at + fields.length) % fields.length;
  const name = fields[index]?.name ?? '';
  const line = lineOf(state.values[name] ?? '');
  return {
    ...state,
    position: movedTo(state.position, index, {count: fields.length, height: fields.length}),
    line: {...line, cursor: Math.min(line.cursor, state.cursors[name] ?? line.cursor)},
  };
};

const chosen = (choices: readonly string[], text: string, key: KeyName): Line | undefined => {
  const at = choices.indexOf(text);
  const to = ['right', 'space', 'l'].includes(key) ? at + 1 : ['left', 'h'].includes(key) ? at - 1 + choices.length : undefined;
  return to === undefined ? undefined : lineOf(choices[to % choices.length] ?? '');
};
