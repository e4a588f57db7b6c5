// How the list of domains looks; where there is room, beside it what is set for the one under the cursor.
import type {Domain} from '../../../../shared/domain.ts';
import {briefTimeText, countText, firstOf, timeText} from '../../../output/cell-text.ts';
import {headerLine, placeColumns, rowLine, type TuiColumn} from '../../list/table-lines.ts';
import type {Banner} from '../../list/tail-lines.ts';
import {type DetailPair, detailLines} from '../../shell/detail-lines.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {Size} from '../../shell/shell.ts';
import {ageText} from '../../shell/shell-lines.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';
import {type DomainRow, type DomainsState, placeIn} from './domains-state.ts';

export interface ListFacts {
  loaded: Pick<Loaded<unknown>, 'value' | 'failure' | 'loadedAtMs'>;
  /** Nodes whose held mail is not counted. */
  unreachable: readonly string[];
  /** All domains, also those that the filter leaves out. */
  total: number;
  nowMs: number;
  mayCreate: boolean;
}

const panelWidth = 58;
const panelFrom = 150;

export const listHeight = ({rows}: Size, banners: readonly Banner[]): number => Math.max(1, rows - 2 - banners.length);

export const listBanners = ({loaded, unreachable, nowMs}: Pick<ListFacts, 'loaded' | 'unreachable' | 'nowMs'>): Banner[] => {
  const banners: Banner[] = [];
  if (loaded.failure) {
    const age = loaded.loadedAtMs === undefined ? '' : `; this is from ${ageText(nowMs - loaded.loadedAtMs)}`;
    banners.push({text: `✗ cannot be read: ${loaded.failure.detail}${age}`, tone: 'bad'});
  }
  if (unreachable.length > 0)
    banners.push({text: `! ${unreachable.join(', ')} did not answer: the mail held there is not counted`, tone: 'warn'});
  return banners;
};

export const domainListLines = (
  rows: readonly DomainRow[],
  state: DomainsState,
  facts: ListFacts,
  {size, theme, isActive}: {size: Size; theme: Theme; isActive: boolean},
): string[] => {
  const banners = listBanners(facts);
  const height = listHeight(size, banners);
  const hasPanel = size.columns >= panelFrom;
  const width = hasPanel ? size.columns - panelWidth - 3 : size.columns;
  const columns = placeColumns(domainTuiColumns, width);
  const {cursor, top} = placeIn(
    state,
    rows.map(({id}) => id),
    height,
  );

  const shown = rows
    .slice(top, top + height)
    .map((row, at) => rowLine(row, columns, theme, top + at === cursor ? (isActive ? 'cursor' : 'bold') : undefined));
  const body = rows.length > 0 ? shown : emptyTexts(state, facts).map(text => theme(fitText(text, width), 'dim'));
  const row = rows[cursor];
  const panel = hasPanel && row ? panelLines(row, theme) : [];
  const list = [headerLine(columns, theme), ...body];
  const beside = hasPanel
    ? Array.from({length: height + 1}, (_, at) => `${list[at] ?? ' '.repeat(width)}${theme(' │ ', 'dim')}${panel[at] ?? ''}`)
    : list;

  return [
    headLine(rows, state, facts, {width: size.columns, theme}),
    ...banners.map(({text, tone}) => theme(fitText(text, size.columns), tone)),
    ...beside,
  ].slice(0, size.rows);
};

const headLine = (
  rows: readonly DomainRow[],
  {filter, sort}: DomainsState,
  {total}: ListFacts,
  {width, theme}: {width: number; theme: Theme},
): string => {
  const count = rows.length === total ? countText(total) : `${countText(rows.length)} of ${countText(total)}`;
  const left = filter === '' ? `Domains · ${count}` : `Domains · ${count} · filter: ${filter}`;
  const right = ` sorted by ${sort} `;
  return theme(fitText(left, width - right.length), 'bold') + theme(right, 'dim');
};

const emptyTexts = ({filter}: DomainsState, {loaded, mayCreate}: ListFacts): string[] => {
  if (loaded.value === undefined) return loaded.failure ? [] : ['reading …'];
  if (filter !== '') return ['No domain matches; escape shows all of them again'];
  return [mayCreate ? 'No domains yet: n makes one' : 'No domains'];
};

const panelLines = (row: DomainRow, theme: Theme): string[] => [
  theme(fitText(row.name, panelWidth), 'bold'),
  '',
  ...detailLines(settingPairs(row), panelWidth, theme),
  '',
  theme(fitText('enter: its mail filters and DKIM keys', panelWidth), 'dim'),
];

export const activeText = (active: boolean): string => (active ? '● active' : '○ inactive');

export const settingPairs = (domain: Domain & {held?: number | undefined}): DetailPair[] => [
  ['Active', activeText(domain.active), domain.active ? 'good' : 'warn'],
  ['Direction', domain.direction],
  ['Backends', domain.backend_servers.join(', ')],
  ['Quarantine at', domain.quarantine_threshold],
  ['Reject at', domain.reject_threshold],
  ['DKIM', domain.dkim_active ? 'signs' : 'off'],
  ['DMARC reporting', domain.dmarc_reporting],
  ['Tenant', domain.tenant_id],
  ['Held mail', domain.held === undefined ? null : countText(domain.held)],
  ['Created', timeText(domain.created_at)],
  ['Updated', timeText(domain.updated_at)],
  ['ID', domain.id],
];

const domainTuiColumns: TuiColumn<DomainRow>[] = [
  {title: 'NAME', cell: row => row.name, width: 16, grow: 3},
  {
    title: 'STATE',
    cell: row => activeText(row.active),
    width: 10,
    style: row => (row.active ? 'good' : 'warn'),
  },
  {title: 'DIRECTION', cell: row => row.direction, width: 9, dropRank: 3},
  {title: 'BACKENDS', cell: row => firstOf(row.backend_servers), width: 15, grow: 2},
  {title: 'HOLD', cell: row => row.quarantine_threshold, width: 5, align: 'right'},
  {title: 'REJECT', cell: row => row.reject_threshold, width: 6, align: 'right'},
  {title: 'DKIM', cell: row => row.dkim_active, width: 4},
  {title: 'DMARC', cell: row => row.dmarc_reporting, width: 5, dropRank: 2},
  {title: 'HELD', cell: row => (row.held === undefined ? null : countText(row.held)), width: 7, align: 'right'},
  {title: 'UPDATED', cell: row => briefTimeText(row.updated_at), width: 12, dropRank: 1},
];
