import type {ReactElement} from 'react';
import type {Permission} from '../../../shared/scopes.ts';
import {useFrame} from '../frame.ts';
import {useNow, useOffer, useSource} from '../hooks.ts';
import {Lines} from '../lines.tsx';
import {movingKeys} from '../list-window.ts';
import {whyNot} from '../why-not.ts';
import {askToDelete, type DomainNeeds, openNewDomain} from './domain-actions.ts';
import {domainListLines, type ListFacts, listBanners, listHeight} from './domain-list-lines.ts';
import {domainsSource, heldSource} from './domain-sources.ts';
import {type DomainRow, type DomainsEvent, type DomainsState, domainRows, placeIn} from './domains-state.ts';
import {editDomain, setActive} from './edit-domain.ts';

export interface DomainListProps {
  state: DomainsState;
  dispatch(event: DomainsEvent): void;
}

export const DomainListView = ({state, dispatch}: DomainListProps): ReactElement => {
  const frame = useFrame();
  const {desk, size, isActive} = frame;
  const source = domainsSource(desk);
  const loaded = useSource(source);
  const held = useSource(heldSource(desk)).value;
  const facts: ListFacts = {
    loaded,
    unreachable: held?.unreachable ?? [],
    total: loaded.value?.length ?? 0,
    nowMs: useNow(desk),
    mayCreate: desk.may('domains:create'),
  };
  const rows = domainRows(loaded.value ?? [], held?.byDomain, state);
  const ids = rows.map(({id}) => id);
  const height = listHeight(size, listBanners(facts));
  const row = rows[placeIn(state, ids, height).cursor];

  const needs: DomainNeeds = {desk, frame, onChange: source.refresh};
  const edits = {client: desk.client, frame, onSaved: source.refresh};
  /** Says why not where it may not be done. */
  const ifMay = (permission: Permission, act: () => void): void => {
    const reason = whyNot(desk, permission);
    if (reason === undefined) act();
    else frame.say(reason, 'warn');
  };
  const withRow = (act: (row: DomainRow) => void): void => {
    if (row) ifMay('domains:write', () => act(row));
  };
  const create = (): void =>
    ifMay('domains:create', () => openNewDomain({...needs, onCreated: ({id, name}) => dispatch({kind: 'opened', id, name})}));
  const open = ({id, name}: DomainRow): void => dispatch({kind: 'opened', id, name});

  useOffer({
    bindings: [
      {keys: movingKeys, help: 'move', run: key => dispatch({kind: 'moved', key, height, ids})},
      {keys: ['enter', 'l', 'right'], label: 'open', help: 'settings, mail filters and DKIM keys', run: () => row && open(row)},
      {keys: ['e'], label: 'edit', help: 'change its settings', run: () => withRow(({id}) => void editDomain(edits, id))},
      {keys: ['n'], label: 'new', help: 'a new domain', run: create},
      {
        keys: ['a'],
        help: 'activate, or deactivate',
        run: () => withRow(({id, active}) => void setActive(edits, id, !active)),
      },
      {
        keys: ['D'],
        label: 'delete',
        help: 'delete it, with its filters and keys',
        run: () => withRow(({id}) => void askToDelete(needs, id)),
      },
      {keys: ['/'], label: 'filter', help: 'show only some', run: () => frame.open(filterPrompt(state.filter, dispatch))},
      {keys: ['escape'], help: 'no filter', run: () => state.filter !== '' && dispatch({kind: 'narrowed', filter: ''})},
      {keys: ['s'], label: 'sort', help: 'by name, held mail, last change, or threshold', run: () => dispatch({kind: 'sorted'})},
      {keys: ['r'], help: 'read it anew', run: source.refresh},
    ],
    commands: [
      {name: 'new', help: 'a new domain', run: create},
      {
        name: 'open',
        help: 'one domain: :open NAME',
        complete: start => (loaded.value ?? []).map(({name}) => name).filter(name => name.startsWith(start)),
        run: name => {
          const found = domainRows(loaded.value ?? [], undefined, {filter: '', sort: 'name'}).find(other => other.name === name);
          if (found) open(found);
          else frame.say(`no domain is called ${name}`, 'warn');
        },
      },
    ],
  });
  const lines = domainListLines(rows, state, facts, {size, theme: desk.theme, isActive});
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};

const filterPrompt = (text: string, dispatch: DomainListProps['dispatch']) =>
  ({
    kind: 'prompt',
    label: 'Filter',
    text,
    hint: () => 'words of name, backends or direction; is:inactive, is:unsigned, tenant:7',
    onSubmit: (filter: string) => dispatch({kind: 'narrowed', filter: filter.trim()}),
  }) as const;
