// Keys of the screen of one domain, and of the DNS record of one of its keys.
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import {zoneLine} from '../../../output/zone-line.ts';
import {movingKeys} from '../../list/list-window.ts';
import {copyToClipboard} from '../../shell/clipboard.ts';
import type {Binding} from '../../shell/keys.ts';
import type {Shell} from '../../shell/shell.ts';
import {askToDelete, type DomainNeeds} from './domain-actions.ts';
import {filterPage, type Part, partsOf, type WholeDomain} from './domain-lines.ts';
import type {DomainsEvent} from './domains-state.ts';
import {editDomain, setActive} from './edit-domain.ts';
import {askToDeleteKey, askToRemoveFilter, openNewDkimKey, openNewFilter} from './part-actions.ts';

export interface DomainBindingNeeds {
  shell: Shell;
  id: number;
  name: string;
  /** Undefined until it has been read. */
  whole: WholeDomain | undefined;
  /** Under the cursor. */
  chosen: Part | undefined;
  refresh(): void;
  dispatch(event: DomainsEvent): void;
}

export const domainBindings = ({shell, id, name, whole, chosen, refresh, dispatch}: DomainBindingNeeds): Binding[] => {
  const {app, size} = shell;
  const needs: DomainNeeds = {app, shell, onChange: refresh, onDeleted: () => dispatch({kind: 'gone', id})};
  const edits = {client: app.client, shell, onSaved: refresh};

  const show = (part: Part): void =>
    part.kind === 'key'
      ? dispatch({kind: 'record-opened', selector: part.key.selector})
      : shell.open(filterPage(part.filter, app.theme));
  const remove = (part: Part): void => {
    if (part.kind === 'filter') askToRemoveFilter(needs, {id, name}, part.filter);
    else if (whole) askToDeleteKey(needs, whole.domain, {key: part.key, isLast: whole.keys.length === 1});
  };
  const makeKey = (): void =>
    openNewDkimKey(
      {...needs, onCreated: ({selector}) => dispatch({kind: 'record-opened', selector})},
      {id, name},
      whole?.keys ?? [],
    );
  const count = whole ? partsOf(whole).length : 0;

  return [
    {
      keys: movingKeys,
      help: 'move through the mail filters and DKIM keys',
      run: key => dispatch({kind: 'part-moved', key, height: size.rows, count}),
    },
    {
      keys: ['enter', 'l', 'right'],
      label: 'show',
      help: 'the filter, or the DNS record of the key',
      run: () => chosen && show(chosen),
    },
    {
      keys: ['e'],
      label: 'edit',
      needs: 'domains:write',
      help: 'change its settings',
      run: () => void editDomain(edits, id),
    },
    {
      keys: ['a'],
      needs: 'domains:write',
      help: 'activate, or deactivate',
      run: () => whole && void setActive(edits, id, !whole.domain.active),
    },
    {
      keys: ['f'],
      label: 'new filter',
      needs: 'domains:write',
      help: 'a new mail filter',
      run: () => openNewFilter(needs, {id, name}),
    },
    {
      keys: ['d'],
      label: 'new DKIM key',
      needs: 'domains:write',
      help: 'a new DKIM key, and its DNS record',
      run: makeKey,
    },
    {
      keys: ['x'],
      label: 'remove',
      needs: 'domains:write',
      help: 'remove the filter or key under the cursor',
      run: () => chosen && remove(chosen),
    },
    {
      keys: ['D'],
      needs: 'domains:write',
      help: 'delete the domain, with its filters and keys',
      run: () => void askToDelete(needs, id),
    },
    {keys: ['r'], help: 'read it anew', run: refresh},
    backBinding(dispatch),
  ];
};

export const backBinding = (dispatch: DomainBindingNeeds['dispatch']): Binding => ({
  keys: ['escape', 'h', 'left', 'backspace'],
  label: 'back',
  help: 'back',
  run: () => dispatch({kind: 'back'}),
});

export const recordBindings = ({app, say}: Shell, key: DkimKey): Binding[] => {
  const copy = (text: string, what: string): void => {
    if (copyToClipboard(app.terminal.stdout, text))
      say(`Sent ${what} to the clipboard, if the terminal takes that (OSC 52)`, 'good');
    else say('it is too long for the clipboard of a terminal: copy it with the mouse', 'warn');
  };
  return [
    {keys: ['y'], label: 'copy', help: 'copy the record as a line of a zone file', run: () => copy(zoneLine(key), 'the record')},
    {keys: ['v'], label: 'copy value', help: 'copy the value alone', run: () => copy(key.dns_record, 'the value')},
  ];
};
