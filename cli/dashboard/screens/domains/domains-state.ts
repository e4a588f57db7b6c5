// Which domain is looked at, and how the list of them is sorted and narrowed. Plain data.
import type {Domain} from '../../../../shared/domain.ts';
import {type ListPosition, listStart, moved, within} from '../../list/list-window.ts';
import {hasWords} from '../../list/tail-query.ts';
import type {KeyName} from '../../shell/keys.ts';

export type DomainsView =
  | {kind: 'list'}
  | {kind: 'domain'; id: number; name: string}
  | {kind: 'record'; id: number; name: string; selector: string};

export const sortOrders = ['name', 'held', 'updated', 'quarantine at'] as const;
export type SortOrder = (typeof sortOrders)[number];

export interface DomainsState {
  view: DomainsView;
  filter: string;
  sort: SortOrder;
  /** In the list. The domain under the cursor, and where it was last. */
  cursorId: number | undefined;
  position: ListPosition;
  /** Of the filters and DKIM keys of the domain, the one under the cursor. */
  part: number;
}

export type DomainsEvent =
  | {kind: 'moved'; key: KeyName; height: number; ids: readonly number[]}
  | {kind: 'narrowed'; filter: string}
  | {kind: 'sorted'}
  | {kind: 'opened'; id: number; name: string}
  | {kind: 'part-moved'; key: KeyName; height: number; count: number}
  | {kind: 'record-opened'; selector: string}
  | {kind: 'back'}
  /** Deleted. */
  | {kind: 'gone'; id: number};

export const domainsStart: DomainsState = {
  view: {kind: 'list'},
  filter: '',
  sort: 'name',
  cursorId: undefined,
  position: listStart,
  part: 0,
};

export const domainsReducer = (state: DomainsState, event: DomainsEvent): DomainsState => {
  switch (event.kind) {
    case 'moved': {
      const {key, height, ids} = event;
      const extent = {count: ids.length, height};
      const position = moved(placeIn(state, ids, height), key, extent);
      return position ? {...state, position, cursorId: ids[position.cursor]} : state;
    }
    case 'narrowed':
      return {...state, filter: event.filter, cursorId: undefined, position: listStart};
    case 'sorted':
      return {...state, sort: sortOrders[(sortOrders.indexOf(state.sort) + 1) % sortOrders.length] ?? 'name'};
    case 'opened':
      return {...state, view: {kind: 'domain', id: event.id, name: event.name}, cursorId: event.id, part: 0};
    case 'part-moved': {
      const extent = {count: event.count, height: event.height};
      const position = moved(within({cursor: state.part, top: 0}, extent), event.key, extent);
      return position ? {...state, part: position.cursor} : state;
    }
    case 'record-opened': {
      const {view} = state;
      return view.kind === 'list' ? state : {...state, view: {...view, kind: 'record', selector: event.selector}};
    }
    case 'back': {
      const {view} = state;
      if (view.kind === 'record') return {...state, view: {kind: 'domain', id: view.id, name: view.name}};
      return {...state, view: {kind: 'list'}};
    }
    case 'gone':
      return state.view.kind !== 'list' && state.view.id === event.id ? {...state, view: {kind: 'list'}} : state;
    default:
      return event satisfies never;
  }
};

/** The cursor stays on its domain, wherever a reload or another order has put that. */
export const placeIn = (
  {cursorId, position}: Pick<DomainsState, 'cursorId' | 'position'>,
  ids: readonly number[],
  height: number,
): ListPosition => {
  const at = cursorId === undefined ? -1 : ids.indexOf(cursorId);
  return within({top: position.top, cursor: at === -1 ? position.cursor : at}, {count: ids.length, height});
};

/** A domain with what is held of it; undefined while that is not known. */
export type DomainRow = Domain & {held: number | undefined};

export const domainRows = (
  domains: readonly Domain[],
  held: ReadonlyMap<string, number> | undefined,
  {filter, sort}: Pick<DomainsState, 'filter' | 'sort'>,
): DomainRow[] => {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return domains
    .filter(domain => hasWords(textsOf(domain), words))
    .map(domain => ({...domain, held: held && (held.get(domain.name) ?? 0)}))
    .sort((a, b) => comparisons[sort](a, b) || byText(a.name, b.name));
};

const textsOf = ({name, direction, active, backend_servers, tenant_id, dkim_active}: Domain): string[] => [
  name,
  direction,
  active ? 'is:active' : 'is:inactive',
  dkim_active ? 'is:signed' : 'is:unsigned',
  ...backend_servers,
  tenant_id === null ? '' : `tenant:${tenant_id}`,
];

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const comparisons: Record<SortOrder, (a: DomainRow, b: DomainRow) => number> = {
  name: (a, b) => byText(a.name, b.name),
  held: (a, b) => (b.held ?? 0) - (a.held ?? 0),
  updated: (a, b) => byText(b.updated_at, a.updated_at),
  'quarantine at': (a, b) => a.quarantine_threshold - b.quarantine_threshold,
};
