import type {ReactElement} from 'react';
import type {DkimKey} from '../../../shared/dkim-key.ts';
import {zoneLine} from '../../zone-line.ts';
import {copyToClipboard} from '../clipboard.ts';
import {fitText} from '../fit-text.ts';
import {useFrame} from '../frame.ts';
import {useNow, useOffer, useSource} from '../hooks.ts';
import type {Binding} from '../keys.ts';
import {Lines} from '../lines.tsx';
import {movingKeys} from '../list-window.ts';
import type {Loaded} from '../source.ts';
import type {Banner} from '../tail/tail-lines.ts';
import {whyNot} from '../why-not.ts';
import {askToDelete, type DomainNeeds} from './domain-actions.ts';
import {domainLines, filterPage, type Part, partsOf, type WholeDomain} from './domain-lines.ts';
import {listBanners} from './domain-list-lines.ts';
import {heldSource, wholeDomainSource} from './domain-sources.ts';
import type {DomainsEvent} from './domains-state.ts';
import {editDomain, setActive} from './edit-domain.ts';
import {askToDeleteKey, askToRemoveFilter, openNewDkimKey, openNewFilter} from './part-actions.ts';
import {recordLines} from './record-lines.ts';

export interface DomainViewProps {
  id: number;
  name: string;
  /** Of the DKIM key whose record is shown in place of the domain. */
  selector: string | undefined;
  part: number;
  dispatch(event: DomainsEvent): void;
}

export const DomainView = ({id, name, selector, part, dispatch}: DomainViewProps): ReactElement => {
  const frame = useFrame();
  const {desk, size, isActive} = frame;
  const {theme, client} = desk;
  const source = wholeDomainSource(desk, id);
  const loaded = useSource(source);
  const held = useSource(heldSource(desk)).value;
  const nowMs = useNow(desk);
  const isGone = loaded.failure?.code === 'not_found';
  const banners: Banner[] = isGone
    ? [{text: `✗ ${name} is gone: it was deleted, or this key may not see it any more; escape goes back`, tone: 'bad'}]
    : listBanners({loaded, unreachable: held?.unreachable ?? [], nowMs});
  const whole = loaded.value;
  const parts = whole ? partsOf(whole) : [];
  const cursor = Math.max(0, Math.min(part, parts.length - 1));
  const chosen = parts[cursor];
  const key = whole?.keys.find(one => one.selector === selector);

  const needs: DomainNeeds = {desk, frame, onChange: source.refresh, onDeleted: () => dispatch({kind: 'gone', id})};
  const edits = {client, frame, onSaved: source.refresh};
  const ifMay = (act: () => void) => (): void => {
    const reason = whyNot(desk, 'domains:write');
    if (reason === undefined) act();
    else frame.say(reason, 'warn');
  };
  const show = (shown: Part): void =>
    shown.kind === 'key'
      ? dispatch({kind: 'record-opened', selector: shown.key.selector})
      : frame.open(filterPage(shown.filter, theme));
  const remove = (removed: Part): void => {
    if (removed.kind === 'filter') askToRemoveFilter(needs, {id, name}, removed.filter);
    else if (whole) askToDeleteKey(needs, whole.domain, {key: removed.key, isLast: whole.keys.length === 1});
  };
  const makeKey = (): void =>
    openNewDkimKey(
      {...needs, onCreated: made => dispatch({kind: 'record-opened', selector: made.selector})},
      {id, name},
      whole?.keys ?? [],
    );
  const back: Binding = {
    keys: ['escape', 'h', 'left', 'backspace'],
    label: 'back',
    help: 'back',
    run: () => dispatch({kind: 'back'}),
  };
  const copy = (text: string, what: string): void => {
    if (copyToClipboard(desk.terminal.stdout, text))
      frame.say(`Sent ${what} to the clipboard, if the terminal takes that (OSC 52)`, 'good');
    else frame.say('it is too long for the clipboard of a terminal: copy it with the mouse', 'warn');
  };
  const domainBindings: Binding[] = [
    {
      keys: movingKeys,
      help: 'move through the mail filters and DKIM keys',
      run: pressed => dispatch({kind: 'part-moved', key: pressed, height: size.rows, count: parts.length}),
    },
    {
      keys: ['enter', 'l', 'right'],
      label: 'show',
      help: 'the filter, or the DNS record of the key',
      run: () => chosen && show(chosen),
    },
    {keys: ['e'], label: 'edit', help: 'change its settings', run: ifMay(() => void editDomain(edits, id))},
    {
      keys: ['a'],
      help: 'activate, or deactivate',
      run: ifMay(() => whole && void setActive(edits, id, !whole.domain.active)),
    },
    {keys: ['f'], label: 'new filter', help: 'a new mail filter', run: ifMay(() => openNewFilter(needs, {id, name}))},
    {keys: ['d'], label: 'new DKIM key', help: 'a new DKIM key, and its DNS record', run: ifMay(makeKey)},
    {keys: ['x'], label: 'remove', help: 'remove the filter or key under the cursor', run: ifMay(() => chosen && remove(chosen))},
    {keys: ['D'], help: 'delete the domain, with its filters and keys', run: ifMay(() => void askToDelete(needs, id))},
    {keys: ['r'], help: 'read it anew', run: source.refresh},
    back,
  ];
  const recordBindings = (shown: DkimKey): Binding[] => [
    {
      keys: ['y'],
      label: 'copy',
      help: 'copy the record as a line of a zone file',
      run: () => copy(zoneLine(shown), 'the record'),
    },
    {keys: ['v'], label: 'copy value', help: 'copy the value alone', run: () => copy(shown.dns_record, 'the value')},
    back,
  ];

  useOffer({bindings: selector === undefined ? domainBindings : key ? recordBindings(key) : [back]});
  const room = {size, theme, isActive};
  const present = whole && {...whole, held: held?.byDomain.get(name) ?? (held && 0)};
  const lines =
    selector === undefined && present
      ? domainLines(present, cursor, banners, room)
      : key
        ? recordLines(key, name, room)
        : [fitText(absentText(name, selector, loaded), size.columns)];
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};

const absentText = (name: string, selector: string | undefined, {value, failure, isLoading}: Loaded<WholeDomain>): string => {
  if (failure) return `${name}: ${failure.detail}`;
  if (value === undefined || isLoading) return `${name}: reading …`;
  return `${name} has no DKIM key ${selector ?? ''} any more`;
};
