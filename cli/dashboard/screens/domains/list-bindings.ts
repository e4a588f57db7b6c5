// Keys and commands of the list of domains.
import type {Domain} from '../../../../shared/domain.ts';
import {movingKeys} from '../../list/list-window.ts';
import type {Prompt} from '../../shell/modal.ts';
import type {ScreenBindings, ScreenCommand, Shell} from '../../shell/shell.ts';
import {ifMay} from '../../shell/why-not.ts';
import {askToDelete, type DomainNeeds, openNewDomain} from './domain-actions.ts';
import type {DomainsEvent, DomainsState} from './domains-state.ts';
import {editDomain, setActive} from './edit-domain.ts';

export interface ListBindingNeeds {
  shell: Shell;
  state: DomainsState;
  dispatch(event: DomainsEvent): void;
  /** Under the cursor. */
  row: Domain | undefined;
  ids: readonly number[];
  height: number;
  /** All, also those that are not shown. */
  domains: readonly Domain[];
  refresh(): void;
}

export const listScreenBindings = (offer: ListBindingNeeds): ScreenBindings => {
  const {shell, state, dispatch, row, ids, height, refresh} = offer;
  const {app} = shell;
  const needs: DomainNeeds = {app, shell, onChange: refresh};
  const edits = {client: app.client, shell, onSaved: refresh};
  const writing = (act: (row: Domain) => void) => () => row && ifMay(shell, 'domains:write', () => act(row));
  const create = (): void =>
    ifMay(shell, 'domains:create', () =>
      openNewDomain({...needs, onCreated: ({id, name}) => dispatch({kind: 'opened', id, name})}),
    );

  return {
    bindings: [
      {keys: movingKeys, help: 'move', run: key => dispatch({kind: 'moved', key, height, ids})},
      {
        keys: ['enter', 'l', 'right'],
        label: 'open',
        help: 'settings, mail filters and DKIM keys',
        run: () => row && dispatch({kind: 'opened', id: row.id, name: row.name}),
      },
      {
        keys: ['e'],
        label: 'edit',
        needs: 'domains:write',
        help: 'change its settings',
        run: writing(({id}) => void editDomain(edits, id)),
      },
      {keys: ['n'], label: 'new', needs: 'domains:create', help: 'a new domain', run: create},
      {
        keys: ['a'],
        needs: 'domains:write',
        help: 'activate, or deactivate',
        run: writing(({id, active}) => void setActive(edits, id, !active)),
      },
      {
        keys: ['D'],
        label: 'delete',
        needs: 'domains:write',
        help: 'delete it, with its filters and keys',
        run: writing(({id}) => void askToDelete(needs, id)),
      },
      {keys: ['/'], label: 'filter', help: 'show only some', run: () => shell.open(filterPrompt(state.filter, dispatch))},
      {keys: ['escape'], help: 'no filter', run: () => state.filter !== '' && dispatch({kind: 'narrowed', filter: ''})},
      {keys: ['s'], label: 'sort', help: 'by name, held mail, last change, or threshold', run: () => dispatch({kind: 'sorted'})},
      {keys: ['r'], help: 'read it anew', run: refresh},
    ],
    commands: [{name: 'new', help: 'a new domain', run: create}, openCommand(offer)],
  };
};

const openCommand = ({shell, domains, dispatch}: ListBindingNeeds): ScreenCommand => ({
  name: 'open',
  help: 'one domain: :open NAME',
  complete: start => domains.map(({name}) => name).filter(name => name.startsWith(start)),
  run: wanted => {
    const found = domains.find(({name}) => name === wanted.toLowerCase());
    if (found) dispatch({kind: 'opened', id: found.id, name: found.name});
    else shell.say(`no domain is called ${wanted}`, 'warn');
  },
});

const filterPrompt = (text: string, dispatch: ListBindingNeeds['dispatch']): Prompt => ({
  kind: 'prompt',
  label: 'Filter',
  text,
  hint: () => 'words of name, backends or direction; is:inactive, is:unsigned, tenant:7',
  onSubmit: filter => dispatch({kind: 'narrowed', filter: filter.trim()}),
});
