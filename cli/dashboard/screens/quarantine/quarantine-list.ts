// List of held mail: the filter, notices, rows with their marks, and where the preview of the mail under the cursor is.
import type {Domain} from '../../../../shared/domain.ts';
import {domainDefaults} from '../../../../shared/field-rules.ts';
import type {HeldMail} from '../../../../shared/held-mail.ts';
import {safeLine} from '../../../../shared/safe-text.ts';
import {countText, plural} from '../../../output/cell-text.ts';
import type {Tone} from '../../../output/column.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {heldMailFields, mailId} from '../../../quarantine/held-mail-columns.ts';
import {queryWords} from '../../../quarantine/hold-query.ts';
import {
  completeQuery,
  type KnownNames,
  parseQuery,
  printQuery,
  queryFault,
  withAddressFilters,
} from '../../../quarantine/query-line.ts';
import {type List, type ListState, screenColumns, type TuiColumn} from '../../list/list.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {Size} from '../../shell/shell.ts';
import {ageText, progressBar} from '../../shell/shell-lines.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Style, Theme} from '../../shell/theme.ts';
import type {Acting} from './held-mail-actions.ts';
import {type HeldPart, mailOrders, partFor} from './held-part.ts';
import type {PreviewMode, ScreenState} from './screen-state.ts';

export interface QuarantineFacts {
  state: Pick<ListState, 'filter' | 'order'>;
  part: HeldPart | undefined;
  loaded: Pick<Loaded<unknown>, 'failure' | 'loadedAtMs'>;
  screen: ScreenState;
  acting: Acting;
  /** All lines of the preview. */
  preview: readonly string[];
  /** Under the cursor. */
  mail: HeldMail | undefined;
  names: KnownNames | undefined;
  thresholds: Thresholds;
  size: Size;
  nowMs: number;
  theme: Theme;
}

/** The rows alone, of the part that answers the filter. */
export const quarantineRows = (state: QuarantineFacts['state'], answered: HeldPart | undefined) => {
  const part = partFor(state, answered);
  return {
    rows: part?.mails ?? [],
    part: {offset: part?.offset ?? 0, count: part?.total ?? 0},
    keyOf: mailId,
  };
};

/** The cost of drawing it depends on the size of the screen, never on the number of mails. */
export const quarantineList = (facts: QuarantineFacts): List<HeldMail> => {
  const {state, part, screen, acting, thresholds, names, size} = facts;
  const isInRange = rangeTest(screen.rangeStart, facts.mail);
  const isPicked = (mail: HeldMail): boolean => isInRange(mail) || screen.picked.has(mailId(mail));
  const restMark = ({release_requested: isRequested}: HeldMail) => (isRequested ? 'requested' : 'none');
  const markOf = (mail: HeldMail): string =>
    marks[acting.actions.get(mailId(mail)) ?? (isPicked(mail) ? 'picked' : restMark(mail))];
  const toneOf = (mail: HeldMail) => toneOfScore(mail, thresholds);
  const mark: TuiColumn<HeldMail> = {title: ' ', width: 1, cell: markOf, style: () => 'picked'};
  return {
    ...quarantineRows(state, part),
    // While the newest mail is read, the cursor stays on it.
    ...(mailOrders[state.order]?.name === 'newest' && screen.preview === 'off' && {tail: {isPaused: false, waiting: []}}),
    columns: width => [mark, ...screenColumns(Object.values(heldMailFields(width - 3)), toneOf)],
    head: () => [],
    bar: (cursor, width) => filterLine(facts, cursor, width),
    above: width => [noticesLine(facts, width)],
    matches: () => true,
    hint: filterHint,
    meaning: withAddressFilters,
    check: ({text}) => queryFault(text),
    prompt: {
      label: '/',
      text: state.filter === '' ? '' : `${filterText(state)} `,
      hint: text => promptHint(withAddressFilters(text)),
      complete: text => completeQuery(text, names),
    },
    orders: mailOrders,
    empty: [emptyText(facts)],
    rowStyle: mail => (acting.actions.has(mailId(mail)) ? 'dim' : isPicked(mail) ? 'bold' : undefined),
    ...previewIn(facts, previewArea(size, screen.preview)),
  };
};

const filterHint =
  'domain: from: sender: to: since:2h until: score>=8 reason: node: requested:yes, an address, words of the subject';

const filterText = ({filter}: QuarantineFacts['state']): string => printQuery(parseQuery(filter));

const promptHint = (text: string): string => {
  if (text.trim() === '') return `${filterHint}; tab completes`;
  return queryFault(text) ?? `${queryWords(parseQuery(text))} (ctrl+u empties the line)`;
};

/** The filter, and the position of the cursor. The filter matters more than the order. */
const filterLine = ({state, part, theme}: QuarantineFacts, cursor: number, width: number): string => {
  const total = partFor(state, part)?.total ?? 0;
  const place = total === 0 ? '' : `${countText(cursor + 1)} of ${plural(total, 'mail')} · `;
  const {name = ''} = mailOrders[state.order] ?? {};
  const query = state.filter === '' ? 'all held mail' : filterText(state);
  const available = width - 3 - displayWidth(safeLine(query));
  const shortest = ` ${place}${name} `;
  const right = [` ${place}${name} first `, shortest].find(text => displayWidth(text) <= available) ?? shortest;
  const rightWidth = Math.min(displayWidth(right), Math.floor(width * 0.6));
  const left =
    theme(' / ', 'accent', 'bold') + theme(fitText(query, width - rightWidth - 3), state.filter === '' ? 'dim' : 'bold');
  return left + theme(fitText(right, rightWidth, 'right'), 'dim');
};

type Notice = readonly [text: string, ...styles: (Style | undefined)[]];

/** The most important first, as many as fit. */
const noticesLine = (facts: QuarantineFacts, width: number): string => {
  let used = 1;
  let line = ' ';
  for (const [text, ...styles] of notices(facts)) {
    const gap = used > 1 ? ' · ' : '';
    const available = width - used - displayWidth(gap);
    if (available < 8) break;
    const shown = fitText(text, Math.min(available, displayWidth(text)));
    line += gap + facts.theme(shown, ...styles);
    used += displayWidth(gap) + displayWidth(shown);
  }
  return line;
};

const notices = ({state, part, loaded: {failure, loadedAtMs = 0}, screen, nowMs}: QuarantineFacts): Notice[] => {
  const {collecting, rangeStart, picked, newAbove} = screen;
  const silentNodes = part?.unreachableNodes ?? [];
  const found: Notice[] = [];
  if (silentNodes.length > 0)
    found.push([`! ${silentNodes.join(', ')} did not answer: mail held there is missing here`, 'bad', 'bold']);
  if (failure && partFor(state, part)) found.push([`! as of ${ageText(nowMs - loadedAtMs)}: ${failure.detail}`, 'bad', 'bold']);
  if (collecting) {
    const {what, done, total} = collecting;
    const bar = total > 0 ? ` ${progressBar(done / total, 10)} ${countText(done)} of ${countText(total)}` : '';
    found.push([`selecting ${what}${bar} (escape stops)`, 'accent']);
  }
  if (rangeStart) found.push(['range: move to its other end, then V', 'picked', 'bold']);
  if (picked.size > 0) found.push([`✓ ${countText(picked.size)} selected`, 'picked', 'bold']);
  if (newAbove > 0) found.push([`▲ ${countText(newAbove)} new (g)`, 'accent', 'bold']);
  return found;
};

const emptyText = ({state, part, loaded: {failure}}: QuarantineFacts): string => {
  if (partFor(state, part))
    return state.filter === '' ? 'No mail is held.' : 'Nothing matches this filter. escape clears it, / changes it.';
  return failure ? `The list cannot be read: ${failure.detail}` : 'Reading the list …';
};

/** Asked for by a recipient, selected, being released, being discarded. */
const marks = {none: ' ', requested: '?', picked: '✓', release: '»', discard: '×'} as const;

/** Between the start of the range and its end, inclusive. */
const rangeTest = (start: HeldMail | undefined, end: HeldMail | undefined): ((mail: HeldMail) => boolean) => {
  if (!start || !end) return () => false;
  const [from = '', to = ''] = [start.arrived_at, end.arrived_at].sort();
  return ({arrived_at: at}) => at >= from && at <= to;
};

/** By domain, as far as they are known. */
export type Thresholds = ReadonlyMap<string, Pick<Domain, 'quarantine_threshold' | 'reject_threshold'>>;

/** By the distance to rejection: bad in the last third between the thresholds, warn in the second. */
export const toneOfScore = (
  {recipients, score}: Pick<HeldMail, 'recipients' | 'score'>,
  thresholds: Thresholds,
): Tone | undefined => {
  const address = recipients[0] ?? '';
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  const {quarantine_threshold: hold, reject_threshold: reject} = thresholds.get(domain) ?? domainDefaults;
  const part = (score - hold) / Math.max(0.001, reject - hold);
  if (part >= 2 / 3) return 'bad';
  return part >= 1 / 3 ? 'warn' : undefined;
};

export interface PreviewArea extends Size {
  place: 'none' | 'beside' | 'below' | 'full';
}

/** The bar and the notices. */
const barRows = 2;
export const besideFrom = 120;
const separatorWidth = 3;

/** Where the preview is, and how large. */
export const previewArea = ({columns, rows: all}: Size, mode: PreviewMode): PreviewArea => {
  const rows = Math.max(0, all - barRows);
  // A question needs the space more than the preview.
  if (mode === 'off' || rows < 8) return {place: 'none', columns: 0, rows: 0};
  if (mode === 'full') return {place: 'full', columns, rows};
  if (columns >= besideFrom)
    return {place: 'beside', columns: columns - separatorWidth - Math.floor((columns - separatorWidth) * 0.55), rows};
  // The header of the list, and a line between.
  return {place: 'below', columns, rows: rows - 2 - Math.max(3, Math.floor((rows - 2) * 0.4))};
};

const previewIn = (facts: QuarantineFacts, area: PreviewArea): Pick<List<HeldMail>, 'beside' | 'below' | 'instead'> => {
  const {place, columns, rows} = area;
  const pane = () => previewPane(facts, area);
  switch (place) {
    case 'none':
      return {};
    case 'full':
      return {instead: pane()};
    case 'beside':
      return {beside: {fromColumns: 0, width: columns, lines: pane}};
    case 'below':
      return {below: {rows: () => rows + 1, lines: () => [facts.theme('─'.repeat(columns), 'dim'), ...pane()]}};
    default:
      return place satisfies never;
  }
};

/** When the preview does not fit, its last line shows the position. */
const previewPane = ({preview: lines, screen, theme}: QuarantineFacts, {columns, rows}: Size): string[] => {
  if (lines.length <= rows) return Array.from({length: rows}, (_, at) => lines[at] ?? '');
  const from = Math.min(screen.scroll, lastScroll(lines.length, rows));
  const shown = lines.slice(from, from + rows - 1);
  const where = ` lines ${from + 1} to ${from + shown.length} of ${lines.length} · J K scroll `;
  return [...shown, theme(fitText(where, Math.min(columns, displayWidth(where))), 'dim')];
};

export const lastScroll = (lines: number, rows: number): number => (lines <= rows ? 0 : lines - rows + 1);
