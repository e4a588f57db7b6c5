// View of one domain: its settings, its parts, and the sources of both.
import type {ReactElement} from 'react';
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import type {DomainDns} from '../../../../shared/domain-dns.ts';
import {safeLine} from '../../../../shared/safe-text.ts';
import {filterList} from '../../../filter/filter-list.ts';
import {timeText, zoneLine} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {ListScreen, useListState} from '../../list/list-screen.tsx';
import type {AppContext} from '../../shell/app-context.ts';
import {copyToClipboard} from '../../shell/clipboard.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import {heldBy, heldSource} from '../../shell/held-now.ts';
import {useBindings, useWatched} from '../../shell/hooks.ts';
import type {Binding} from '../../shell/keys.ts';
import {Lines} from '../../shell/lines.tsx';
import {type Shell, type Size, useShell} from '../../shell/shell.ts';
import type {Source} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';
import {domainMailSource, mailPairs} from './authentication-panel.ts';
import {dnsPage, dnsPairs, dnsSource} from './dns-panel.ts';
import {askToDelete, type DomainServices} from './domain-actions.ts';
import {domainParts, filterPage, type Part, type WholeDomain} from './domain-parts.ts';
import type {DomainsEvent} from './domains-list.ts';
import {editDomain, setActive} from './edit-domain.ts';
import {askToDeleteKey, askToRemoveFilter, type FilterOwner, openNewDkimKey, openNewFilter} from './part-actions.ts';

interface DomainViewProps {
  id: number;
  name: string;
  dispatch(event: DomainsEvent): void;
}

export const DomainView = ({id, name, dispatch}: DomainViewProps): ReactElement => {
  const shell = useShell();
  const {app} = shell;
  const {theme} = app;
  const source = wholeDomainSource(app, id);
  const loaded = useWatched(source);
  const held = useWatched(heldSource(app)).value;
  const mail = useWatched(domainMailSource(app, name)).value;
  const dns = useWatched(dnsSource(app, id)).value;
  const [state, dispatchList] = useListState(`domain ${id}`);
  const {refresh} = source;
  const whole = loaded.value;
  const heldHere = held && (heldBy(held.summary.groups, 'domain').get(name) ?? 0);

  return (
    <ListScreen
      list={domainParts({
        name,
        loaded,
        held: heldHere,
        panel: whole ? [...mailPairs(whole.domain, mail), ...dnsPairs(dns)] : [],
        unreachable: held?.unreachableNodes ?? [],
        theme,
      })}
      {...{state, dispatch: dispatchList, refresh}}
      bindings={part => [
        ...domainBindings({shell, id, name, whole, dns, part, refresh, dispatch}),
        backBinding(() => (state.filter === '' ? dispatch({kind: 'back'}) : dispatchList({kind: 'filtered', filter: ''}))),
      ]}
    />
  );
};

interface DomainBindingNeeds extends DomainViewProps {
  shell: Shell;
  /** Undefined until it has been read. */
  whole: WholeDomain | undefined;
  dns: DomainDns | undefined;
  /** Under the cursor. */
  part: Part | undefined;
  refresh(): void;
}

const domainBindings = ({shell, id, name, whole, dns, part, refresh, dispatch}: DomainBindingNeeds): Binding[] => {
  const {app} = shell;
  const owner: FilterOwner = {name, filters: filterList(app.client, id)};
  const needs: DomainServices = {app, shell, onChange: refresh, onDeleted: () => dispatch({kind: 'gone', id})};
  const edits = {client: app.client, shell, onSaved: refresh};
  const show = (selector: string): void => dispatch({kind: 'record-opened', selector});
  const writing = {needs: 'domains:write'} as const;
  return [
    {
      keys: ['enter', 'l', 'right'],
      label: 'show',
      help: 'the filter, or the DNS record of the key',
      run: () => {
        if (part?.kind === 'key') show(part.key.selector);
        else if (part) shell.open(filterPage(part.filter, app.theme));
      },
    },
    {
      keys: ['n'],
      label: 'DNS',
      help: 'its DNS records: as they should be, and as they are',
      run: () => (dns ? shell.open(dnsPage(dns, app.theme)) : shell.say('DNS is still being asked', 'warn')),
    },
    {
      keys: ['S'],
      command: 'sources',
      label: 'DMARC sources',
      help: 'who sends mail as this domain, by the reports of others',
      run: () => dispatch({kind: 'sources-opened'}),
    },
    {...writing, keys: ['e'], label: 'edit', help: 'change its settings', run: () => void editDomain(edits, id)},
    {
      ...writing,
      keys: ['a'],
      help: 'activate, or deactivate',
      run: () => whole && void setActive(edits, id, !whole.domain.active),
    },
    {...writing, keys: ['f'], label: 'new filter', help: 'a new mail filter', run: () => void openNewFilter(needs, owner)},
    {
      ...writing,
      keys: ['d'],
      label: 'new DKIM key',
      help: 'a new DKIM key, and its DNS record',
      run: () => void openNewDkimKey({...needs, onCreated: ({selector}) => show(selector)}, {id, name}, whole?.keys ?? []),
    },
    {
      ...writing,
      keys: ['x'],
      label: 'remove',
      help: 'remove the filter or key under the cursor',
      run: () => {
        if (part?.kind === 'filter') askToRemoveFilter(needs, owner, part.filter);
        else if (part && whole) askToDeleteKey(needs, whole.domain, {key: part.key, isLast: whole.keys.length === 1});
      },
    },
    {...writing, keys: ['D'], help: 'delete the domain, with its filters and keys', run: () => void askToDelete(needs, id)},
  ];
};

export const backBinding = (run: () => void): Binding => ({
  keys: ['escape', 'h', 'left', 'backspace'],
  label: 'back',
  help: 'back',
  run,
});

/** The DNS record of a DKIM key, which replaces the view of its domain. */
export const RecordView = ({id, name, selector, dispatch}: DomainViewProps & {selector: string}): ReactElement => {
  const shell = useShell();
  const {app, size} = shell;
  const {value, failure} = useWatched(wholeDomainSource(app, id));
  const key = value?.keys.find(one => one.selector === selector);
  useBindings({bindings: [...(key ? copyBindings(shell, key) : []), backBinding(() => dispatch({kind: 'back'}))]});

  const absent = value
    ? `The DKIM key ${selector} of ${name} is not there, or not read yet`
    : `${name}: ${failure?.detail ?? 'reading …'}`;
  const lines = key ? recordLines(key, name, {size, theme: app.theme}) : [fitText(absent, size.columns)];
  return <Lines lines={lines} width={size.columns} height={size.rows} />;
};

const copyBindings = ({app, say}: Shell, key: DkimKey): Binding[] => {
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

/** A string holds 255 bytes at most, resolvers join them, and parentheses continue the record on the next line (RFC 1035, 5.1). */
export const zoneBlock = ({dns_name, dns_record}: Pick<DkimKey, 'dns_name' | 'dns_record'>, width: number): string[] => {
  const available = Math.max(1, Math.min(255, width - 4));
  const strings: string[] = [''];
  for (const char of safeLine(dns_record)) {
    const escaped = /["\\]/.test(char) ? `\\${char}` : char;
    const last = strings.at(-1) ?? '';
    if (displayWidth(last + escaped) > available) strings.push(escaped);
    else strings[strings.length - 1] = last + escaped;
  }
  return [`${safeLine(dns_name)}. IN TXT (`, ...strings.map(text => `  "${text}"`), ')'];
};

/** Without indentation, so that the copied text is the record alone. */
export const recordLines = (key: DkimKey, domain: string, {size, theme}: {size: Size; theme: Theme}): string[] => {
  const {columns: width, rows} = size;
  const record = zoneBlock(key, width);
  const isCut = record.some(line => displayWidth(line) > width);
  const hint = (text: string): string[] => wrapText(text, width).map(line => theme(line, 'dim'));
  return [
    theme(
      fitText(`DKIM key ${key.selector} of ${domain} · ${key.algorithm} · made ${timeText(key.created_at) ?? ''}`, width),
      'bold',
    ),
    ...hint('Publish this in the zone; then switch DKIM on (e in the domain), and mail is signed with it.'),
    '',
    ...record.map(line => fitText(line, width).trimEnd()),
    '',
    ...(isCut ? [theme(fitText('The window is too narrow for all of it: y copies it whole.', width), 'warn')] : []),
    ...hint('y copies it as one line of a zone file, v the value alone, for a form that asks for one.'),
  ].slice(0, rows);
};

export const domainsSource = ({client, source}: AppContext): Source<Domain[]> =>
  source('domains', {load: async () => (await client.domains.list()).data, refreshOn: ['domain']});

const wholeDomainSource = ({client, source}: AppContext, id: number): Source<WholeDomain> =>
  source(`domain ${id}`, {
    load: async () => {
      const [domain, filters, keys] = await Promise.all([
        client.domains.get(id),
        client.domains.filters(id),
        client.domains.dkimKeys(id),
      ]);
      return {domain: domain.data, filters: filters.data, keys: keys.data};
    },
    refreshOn: ['domain'],
  });
