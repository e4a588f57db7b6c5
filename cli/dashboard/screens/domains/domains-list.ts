// List of domains; on a wide screen, with the settings of the one under the cursor beside it.
import {ascending} from '../../../../shared/collections.ts';
import type {Domain} from '../../../../shared/domain.ts';
import {domainFields, settingNames, settingValue} from '../../../domain/domain-fields.ts';
import {briefTimeText, countText, timeText} from '../../../output/cell-text.ts';
import type {Cell} from '../../../output/column.ts';
import {type Banner, type List, type Order, screenColumns, type TuiColumn} from '../../list/list.ts';
import {hasWords} from '../../list/list-query.ts';
import {type DetailPair, detailLines, fitText} from '../../shell/fit-text.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';

/** A domain with the count of its held mail; undefined while unknown. */
type DomainRow = Domain & {held: number | undefined};

interface DomainsFacts {
  rows: readonly DomainRow[] | undefined;
  loaded: Pick<Loaded<unknown>, 'failure' | 'loadedAtMs'>;
  /** Nodes whose held mail is not counted. */
  unreachable: readonly string[];
  mayCreate: boolean;
  theme: Theme;
}

const panelWidth = 58;

export const domainsList = ({rows, loaded, unreachable, mayCreate, theme}: DomainsFacts): List<DomainRow> => ({
  rows,
  failure: loaded.failure,
  loadedAtMs: loaded.loadedAtMs,
  keyOf: ({id}) => String(id),
  columns: () => domainColumns,
  head: shown => {
    const total = rows?.length ?? 0;
    return ['Domains', shown.length === total ? countText(total) : `${countText(shown.length)} of ${countText(total)}`];
  },
  matches: (row, {words}) => hasWords(textsOf(row), words),
  hint: 'words of name, backends or direction; is:inactive, is:unsigned, tenant:7',
  orders,
  banners: uncountedBanners(unreachable),
  empty: [mayCreate ? 'No domains yet: n makes one' : 'No domains'],
  beside: {
    fromColumns: 150,
    width: panelWidth,
    lines: row =>
      row
        ? [
            theme(fitText(row.name, panelWidth), 'bold'),
            '',
            ...detailLines(settingPairs(row), panelWidth, theme),
            '',
            theme(fitText('enter: its mail filters and DKIM keys', panelWidth), 'dim'),
          ]
        : [],
  },
});

export const domainRows = (domains: readonly Domain[], held: ReadonlyMap<string, number> | undefined): DomainRow[] =>
  domains.map(domain => ({...domain, held: held && (held.get(domain.name) ?? 0)}));

export const uncountedBanners = (unreachable: readonly string[]): Banner[] =>
  unreachable.length === 0
    ? []
    : [{text: `! ${unreachable.join(', ')} did not answer: the mail held there is not counted`, tone: 'warn'}];

const textsOf = ({name, direction, active, backend_servers, tenant_id, dkim_active}: Domain): string[] => [
  name,
  direction,
  active ? 'is:active' : 'is:inactive',
  dkim_active ? 'is:signed' : 'is:unsigned',
  ...backend_servers,
  tenant_id === null ? '' : `tenant:${tenant_id}`,
];

const order = (name: string, compare: Order<DomainRow>['compare']): Order<DomainRow> => ({
  name,
  compare: (a, b) => compare(a, b) || ascending(a.name, b.name),
});

const orders = [
  order('name', () => 0),
  order('held mail', (a, b) => (b.held ?? 0) - (a.held ?? 0)),
  order('last change', (a, b) => ascending(b.updated_at, a.updated_at)),
  order('threshold', (a, b) => a.quarantine_threshold - b.quarantine_threshold),
];

export const settingPairs = (domain: DomainRow): DetailPair[] => [
  ...settingNames.map((name): DetailPair => {
    const {label, screen} = domainFields[name];
    const value = screen?.cell?.(domain, undefined) ?? settingValue(domain, name);
    return [label, isList(value) ? value.join(', ') : value, screen?.style?.(domain, undefined)];
  }),
  ['Held mail', domain.held === undefined ? null : countText(domain.held)],
  ['Created', timeText(domain.created_at)],
  ['Updated', timeText(domain.updated_at)],
  ['ID', domain.id],
];

const isList = (value: Cell | readonly string[]): value is readonly string[] => Array.isArray(value);

const domainColumns: TuiColumn<DomainRow>[] = [
  {title: 'NAME', cell: row => row.name, width: 16, grow: 3},
  ...screenColumns(Object.values(domainFields), undefined),
  {title: 'HELD', cell: row => (row.held === undefined ? null : countText(row.held)), width: 7, align: 'right'},
  {title: 'UPDATED', cell: row => briefTimeText(row.updated_at), width: 12, dropRank: 1},
];

export type DomainsView =
  | {kind: 'list'}
  /** Those for all domains. */
  | {kind: 'filters'}
  | {kind: 'domain'; id: number; name: string}
  | {kind: 'record'; id: number; name: string; selector: string}
  /** Of its mail, as others report them. */
  | {kind: 'sources'; id: number; name: string};

export type DomainsEvent =
  | {kind: 'opened'; id: number; name: string}
  | {kind: 'filters-opened'}
  | {kind: 'record-opened'; selector: string}
  | {kind: 'sources-opened'}
  | {kind: 'back'}
  /** The domain was deleted. */
  | {kind: 'gone'; id: number};

export const initialView: DomainsView = {kind: 'list'};

export const domainsReducer = (view: DomainsView, event: DomainsEvent): DomainsView => {
  switch (event.kind) {
    case 'opened':
      return {kind: 'domain', id: event.id, name: event.name};
    case 'filters-opened':
      return {kind: 'filters'};
    case 'record-opened':
      return isOfDomain(view) ? {...view, kind: 'record', selector: event.selector} : view;
    case 'sources-opened':
      return isOfDomain(view) ? {kind: 'sources', id: view.id, name: view.name} : view;
    case 'back':
      return view.kind === 'record' || view.kind === 'sources' ? {kind: 'domain', id: view.id, name: view.name} : initialView;
    case 'gone':
      return isOfDomain(view) && view.id === event.id ? initialView : view;
    default:
      return event satisfies never;
  }
};

const isOfDomain = (view: DomainsView): view is Extract<DomainsView, {id: number}> =>
  view.kind === 'domain' || view.kind === 'record' || view.kind === 'sources';
