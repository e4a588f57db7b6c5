import {type ReactElement, useMemo} from 'react';
import type {Domain} from '../../../../shared/domain.ts';
import type {ListEvent, ListState} from '../../list/list.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import type {AppContext} from '../../shell/app-context.ts';
import {heldBy, heldSource} from '../../shell/held-now.ts';
import {useKeptReducer, useWatched} from '../../shell/hooks.ts';
import type {Binding} from '../../shell/keys.ts';
import {Permitted} from '../../shell/permitted.tsx';
import {type ScreenCommand, type Shell, useShell} from '../../shell/shell.ts';
import {askToDelete, type DomainServices, openNewDomain} from './domain-actions.ts';
import {DomainView, domainsSource, RecordView} from './domain-view.tsx';
import {domainRows, domainsList, domainsReducer, initialView} from './domains-list.ts';
import {editDomain, setActive} from './edit-domain.ts';
import {changingFilters, FiltersView} from './filters-view.tsx';
import {SourcesView} from './sources-view.tsx';

export const DomainsScreen = (): ReactElement => <Permitted permission="domains:read" what="domains" screen={Domains} />;

const Domains = (): ReactElement => {
  const {app} = useShell();
  const [view, dispatch] = useKeptReducer(app, 'domains', domainsReducer, initialView);
  const [listState, dispatchList] = useListState('domains');
  const open = ({id, name}: {id: number; name: string}): void => {
    dispatch({kind: 'opened', id, name});
    // In this order: a shown list without the domain would move the cursor to another row.
    dispatchList({kind: 'chosen', cursorKey: String(id)});
  };
  if (view.kind === 'list')
    return (
      <DomainList {...{state: listState, dispatch: dispatchList, open}} openFilters={() => dispatch({kind: 'filters-opened'})} />
    );
  if (view.kind === 'filters') return <FiltersView dispatch={dispatch} />;
  const {id, name} = view;
  if (view.kind === 'record') return <RecordView {...{id, name, selector: view.selector, dispatch}} />;
  if (view.kind === 'sources') return <SourcesView {...{name, dispatch}} />;
  return <DomainView key={id} {...{id, name, dispatch}} />;
};

interface DomainListProps {
  state: ListState;
  dispatch(event: ListEvent): void;
  open(domain: {id: number; name: string}): void;
  openFilters(): void;
}

const DomainList = ({state, dispatch, open, openFilters}: DomainListProps): ReactElement => {
  const shell = useShell();
  const {app} = shell;
  const source = domainsSource(app);
  const loaded = useWatched(source);
  const held = useWatched(heldSource(app)).value;
  const domains = loaded.value;
  const rows = useMemo(() => domains && domainRows(domains, held && heldBy(held.summary.groups, 'domain')), [domains, held]);
  const mayCreate = app.may('domains:create');
  const list = domainsList({rows, loaded, unreachable: held?.unreachableNodes ?? [], mayCreate, theme: app.theme});

  const {refresh} = source;
  const needs = {app, shell, onChange: refresh, onCreated: open, openFilters};
  return (
    <ListScreen
      {...{list, state, dispatch, refresh}}
      bindings={row => domainBindings(needs, row)}
      commands={[openCommand(needs, domains ?? [])]}
    />
  );
};

interface ListNeeds extends DomainServices {
  app: AppContext;
  shell: Shell;
  onCreated(domain: {id: number; name: string}): void;
  openFilters(): void;
}

const domainBindings = (needs: ListNeeds, row: Domain | undefined): Binding[] => {
  const {app, shell, onChange, onCreated: open, openFilters} = needs;
  const edits = {client: app.client, shell, onSaved: onChange};
  return [
    {
      keys: ['enter', 'l', 'right'],
      label: 'open',
      help: 'settings, mail filters and DKIM keys',
      run: () => row && open(row),
    },
    {
      keys: ['e'],
      label: 'edit',
      needs: 'domains:write',
      help: 'change its settings',
      run: () => row && void editDomain(edits, row.id),
    },
    {
      keys: ['n'],
      command: 'new',
      label: 'new',
      needs: 'domains:create',
      help: 'a new domain',
      run: () => void openNewDomain(needs),
    },
    {
      keys: ['a'],
      needs: 'domains:write',
      help: 'activate, or deactivate',
      run: () => row && void setActive(edits, row.id, !row.active),
    },
    {
      keys: ['D'],
      label: 'delete',
      needs: 'domains:write',
      help: 'delete it, with its filters and keys',
      run: () => row && void askToDelete(needs, row.id),
    },
    {
      keys: ['F'],
      command: 'mail-filters',
      label: 'mail filters',
      help: 'the mail filters for all domains',
      // The node wants the same for reading them, which --read-only does not forbid.
      ...(!app.me.permissions.includes(changingFilters) && {needs: changingFilters}),
      run: openFilters,
    },
  ];
};

const openCommand = ({shell, onCreated: open}: ListNeeds, domains: readonly Domain[]): ScreenCommand => ({
  name: 'open',
  help: 'one domain: :open NAME',
  complete: start => domains.map(({name}) => name).filter(name => name.startsWith(start)),
  run: wanted => {
    const found = domains.find(({name}) => name === wanted.toLowerCase());
    if (found) open(found);
    else shell.say(`no domain is called ${wanted}`, 'warn');
  },
});
