// Screen of a list: draws it, and registers its keys with the shell.
import {type ReactElement, useEffect, useLayoutEffect, useMemo} from 'react';
import {useBindings, useKeptReducer} from '../shell/hooks.ts';
import type {Binding} from '../shell/keys.ts';
import {Lines} from '../shell/lines.tsx';
import {type ScreenCommand, useShell} from '../shell/shell.ts';
import {initialList, type List, type ListEvent, type ListState, listReducer, settled, shownRows} from './list.ts';
import {filterCommand, findingBindings, movingBinding} from './list-bindings.ts';
import {listLines, type ShownList, showList} from './list-lines.ts';

interface ListScreenProps<R> {
  list: List<R>;
  state: ListState;
  dispatch(event: ListEvent): void;
  /** Further keys, with the row under the cursor. */
  bindings(row: R | undefined): readonly Binding[];
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
  useBindings({
    bindings: [
      movingBinding(needs),
      ...bindings(shown.row),
      ...findingBindings(needs),
      ...(refresh ? [{keys: ['r'], help: 'read it again', run: refresh}] : []),
    ],
    commands: [...commands, filterCommand(needs)],
  });
  const lines = listLines(list, state, {size, theme: app.theme, isActive, nowMs}, shown);
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};
