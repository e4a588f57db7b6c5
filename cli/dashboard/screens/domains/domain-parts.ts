// Domain view: the list of its mail filters and DKIM keys, with its settings above or beside it.
import type {DkimKey} from '../../../../shared/dkim-key.ts';
import type {Domain} from '../../../../shared/domain.ts';
import type {MailFilter} from '../../../../shared/mail-filter.ts';
import {fromText} from '../../../filter/mail-filters.ts';
import {briefTimeText, timeText} from '../../../output/cell-text.ts';
import type {Banner, List, TuiColumn} from '../../list/list.ts';
import {sideBySide} from '../../list/list-lines.ts';
import {hasWords} from '../../list/list-query.ts';
import {type DetailPair, detailLines, detailPage} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Theme} from '../../shell/theme.ts';
import {settingPairs, uncountedBanners} from './domains-list.ts';
import {actionText, matchText} from './part-actions.ts';

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
    matches: (part, {words}) =>
      hasWords(
        columns.map(({cell}) => String(cell(part) ?? '')),
        words,
      ),
    hint: 'words of what is shown',
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

const goneBanner = (name: string): Banner => ({
  text: `✗ ${name} is gone: it was deleted, or this key may not see it any more; escape goes back`,
  tone: 'bad',
});

const unsignedBanners = ({domain: {dkim_active, name}, keys}: WholeDomain): Banner[] =>
  dkim_active && keys.length === 0
    ? [{text: `! DKIM is on and there is no key: mail of ${name} leaves unsigned; d makes a key`, tone: 'warn'}]
    : [];

const columns: TuiColumn<Part>[] = [
  {
    title: 'WHAT',
    cell: part => (part.kind === 'filter' ? actionText(part.filter) : 'DKIM key'),
    width: 8,
    style: part => (part.kind === 'key' ? 'accent' : actionStyle[part.filter.action]),
  },
  {title: 'MATCH', cell: part => (part.kind === 'filter' ? matchText(part.filter) : part.key.algorithm), width: 14, grow: 1},
  {
    title: 'PATTERN OR DNS NAME',
    cell: part => (part.kind === 'filter' ? part.filter.pattern : part.key.dns_name),
    width: 24,
    grow: 3,
  },
  {title: 'FROM', cell: part => (part.kind === 'filter' ? fromText(part.filter) : null), width: 13, dropRank: 2},
  {title: 'COMMENT', cell: part => (part.kind === 'filter' ? part.filter.comment : ''), width: 10, grow: 2},
  {
    title: 'CREATED',
    cell: part => briefTimeText(part.kind === 'filter' ? part.filter.created_at : part.key.created_at),
    width: 12,
    dropRank: 1,
  },
];

const actionStyle = {allow: 'good', block: 'bad', score: 'warn'} as const;

export const filterPage = (filter: MailFilter, theme: Theme): Page =>
  detailPage(
    'Mail filter',
    [
      ['ID', filter.id],
      ['Action', actionText(filter)],
      ['Match', matchText(filter)],
      ['Pattern', filter.pattern],
      ['From', fromText(filter)],
      ['Comment', filter.comment],
      ['Created', timeText(filter.created_at)],
    ],
    theme,
  );
