// Keys and commands of the quarantine screen.

import {isEmptyQuery} from '../../../quarantine/hold-query.ts';
import {moved, movingKeys} from '../../list/list-window.ts';
import type {Binding, KeyName} from '../../shell/keys.ts';
import type {ScreenCommand, Shell} from '../../shell/shell.ts';
import {askToAct, openFailures, openIds, openSave} from './act-keys.ts';
import {ask, openFilter, openViews, otherOrder, saveCurrentView, setFilter, setOrder} from './find-keys.ts';
import {mailOrders, mailUnderCursor, rowCount} from './list-state.ts';
import {completeQuery, type QuarantineContext} from './quarantine-context.ts';
import {type Layout, lastScroll} from './quarantine-view.ts';
import {markRange, selectAll} from './select-keys.ts';

interface KeyFacts {
  layout: Layout;
  /** Lines of the preview. */
  previewLength: number;
}

export const quarantineBindings = (shell: Shell, quarantine: QuarantineContext, facts: KeyFacts): Binding[] => {
  const {list, screen, previews} = quarantine;
  const isFull = facts.layout.kind === 'full';
  return [
    ...(isFull ? readingBindings(quarantine, facts) : []),
    {keys: movingKeys, help: 'move', run: key => move(quarantine, key)},
    {
      keys: ['/'],
      label: 'filter',
      help: 'find mail by domain, sender, time, score, subject …',
      run: () => openFilter(shell, quarantine),
    },
    {
      keys: ['enter'],
      label: isFull ? 'list' : 'read',
      help: 'the preview beside the list, then over the whole screen',
      run: () => nextPreview(shell, quarantine),
    },
    {keys: ['p'], help: 'the preview beside or below the list, on and off', run: () => togglePreview(quarantine)},
    {keys: ['J', 'K'], help: 'scroll the preview', run: key => scroll(quarantine, facts, key === 'J' ? 3 : -3)},
    {keys: ['space'], label: 'select', help: 'select the mail, or leave it, and move on', run: () => toggle(quarantine)},
    {
      keys: ['R'],
      label: 'release',
      needs: 'quarantine:act',
      help: 'release what is selected, or else the mail under the cursor',
      run: () => askToAct(shell, quarantine, 'release'),
    },
    {
      keys: ['D'],
      label: 'discard',
      needs: 'quarantine:act',
      help: 'discard what is selected, or else the mail under the cursor',
      run: () => askToAct(shell, quarantine, 'discard'),
    },
    {keys: ['V'], label: 'range', help: 'select a range: once at each of its ends', run: () => markRange(shell, quarantine)},
    {keys: ['a'], label: 'all', help: 'select all that match the filter now', run: () => selectAll(shell, quarantine)},
    {keys: ['A'], help: 'select nothing', run: () => screen.dispatch({type: 'dropped'})},
    {keys: ['s'], label: 'sort', help: 'another order', run: () => otherOrder(quarantine)},
    {
      keys: ['v'],
      label: 'views',
      help: 'saved filters; :save NAME saves the current one',
      run: () => void openViews(shell, quarantine),
    },
    {keys: ['e'], help: 'what failed the last time, and why', run: () => openFailures(shell, quarantine)},
    {keys: ['w'], help: 'write the mail to a new file', run: () => openSave(shell, quarantine)},
    {keys: ['y'], help: 'show the id, or all selected ids, to copy them', run: () => openIds(shell, quarantine)},
    {
      keys: ['r'],
      help: 'read the list again',
      run: () => {
        list.refresh();
        previews.retry();
      },
    },
    {keys: ['escape'], help: 'step back: preview, range, selection, filter', run: () => stepBack(shell, quarantine)},
  ];
};

export const quarantineCommands = (shell: Shell, quarantine: QuarantineContext): ScreenCommand[] => [
  {
    name: 'filter',
    help: 'find mail: :filter domain:example.com since:2h',
    run: text => setFilter(quarantine, text),
    complete: text => completeQuery(text, quarantine.names.get().value),
  },
  {
    name: 'sort',
    help: 'another order: :sort oldest',
    run: name => setOrder(quarantine, name),
    complete: name => mailOrders.filter(order => order.startsWith(name)),
  },
  {name: 'save', help: 'save filter and order as a view: :save NAME', run: name => void saveCurrentView(shell, quarantine, name)},
  {name: 'views', help: 'the built-in and the saved filters', run: () => void openViews(shell, quarantine)},
];

/** While the preview fills the screen, the keys for moving scroll its text. */
const readingBindings = (quarantine: QuarantineContext, facts: KeyFacts): Binding[] => {
  const {rows} = facts.layout.preview;
  const count = lastScroll(facts.previewLength, rows) + 1;
  const scrollBy = (key: KeyName): number => {
    const at = quarantine.screen.get().scroll;
    return (moved({cursor: at, top: at}, key, {count, height: rows - 1})?.cursor ?? at) - at;
  };
  return [
    {keys: movingKeys, help: 'scroll the text', run: key => scroll(quarantine, facts, scrollBy(key))},
    {
      keys: ['n', 'N'],
      label: 'next',
      help: 'the next mail, and the one before',
      run: key => move(quarantine, key === 'n' ? 'j' : 'k'),
    },
  ];
};

const move = ({list}: QuarantineContext, key: KeyName): void => {
  const state = list.get();
  const position = moved(state.position, key, {count: rowCount(state), height: state.height});
  if (position) list.dispatch({type: 'moved', position});
};

const toggle = (quarantine: QuarantineContext): void => {
  const mail = mailUnderCursor(quarantine.list.get());
  if (!mail) return;
  quarantine.screen.dispatch({type: 'toggled', mail});
  move(quarantine, 'j');
};

const scroll = ({screen}: QuarantineContext, {previewLength, layout}: KeyFacts, by: number): void =>
  screen.dispatch({type: 'scrolled', by, last: lastScroll(previewLength, layout.preview.rows)});

const isWide = ({size}: Shell): boolean => size.columns >= 120;

const nextPreview = (shell: Shell, {screen, list}: QuarantineContext): void => {
  const {preview} = screen.get();
  if (preview === 'off' && !mailUnderCursor(list.get())) return;
  const beside = isWide(shell) ? 'beside' : 'full';
  screen.dispatch({type: 'previewed', mode: preview === 'off' ? beside : preview === 'beside' ? 'full' : 'off'});
};

const togglePreview = ({screen}: QuarantineContext): void =>
  screen.dispatch({type: 'previewed', mode: screen.get().preview === 'off' ? 'beside' : 'off'});

const stepBack = (shell: Shell, quarantine: QuarantineContext): void => {
  const {screen, list} = quarantine;
  const {preview, rangeStart, picked, collecting} = screen.get();
  const {query, order} = list.get();
  if (collecting) collecting.stop();
  else if (rangeStart) screen.dispatch({type: 'range-left'});
  else if (preview === 'full' && isWide(shell)) screen.dispatch({type: 'previewed', mode: 'beside'});
  else if (preview !== 'off') screen.dispatch({type: 'previewed', mode: 'off'});
  else if (picked.size > 0) screen.dispatch({type: 'dropped'});
  else if (!isEmptyQuery(query)) ask(quarantine, {}, order);
};
