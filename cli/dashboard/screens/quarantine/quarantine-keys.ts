// Keys and commands of the quarantine screen besides those of every list.
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {CliError, usageError} from '../../../errors.ts';
import {moved, movingKeys} from '../../list/list-window.ts';
import type {Binding, KeyName} from '../../shell/keys.ts';
import {guarded, type ScreenCommand, type Shell} from '../../shell/shell.ts';
import {askToAct, openFailures, openIds, openSave} from './act-keys.ts';
import {mailOrders} from './held-part.ts';
import type {QuarantineContext} from './quarantine-context.ts';
import {besideFrom, lastScroll, type PreviewArea} from './quarantine-list.ts';
import {markRange, selectAll} from './select-keys.ts';
import {openSenderForm} from './sender-form.ts';
import {builtInViews, saveView, viewOf} from './view-store.ts';

interface KeyFacts {
  /** Under the cursor, as it is shown. */
  mail: HeldMail | undefined;
  move(key: KeyName): void;
  preview: PreviewArea;
  /** Lines of the preview. */
  previewLength: number;
}

export const quarantineBindings = (shell: Shell, quarantine: QuarantineContext, facts: KeyFacts): Binding[] => {
  const {screen} = quarantine;
  const {mail} = facts;
  const isFull = facts.preview.place === 'full';
  return [
    ...(isFull ? readingBindings(quarantine, facts) : []),
    {
      keys: ['enter'],
      label: isFull ? 'list' : 'read',
      help: 'the preview beside the list, then over the whole screen',
      run: () => nextPreview(shell, quarantine, mail),
    },
    {keys: ['p'], help: 'the preview beside or below the list, on and off', run: () => togglePreview(quarantine)},
    {keys: ['J', 'K'], help: 'scroll the preview', run: key => scroll(quarantine, facts, key === 'J' ? 3 : -3)},
    // In this order: on the smallest screen the footer has no place for more.
    {
      keys: ['R'],
      label: 'release',
      needs: 'quarantine:act',
      help: 'release what is selected, or else the mail under the cursor',
      run: () => askToAct(shell, quarantine, {action: 'release', under: mail}),
    },
    {
      keys: ['D'],
      label: 'discard',
      needs: 'quarantine:act',
      help: 'discard what is selected, or else the mail under the cursor',
      run: () => askToAct(shell, quarantine, {action: 'discard', under: mail}),
    },
    {
      keys: ['space'],
      label: 'select',
      help: 'select the mail, or leave it, and move on',
      run: () => {
        if (!mail) return;
        screen.dispatch({type: 'toggled', mail});
        facts.move('j');
      },
    },
    ...(['allow', 'block'] as const).map(
      (action): Binding => ({
        keys: [senderKeys[action]],
        label: action,
        needs: 'domains:write',
        help:
          action === 'allow'
            ? 'let later mail of its sender through: a form says what it will do'
            : 'refuse later mail of its sender: a form says what it will do',
        run: () => mail && void openSenderForm(shell, mail, action),
      }),
    ),
    {
      keys: ['V'],
      label: 'range',
      help: 'select a range: once at each of its ends',
      run: () => mail && markRange(shell, quarantine, mail),
    },
    {keys: ['a'], label: 'all', help: 'select all that match the filter now', run: () => selectAll(shell, quarantine)},
    {keys: ['A'], help: 'select nothing', run: () => screen.dispatch({type: 'dropped'})},
    {
      keys: ['v'],
      label: 'views',
      help: 'saved filters; :save NAME saves the current one',
      run: () => void openViews(shell, quarantine),
    },
    {keys: ['e'], help: 'what failed the last time, and why', run: () => openFailures(shell, quarantine)},
    {keys: ['w'], help: 'write the mail to a new file', run: () => mail && openSave(shell, mail)},
    {keys: ['y'], help: 'show the id, or all selected ids, to copy them', run: () => openIds(shell, quarantine, mail)},
    {keys: ['escape'], help: 'step back: preview, range, selection, filter', run: () => stepBack(shell, quarantine)},
  ];
};

const senderKeys = {allow: 'L', block: 'B'} as const;

export const quarantineCommands = (shell: Shell, quarantine: QuarantineContext): ScreenCommand[] => [
  {
    name: 'sort',
    help: 'another order: :sort oldest',
    run: name => setOrder(quarantine, name),
    complete: start => mailOrders.map(({name}) => name).filter(name => name.startsWith(start)),
  },
  {name: 'save', help: 'save filter and order as a view: :save NAME', run: name => void saveCurrentView(shell, quarantine, name)},
  {name: 'views', help: 'the built-in and the saved filters', run: () => void openViews(shell, quarantine)},
];

const setOrder = ({state}: QuarantineContext, wanted: string): void => {
  const order = mailOrders.findIndex(({name}) => name === wanted);
  if (order === -1) throw usageError(`there is no order ${wanted}: ${mailOrders.map(({name}) => name).join(', ')}`);
  state.dispatch({kind: 'sorted', order});
};

const openViews = (shell: Shell, quarantine: QuarantineContext): Promise<void> =>
  guarded(shell, async () => {
    const saved = await quarantine.views.read();
    const views = [...saved, ...builtInViews];
    const choose = (index: number): void => {
      const view = views[index];
      if (!view) return;
      const {filter, order} = viewOf(view);
      quarantine.state.dispatch({kind: 'filtered', filter});
      quarantine.state.dispatch({kind: 'sorted', order});
    };
    const remove = async (index: number): Promise<void> => {
      const view = saved[index];
      if (!view) throw new CliError('built_in', 'this view is always there; only those saved with :save can be deleted');
      await quarantine.views.remove(view.name);
      shell.say(`View ${view.name} deleted`);
      void openViews(shell, quarantine);
    };
    shell.openLater({
      kind: 'choice',
      title: 'Views',
      items: views.map(({name, query}, at) => ({label: name, detail: `${at < saved.length ? 'saved' : '     '}  ${query}`})),
      onChoose: index => void guarded(shell, () => choose(index)),
      keys: [{key: 'd', label: 'delete', run: index => void guarded(shell, () => remove(index))}],
    });
  });

const saveCurrentView = (shell: Shell, {views, state}: QuarantineContext, name: string): Promise<void> =>
  guarded(shell, async () => {
    await saveView(views, name, state.get());
    shell.say(`Saved as ${name}: v shows all views`, 'good');
  });

/** While the preview fills the screen, the keys for moving scroll its text. */
const readingBindings = (quarantine: QuarantineContext, facts: KeyFacts): Binding[] => {
  const {rows} = facts.preview;
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
      run: key => facts.move(key === 'n' ? 'j' : 'k'),
    },
  ];
};

const scroll = ({screen}: QuarantineContext, {previewLength, preview}: KeyFacts, by: number): void =>
  screen.dispatch({type: 'scrolled', by, last: lastScroll(previewLength, preview.rows)});

const isWide = ({size}: Shell): boolean => size.columns >= besideFrom;

const nextPreview = (shell: Shell, {screen}: QuarantineContext, mail: HeldMail | undefined): void => {
  const {preview} = screen.get();
  if (preview === 'off' && !mail) return;
  const beside = isWide(shell) ? 'beside' : 'full';
  screen.dispatch({type: 'previewed', mode: preview === 'off' ? beside : preview === 'beside' ? 'full' : 'off'});
};

const togglePreview = ({screen}: QuarantineContext): void =>
  screen.dispatch({type: 'previewed', mode: screen.get().preview === 'off' ? 'beside' : 'off'});

const stepBack = (shell: Shell, quarantine: QuarantineContext): void => {
  const {screen, state} = quarantine;
  const {preview, rangeStart, picked, collecting} = screen.get();
  if (collecting) collecting.stop();
  else if (rangeStart) screen.dispatch({type: 'range-left'});
  else if (preview === 'full' && isWide(shell)) screen.dispatch({type: 'previewed', mode: 'beside'});
  else if (preview !== 'off') screen.dispatch({type: 'previewed', mode: 'off'});
  else if (picked.size > 0) screen.dispatch({type: 'dropped'});
  else if (state.get().filter !== '') state.dispatch({kind: 'filtered', filter: ''});
};
