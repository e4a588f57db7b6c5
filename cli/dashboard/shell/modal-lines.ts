// Lines of a modal. The last one shows its keys.
import {safeLine} from '../../../shared/safe-text.ts';
import {displayWidth} from '../../output/display-width.ts';
import {within} from '../list/list-window.ts';
import {fitText, wrapText} from './fit-text.ts';
import type {Line} from './line-editor.ts';
import type {Form, Modal, Question} from './modal.ts';
import type {ModalState} from './modal-state.ts';
import type {Theme} from './theme.ts';

export interface ModalArea {
  width: number;
  /** The largest number of rows. */
  height: number;
  theme: Theme;
}

/** Width of the words for a no, and of both keys, in cells. */
const longestNo = 24;

/** Width of the request to type a number, and of the number. */
const longestNumber = 32;

/** Rows around the list, the text or the fields. */
export const modalBorder = 3;

export const modalLines = (modal: Modal, state: ModalState, area: ModalArea): string[] => {
  const {width, theme} = area;
  const rule = theme('─'.repeat(width), 'dim');
  switch (modal.kind) {
    case 'question': {
      const text = questionText(modal.lines, width);
      const height = area.height - modalBorder;
      const {top} = state.position;
      return [
        rule,
        ...text.slice(top, top + height).map(line => ` ${line}`),
        questionKeys(modal, state, {width, theme, isCut: text.length > height}),
      ];
    }
    case 'prompt': {
      const error = state.errors[''];
      const hint = error ?? completionsText(state) ?? modal.hint?.(state.line.text);
      return [
        rule,
        ` ${theme(safeLine(modal.label), 'bold')} ${editedText(state.line, width - displayWidth(safeLine(modal.label)) - 3, theme)}`,
        theme(` ${fitText(hint ?? '', width - 1)}`, error === undefined ? 'dim' : 'bad'),
      ];
    }
    case 'choice': {
      const height = Math.min(modal.items.length, area.height - modalBorder);
      const {cursor, top} = within(state.position, {count: modal.items.length, height});
      const labelWidth = Math.min(40, Math.max(...modal.items.map(({label}) => displayWidth(safeLine(label))), 1));
      const rows = modal.items.slice(top, top + height).map(({label, detail = ''}, at) => {
        const text = ` ${fitText(label, labelWidth)}  ${fitText(detail, width - labelWidth - 4)} `;
        return theme(text, top + at === cursor ? 'cursor' : undefined);
      });
      const extra = (modal.keys ?? []).map(({key, label}) => [key, label] as const);
      return [titled(modal.title, area), ...rows, keysLine(theme, width, [['enter', 'choose'], ...extra, ['escape', 'close']])];
    }
    case 'page': {
      const text = modal.lines(width - 2);
      const height = area.height - modalBorder;
      const shown = text.slice(state.position.top, state.position.top + height).map(line => ` ${line}`);
      const rest = Array.from({length: height - shown.length}, () => '');
      const more = text.length > height ? ([['j k', 'scroll']] as const) : [];
      const close = modal.mustConfirm === undefined ? (['escape', 'close'] as const) : (['enter', modal.mustConfirm] as const);
      const extra = (modal.keys ?? []).map(({key, label}) => [key, label] as const);
      return [titled(modal.title, area), ...shown, ...rest, keysLine(theme, width, [...more, ...extra, close])];
    }
    case 'form':
      return formLines(modal, state, area);
    default:
      return modal satisfies never;
  }
};

const questionKeys = (
  {yes, no = 'do nothing', number}: Question,
  {line}: ModalState,
  {width, theme, isCut}: Pick<ModalArea, 'width' | 'theme'> & {isCut: boolean},
): string => {
  // A question that is cut off must not be confirmed.
  const scrolling = isCut ? ([['j k', 'scroll']] as const) : [];
  // A long name must not displace the keys.
  const cut = fitText(yes, Math.min(displayWidth(safeLine(yes)), width - longestNo - (number === undefined ? 0 : longestNumber)));
  if (number === undefined) return keysLine(theme, width, [['y', cut], ['n', no], ...scrolling]);
  const label = ` type ${number} and enter to ${cut}: `;
  const typed = fitText(line.text, String(number).length + 1);
  const used = displayWidth(label) + displayWidth(typed);
  return theme(label, 'warn', 'bold') + theme(typed, 'cursor') + keysLine(theme, width - used, [['n', no], ...scrolling]);
};

export const questionText = (lines: readonly string[], width: number): string[] =>
  lines.flatMap(line => wrapText(line, width - 2));

const titled = (title: string, {width, theme}: ModalArea): string => {
  const text = ` ${fitText(title, Math.min(displayWidth(safeLine(title)), width - 6))} `;
  return theme('──', 'dim') + theme(text, 'bold') + theme('─'.repeat(Math.max(0, width - 2 - displayWidth(text))), 'dim');
};

/** As many as fit. */
export const keysLine = (theme: Theme, width: number, keys: readonly (readonly [key: string, label: string])[]): string => {
  let line = '';
  let used = 0;
  for (const [key, named] of keys) {
    const label = safeLine(named);
    const text = ` ${key} ${label} `;
    if (used + displayWidth(text) > width) break;
    line += ` ${theme(key, 'accent', 'bold')} ${label} `;
    used += displayWidth(text);
  }
  return line;
};

const completionsText = ({completions, completion}: ModalState): string | undefined =>
  completions.length === 0 ? undefined : `${completion + 1} of ${completions.length}: tab for the next`;

/** Shows the part of a long line that ends at the cursor. */
const editedText = ({text, cursor}: Line, width: number, theme: Theme): string => {
  const chars = [...text].map(char => safeLine(char) || ' ');
  let from = cursor;
  let used = 0;
  while (from > 0 && used + displayWidth(chars[from - 1] ?? '') < width) {
    from -= 1;
    used += displayWidth(chars[from] ?? '');
  }
  let shown = '';
  used = 0;
  for (let at = from; at <= chars.length; at += 1) {
    const char = chars[at] ?? ' ';
    used += displayWidth(char);
    if (used > width) break;
    shown += at === cursor ? theme(char, 'cursor') : char;
  }
  return shown;
};

const formLines = (form: Form, state: ModalState, area: ModalArea): string[] => {
  const {width, theme} = area;
  const labelWidth = Math.max(...form.fields.map(({label}) => displayWidth(safeLine(label))));
  const valueWidth = width - labelWidth - 5;
  const height = Math.max(1, area.height - modalBorder);
  const {top} = within({...state.position, top: 0}, {count: form.fields.length, height});
  const rows = form.fields.slice(top, top + height).map(({name, label, choices}, at) => {
    const isHere = top + at === state.position.cursor;
    const text = state.values[name] ?? '';
    const shown = choices
      ? isHere
        ? theme(`◂ ${fitText(text, Math.min(30, valueWidth - 4)).trimEnd()} ▸`, 'cursor')
        : safeLine(text)
      : undefined;
    const value = shown ?? (isHere ? editedText(state.line, valueWidth, theme) : fitText(text, valueWidth));
    const mark = state.errors[name] === undefined ? ' ' : theme('!', 'bad');
    return `${mark}${theme(fitText(label, labelWidth), isHere ? 'bold' : undefined)}  ${value}`;
  });
  const field = form.fields[state.position.cursor];
  const error = (field && state.errors[field.name]) ?? elsewhere(form, state);
  const hint = error ?? field?.hint ?? '';
  return [
    titled(form.title, area),
    ...rows,
    theme(` ${fitText(hint, width - 1)}`, error === undefined ? 'dim' : 'bad'),
    keysLine(theme, width, [
      ['enter', 'go on'],
      ['tab', 'next field'],
      ['◂ ▸', 'change'],
      ['escape', 'give up'],
    ]),
  ];
};

/** The error of a field that the cursor has left. */
const elsewhere = ({fields}: Form, {errors}: ModalState): string | undefined => {
  const wrong = fields.find(({name}) => errors[name] !== undefined);
  return wrong && `${wrong.label}: ${errors[wrong.name]}`;
};
