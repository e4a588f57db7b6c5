// Bar above the list of held mail: the filter, the position, and notices.
import {safeLine} from '../../../../shared/safe-text.ts';
import {countText, plural} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {isEmptyQuery} from '../../../quarantine/hold-query.ts';
import {printQuery} from '../../../quarantine/query-line.ts';
import {fitText} from '../../shell/fit-text.ts';
import {ageText, progressBar} from '../../shell/shell-lines.ts';
import type {Style, Theme} from '../../shell/theme.ts';
import {isByTime, type ListState, maxSorted, orderLabels, rowCount} from './list-state.ts';
import type {ScreenState} from './screen-state.ts';

export interface BarFacts {
  list: ListState;
  screen: ScreenState;
  nowMs: number;
  width: number;
  theme: Theme;
}

/** The current filter, and the position of the cursor. */
export const filterLine = ({list, width, theme}: BarFacts): string => {
  const {total, order, position} = list;
  const place = total === undefined || total === 0 ? '' : `${countText(position.cursor + 1)} of ${plural(total, 'mail')} · `;
  const query = isEmptyQuery(list.query) ? 'all held mail' : printQuery(list.query);
  // The filter matters more than the order.
  const available = width - 3 - displayWidth(safeLine(query));
  const right =
    [` ${place}${orderLabels[order]} `, ` ${place}${order} `].find(text => displayWidth(text) <= available) ??
    ` ${place}${order} `;
  const rightWidth = Math.min(displayWidth(right), Math.floor(width * 0.6));
  const left =
    theme(' / ', 'accent', 'bold') + theme(fitText(query, width - rightWidth - 3), isEmptyQuery(list.query) ? 'dim' : 'bold');
  return left + theme(fitText(right, rightWidth, 'right'), 'dim');
};

type Notice = readonly [text: string, ...styles: (Style | undefined)[]];

/** The most important first, as many as fit. */
export const noticesLine = (facts: BarFacts): string => {
  const {width, theme} = facts;
  let used = 1;
  let line = ' ';
  for (const [text, ...styles] of notices(facts)) {
    const gap = used > 1 ? ' · ' : '';
    const available = width - used - displayWidth(gap);
    if (available < 8) break;
    const shown = fitText(text, Math.min(available, displayWidth(text)));
    line += gap + theme(shown, ...styles);
    used += displayWidth(gap) + displayWidth(shown);
  }
  return line;
};

const notices = ({list, screen, nowMs}: BarFacts): Notice[] => {
  const {unreachableNodes, failure, loadedAtMs, newAbove} = list;
  const {collecting, rangeStart, picked} = screen;
  const found: Notice[] = [];
  if (unreachableNodes.length > 0)
    found.push([`! ${unreachableNodes.join(', ')} did not answer: mail held there is missing here`, 'bad', 'bold']);
  if (failure && loadedAtMs !== undefined)
    found.push([`! as of ${ageText(nowMs - loadedAtMs)}: ${failure.detail}`, 'bad', 'bold']);
  if (collecting) {
    const {what, done, total} = collecting;
    const bar = total > 0 ? ` ${progressBar(done / total, 10)} ${countText(done)} of ${countText(total)}` : '';
    found.push([`selecting ${what}${bar} (escape stops)`, 'accent']);
  }
  if (rangeStart) found.push(['range: move to its other end, then V', 'picked', 'bold']);
  if (picked.size > 0) found.push([`✓ ${countText(picked.size)} selected`, 'picked', 'bold']);
  if (newAbove > 0) found.push([`▲ ${countText(newAbove)} new (g)`, 'accent', 'bold']);
  found.push(...orderNotices(list));
  return found;
};

/** The note that not everything is sorted, or not yet. */
const orderNotices = (list: ListState): Notice[] => {
  const {order, gathered, total = 0} = list;
  if (isByTime(order)) return [];
  const all = Math.min(total, maxSorted);
  if (gathered !== undefined || (list.loadedAtMs === undefined && !list.failure))
    return [
      [
        `sorting ${progressBar(all === 0 ? 0 : (gathered ?? 0) / all, 10)} ${countText(gathered ?? 0)} of ${countText(all)}`,
        'accent',
      ],
    ];
  return total > maxSorted ? [[`sorted among the newest ${countText(rowCount(list))} of ${countText(total)}`, 'warn']] : [];
};
