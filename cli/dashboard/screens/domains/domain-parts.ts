// Domain view: the list of its mail filters and DKIM keys, with its settings above or beside it. And the list of the mail filters for all
// domains.
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import type {GlobalFilter, MailFilter} from '../../../../shared/mail-filter.ts';
import {filterFields} from '../../../filter/filter-fields.ts';
import {briefTimeText, countText} from '../../../output/cell-text.ts';
import type {Cell} from '../../../output/column.ts';
import {type Banner, type List, screenColumns, type TuiColumn} from '../../list/list.ts';
import {sideBySide} from '../../list/list-lines.ts';
import {hasWords} from '../../list/list-query.ts';
import {type DetailPair, detailLines, detailPage, pairsOf} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';
import {settingPairs, uncountedBanners} from './domains-list.ts';

/** A domain with its mail filters and DKIM keys. */
export interface WholeDomain {
  domain: Domain;
  filters: readonly MailFilter[];
  keys: readonly DkimKey[];
}

export type Part = {kind: 'filter'; filter: MailFilter} | {kind: 'key'; key: DkimKey};

interface DomainFacts {
  name: string;
  loaded: Pick<Loaded<WholeDomain>, 'value' | 'failure' | 'loadedAtMs'>;
  held: number | undefined;
  /** What is known of its authentication; empty before that is known. */
  panel: readonly DetailPair[];
  /** Nodes whose held mail is not counted. */
  unreachable: readonly string[];
  theme: Theme;
}

const sideWidth = 58;
const besideFrom = 130;
/** The greatest height of the settings above the list. */
const maxAbove = 8;
/** And of the panel below them. */
const maxPanel = 5;

export const domainParts = ({name, loaded, held, panel, unreachable, theme}: DomainFacts): List<Part> => {
  const {value: whole, failure, loadedAtMs} = loaded;
  const isGone = failure?.code === 'not_found';
  const settings = whole ? settingPairs({...whole.domain, held}) : [];
  return {
    rows: whole && [
      ...whole.filters.map(filter => ({kind: 'filter', filter}) as const),
      ...whole.keys.map(key => ({kind: 'key', key}) as const),
    ],
    keyOf: part => (part.kind === 'filter' ? `filter ${part.filter.id}` : `key ${part.key.id}`),
    columns: () => columns,
    head: () => (whole ? [name, `Mail filters (${whole.filters.length})`, `DKIM keys (${whole.keys.length})`] : [name]),
    matches: matchesCells(columns),
    hint: partsHint,
    loadedAtMs,
    failure: isGone ? undefined : failure,
    banners: isGone ? [goneBanner(name)] : [...uncountedBanners(unreachable), ...(whole ? unsignedBanners(whole) : [])],
    empty: ['No mail filters and no DKIM keys: f makes a filter, d a key'],
    above: width => {
      if (width >= besideFrom) return [];
      const half = Math.ceil(settings.length / 2);
      const [left, right] = [settings.slice(0, half), settings.slice(half)].map(some =>
        detailLines(some, Math.floor(width / 2) - 1, theme),
      );
      const rows = Math.min(maxAbove, Math.max(left?.length ?? 0, right?.length ?? 0));
      return [
        ...sideBySide(left ?? [], right ?? [], {width: Math.floor(width / 2), rows}),
        ...detailLines(panel, width, theme).slice(0, maxPanel),
      ];
    },
    beside: {
      fromColumns: besideFrom,
      width: sideWidth,
      lines: () => [...detailLines(settings, sideWidth, theme), '', ...detailLines(panel, sideWidth, theme)],
    },
  };
};

const partsHint = 'words of what is shown';

const matchesCells =
  <R>(cells: readonly TuiColumn<R>[]): List<R>['matches'] =>
  (row, {words}) =>
    hasWords(
      cells.map(({cell}) => String(cell(row) ?? '')),
      words,
    );

const goneBanner = (name: string): Banner => ({
  text: `✗ ${name} is gone: it was deleted, or this key may not see it any more; escape goes back`,
  tone: 'bad',
});

const unsignedBanners = ({domain: {dkim_active, name}, keys}: WholeDomain): Banner[] =>
  dkim_active && keys.length === 0
    ? [{text: `! DKIM is on and there is no key: mail of ${name} leaves unsigned; d makes a key`, tone: 'warn'}]
    : [];

/** In the columns of filters: what a key has to show there. */
const ofKey: Partial<Record<keyof typeof filterFields, {title?: string; cell(key: DkimKey): Cell}>> = {
  action: {title: 'WHAT', cell: () => 'DKIM key'},
  match: {cell: ({algorithm}) => algorithm},
  pattern: {title: 'PATTERN OR DNS NAME', cell: ({dns_name}) => dns_name},
  created_at: {cell: ({created_at}) => briefTimeText(created_at)},
};

const columns = (Object.keys(filterFields) as (keyof typeof filterFields)[]).flatMap(name =>
  screenColumns([filterFields[name]], undefined).map(
    (column): TuiColumn<Part> => ({
      ...column,
      title: ofKey[name]?.title ?? column.title,
      cell: part => (part.kind === 'filter' ? column.cell(part.filter) : ofKey[name]?.cell(part.key)),
      style: part => (part.kind === 'filter' ? column.style?.(part.filter) : name === 'action' ? 'accent' : undefined),
    }),
  ),
);

export const filterPage = (filter: GlobalFilter, theme: Theme): Page =>
  detailPage('Mail filter', pairsOf(Object.values(filterFields), filter, undefined), theme);

export const filtersForAll = (loaded: Loaded<readonly GlobalFilter[]>): List<GlobalFilter> => ({
  rows: loaded.value,
  failure: loaded.failure,
  loadedAtMs: loaded.loadedAtMs,
  keyOf: ({id}) => String(id),
  columns: () => filterColumns,
  head: () => ['Mail filters for all domains', ...(loaded.value ? [countText(loaded.value.length)] : [])],
  matches: matchesCells(filterColumns),
  hint: partsHint,
  empty: ['No mail filters for all domains: f makes one'],
});

const filterColumns = screenColumns(Object.values(filterFields), undefined);
