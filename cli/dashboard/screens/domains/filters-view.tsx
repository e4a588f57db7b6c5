// View of the mail filters for all domains.
import type {ReactElement} from 'react';
import type {GlobalFilter} from '../../../../shared/mail-filter.ts';
import type {Permission} from '../../../../shared/scopes.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import {useWatched} from '../../shell/hooks.ts';
import type {Binding} from '../../shell/keys.ts';
import {type Shell, useShell} from '../../shell/shell.ts';
import {filterPage, filtersForAll} from './domain-parts.ts';
import {backBinding} from './domain-view.tsx';
import type {DomainsEvent} from './domains-list.ts';
import {askToRemoveFilter, openNewFilter} from './part-actions.ts';

export const changingFilters: Permission = 'cluster:write';

export const FiltersView = ({dispatch}: {dispatch(event: DomainsEvent): void}): ReactElement => {
  const shell = useShell();
  const {client, source} = shell.app;
  const filters = source('filters for all domains', {
    load: async () => (await client.filters.list()).data,
    // Filters have no events.
    refreshOn: [],
  });
  const [state, dispatchList] = useListState('filters for all domains');
  const back = () => (state.filter === '' ? dispatch({kind: 'back'}) : dispatchList({kind: 'filtered', filter: ''}));
  return (
    <ListScreen
      {...{list: filtersForAll(useWatched(filters)), state, dispatch: dispatchList, refresh: filters.refresh}}
      bindings={filter => [...filterBindings(shell, filter, filters.refresh), backBinding(back)]}
    />
  );
};

const filterBindings = (shell: Shell, filter: GlobalFilter | undefined, refresh: () => void): Binding[] => {
  const {client, theme} = shell.app;
  const needs = {shell, onChange: refresh};
  const owner = {name: 'all domains', filters: client.filters};
  return [
    {
      keys: ['enter', 'l', 'right'],
      label: 'show',
      help: 'the filter under the cursor',
      run: () => filter && shell.open(filterPage(filter, theme)),
    },
    {
      keys: ['f'],
      label: 'new filter',
      needs: changingFilters,
      help: 'a new mail filter for all domains',
      run: () => void openNewFilter(needs, owner),
    },
    {
      keys: ['x'],
      label: 'remove',
      needs: changingFilters,
      help: 'remove the filter under the cursor',
      run: () => filter && askToRemoveFilter(needs, owner, filter),
    },
  ];
};
