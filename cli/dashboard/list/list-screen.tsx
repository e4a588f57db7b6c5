// Screen of a list: draws it, and registers its keys with the shell.

import {type ReactElement, useEffect, useLayoutEffect, useMemo} from 'react';
import {CliError} from '../../errors.ts';
import {useBindings, useKeptReducer} from '../shell/hooks.ts';
import type {Binding, KeyName} from '../shell/keys.ts';
import {Lines} from '../shell/lines.tsx';
import type {Prompt} from '../shell/modal.ts';
import {type ScreenCommand, type Shell, useShell} from '../shell/shell.ts';
import {
  initialList,
  type List,
  type ListEvent,
  type ListState,
  listReducer,
  placedAt,
  queryOf,
  settled,
  shownRows,
} from './list.ts';
import {listLines, type ShownList, showList} from './list-lines.ts';
import {completedQuery} from './list-query.ts';
import {moved, movingKeys} from './list-window.ts';

interface ListScreenProps<R> {
  list: List<R>;
  state: ListState;
  dispatch(event: ListEvent): void;
  /** Further keys, with the row under the cursor; they come before those of every list. */
  bindings(row: R | undefined, move: (key: KeyName) => void): readonly Binding[];
  commands?: readonly ScreenCommand[];
  refresh?: (() => void) | undefined;
  /** Called after each drawing. */
  onShown?(shown: ShownList<R>): void;
}

/** Kept while another screen is shown. */
export const useListState = (name: string) => {
  const {app} = useShell();
  return useKeptReducer(app, `list ${name}`, listReducer, initialList);
};

export const ListScreen = <R,>(props: ListScreenProps<R>): ReactElement => {
  const {list, state, dispatch, bindings, commands = [], refresh, onShown} = props;
  const shell = useShell();
  const {app, nowMs, size, isActive} = shell;
  const {filter, order} = state;
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows change more rarely than anything that is drawn
  const rows = useMemo(() => shownRows(list, {filter, order}), [list.rows, filter, order]);
  const shown = showList(list, state, {size, nowMs}, rows);

  useLayoutEffect(() => {
    const event = settled(list, state, rows);
    if (event) dispatch(event);
  });
  useEffect(() => onShown?.(shown));

  const needs = {shell, list, state, shown, dispatch};
  const moving = movingBinding(needs);
  const own = bindings(shown.row, moving.run);
  const isOwn = (key = ''): boolean => own.some(({keys}) => keys.includes(key));
  useBindings({
    bindings: [
      ...(isOwn(moving.keys[0]) ? [] : [moving]),
      // A list that is too long to be read is searched first.
      ...(list.part ? [filterBinding(needs), ...own] : [...own, filterBinding(needs)]),
      ...findingBindings(needs).filter(({keys}) => !isOwn(keys[0])),
      ...(refresh ? [{keys: ['r'], help: 'read it again', run: refresh}] : []),
    ],
    commands: [...commands, filterCommand(needs)],
  });
  const lines = listLines(list, state, {size, theme: app.theme, isActive, nowMs}, shown);
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};

interface ListBindingNeeds<R> {
  shell: Pick<Shell, 'open'>;
  list: List<R>;
  state: ListState;
  shown: ShownList<R>;
  dispatch(event: ListEvent): void;
}

const movingBinding = <R,>({list, shown, dispatch}: ListBindingNeeds<R>): Binding => ({
  keys: movingKeys,
  help: list.tail ? 'move; g is the newest, and follows it' : 'move',
  run: key => {
    const position = moved(shown.position, key, shown);
    if (position) dispatch(placedAt(list, shown.rows, position));
  },
});

const filterBinding = <R,>(needs: ListBindingNeeds<R>): Binding => ({
  keys: ['/'],
  label: 'filter',
  help: `show only some; ${needs.list.hint}`,
  run: () => needs.shell.open(filterPrompt(needs)),
});

const findingBindings = <R,>({list, state, dispatch}: ListBindingNeeds<R>): Binding[] => {
  const {orders = []} = list;
  const sort: Binding = {
    keys: ['s'],
    label: 'sort',
    help: `by ${orders.map(({name}) => name).join(', ')}`,
    run: () => dispatch({kind: 'sorted', order: (state.order + 1) % orders.length}),
  };
  return [
    {keys: ['escape'], help: 'no filter', run: () => state.filter !== '' && dispatch({kind: 'filtered', filter: ''})},
    ...(orders.length > 0 ? [sort] : []),
  ];
};

const filterPrompt = <R,>({list, state, dispatch}: ListBindingNeeds<R>): Prompt => ({
  kind: 'prompt',
  label: 'Filter',
  text: state.filter,
  hint: () => (list.terms ? `${list.hint}; tab completes` : list.hint),
  check: typed => list.check?.(queryOf(list, meaningOf(list, typed))),
  complete: typed => completedQuery(typed, list.terms ?? {}),
  history: state.history,
  ...list.prompt,
  onSubmit: typed => dispatch({kind: 'filtered', filter: meaningOf(list, typed)}),
});

const meaningOf = ({meaning}: Pick<List<never>, 'meaning'>, typed: string): string => meaning?.(typed) ?? typed;

const filterCommand = <R,>({list, dispatch}: ListBindingNeeds<R>): ScreenCommand => ({
  name: 'filter',
  help: `show only some; ${list.hint}`,
  run: typed => {
    const filter = meaningOf(list, typed);
    const fault = list.check?.(queryOf(list, filter));
    if (fault !== undefined) throw new CliError('usage', fault);
    dispatch({kind: 'filtered', filter});
  },
  complete: typed => list.prompt?.complete?.(typed) ?? completedQuery(typed, list.terms ?? {}),
});
