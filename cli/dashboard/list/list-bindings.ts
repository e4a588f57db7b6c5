// Keys and commands of every list.
import {CliError} from '../../errors.ts';
import type {Binding} from '../shell/keys.ts';
import type {Prompt} from '../shell/modal.ts';
import type {ScreenCommand, Shell} from '../shell/shell.ts';
import {type List, type ListEvent, type ListState, placedAt, queryOf} from './list.ts';
import type {ShownList} from './list-lines.ts';
import {completedQuery} from './list-query.ts';
import {moved, movingKeys} from './list-window.ts';

interface ListBindingNeeds<R> {
  shell: Pick<Shell, 'open'>;
  list: List<R>;
  state: ListState;
  shown: ShownList<R>;
  dispatch(event: ListEvent): void;
}

export const movingBinding = <R>({list, shown, dispatch}: ListBindingNeeds<R>): Binding => ({
  keys: movingKeys,
  help: list.tail ? 'move; g is the newest, and follows it' : 'move',
  run: key => {
    const position = moved(shown.position, key, {count: shown.rows.length, height: shown.height});
    if (position) dispatch(placedAt(list, shown.rows, position));
  },
});

export const findingBindings = <R>(needs: ListBindingNeeds<R>): Binding[] => {
  const {shell, list, state, dispatch} = needs;
  const {orders = []} = list;
  const sort: Binding = {
    keys: ['s'],
    label: 'sort',
    help: `by ${orders.map(({name}) => name).join(', ')}`,
    run: () => dispatch({kind: 'sorted', orders: orders.length}),
  };
  return [
    {keys: ['/'], label: 'filter', help: `show only some; ${list.hint}`, run: () => shell.open(filterPrompt(needs))},
    {keys: ['escape'], help: 'no filter', run: () => state.filter !== '' && dispatch({kind: 'filtered', filter: ''})},
    ...(orders.length > 0 ? [sort] : []),
  ];
};

const filterPrompt = <R>({list, state, dispatch}: ListBindingNeeds<R>): Prompt => ({
  kind: 'prompt',
  label: 'Filter',
  text: state.filter,
  hint: () => (list.terms ? `${list.hint}; tab completes` : list.hint),
  check: typed => list.check?.(queryOf(list, typed)),
  complete: typed => completedQuery(typed, list.terms ?? {}),
  onSubmit: filter => dispatch({kind: 'filtered', filter}),
});

export const filterCommand = <R>({list, dispatch}: ListBindingNeeds<R>): ScreenCommand => ({
  name: 'filter',
  help: `show only some; ${list.hint}`,
  run: filter => {
    const fault = list.check?.(queryOf(list, filter));
    if (fault !== undefined) throw new CliError('usage', fault);
    dispatch({kind: 'filtered', filter});
  },
});
