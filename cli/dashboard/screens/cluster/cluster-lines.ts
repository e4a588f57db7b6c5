// The cluster screen as lines: nodes above, what is held and what happens below, as far as there is room.
import type {ClusterDrift} from '../../../../shared/cluster-drift.ts';
import type {Peer} from '../../../../shared/cluster-status.ts';
import {healthStates} from '../../../../shared/health.ts';
import {shortHash} from '../../../cluster/drift.ts';
import {plural, sizeText} from '../../../output/cell-text.ts';
import {displayWidth} from '../../../output/display-width.ts';
import {type ListPosition, within} from '../../list/list-window.ts';
import {headerLine, placeColumns, rowLine} from '../../list/table-lines.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {Size} from '../../shell/shell.ts';
import {ageText} from '../../shell/shell-lines.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Style, Theme} from '../../shell/theme.ts';
import {driftText, healthTone} from './alarms.ts';
import type {Arrivals} from './arrivals.ts';
import type {HeldNow, MetricsReading} from './cluster-sources.ts';
import {recordText} from './drift-page.ts';
import {arrivalsLine, barLines, heldLine, verdictLines} from './figures.ts';
import type {History} from './history.ts';
import {driftStyle, type NodeFacts, nodeColumns} from './node-columns.ts';

export interface ClusterView {
  facts: NodeFacts | undefined;
  loadedAtMs: number | undefined;
  /** The last reading failed: what is shown is from before. */
  isOld: boolean;
  driftReport: ClusterDrift | undefined;
  held: Loaded<HeldNow>;
  arrivals: Arrivals | undefined;
  metrics: MetricsReading | undefined;
  history: History;
  position: ListPosition;
  /** Why there are no nodes to see. */
  instead: string;
  mayReadMail: boolean;
  isActive: boolean;
  nowMs: number;
}

export interface Canvas {
  size: Size;
  theme: Theme;
}

/** Rows the nodes have, besides the line of totals and the header. */
export const nodeRows = (count: number, {rows}: Size): number =>
  Math.max(1, Math.min(count, Math.max(3, Math.floor(rows / 2) - 2)));

export const clusterLines = (view: ClusterView, canvas: Canvas): string[] => {
  const {size} = canvas;
  const above = view.facts ? nodeLines(view, view.facts, canvas) : [` ${fitText(view.instead, size.columns - 1)}`];
  const room = size.rows - above.length;
  const below = view.mayReadMail ? panels(view, canvas, room - 1) : [];
  return [...above, '', ...below].slice(0, size.rows);
};

const nodeLines = (view: ClusterView, facts: NodeFacts, canvas: Canvas): string[] => {
  const {size, theme} = canvas;
  const {peers} = facts.status;
  const columns = placeColumns(nodeColumns(facts), size.columns);
  const height = nodeRows(peers.length, size);
  const {cursor, top} = within(view.position, {count: peers.length, height});
  const rows = peers.slice(top, top + height).map((peer, at) => {
    const isHere = top + at === cursor;
    return rowLine(peer, columns, theme, isHere ? (view.isActive ? 'cursor' : 'dim') : undefined);
  });
  return [totalsLine(view, facts, canvas), headerLine(columns, theme), ...rows, ...driftLines(view, facts, canvas)];
};

const totalsLine = ({loadedAtMs, isOld, nowMs}: ClusterView, {status, drift}: NodeFacts, {size, theme}: Canvas): string => {
  const {peers} = status;
  const backlog = peers.reduce((sum, peer) => sum + peer.outbox_backlog_to_us, 0);
  const states = healthStates.flatMap(state => {
    const count = peers.filter(({healthy}) => healthy === state).length;
    return count === 0 ? [] : [{text: `${count} ${state}`, style: healthTone[state]}];
  });
  const hash = drift ? {text: 'config differs', style: driftStyle(drift)} : {text: 'config equal', style: undefined};
  const parts = [
    {text: plural(peers.length, 'node'), style: 'bold' as const},
    ...states,
    {text: `backlog ${backlog}`, style: backlog > 0 ? ('warn' as const) : undefined},
    hash,
  ];
  const left = ` ${parts.map(({text}) => text).join(' · ')}`;
  const rest = size.columns - displayWidth(left);
  const age = loadedAtMs === undefined ? '' : `${ageText(nowMs - loadedAtMs)} `;
  const readAge = rest > age.length + 5 && age !== '' ? `read ${age}` : age;
  if (rest < 1) return fitText(left, size.columns);
  return ` ${parts.map(({text, style}) => theme(text, style)).join(' · ')}${theme(fitText(readAge, rest, 'right'), isOld ? 'warn' : 'dim')}`;
};

const driftLines = ({driftReport}: ClusterView, {drift, status}: NodeFacts, {size, theme}: Canvas): string[] => {
  if (!drift) return [];
  const word = drift.isAlarm ? '≠ ALARM: configuration drift' : '≠ configuration differs';
  const hashes = drift.oddNodes.map(odd => shortHash(status.peers.find(({node_id}) => node_id === odd)?.config_hash ?? ''));
  const first = ` ${word}: ${driftText(drift)} (${hashes.join(', ')})`;
  const records = driftReport?.records ?? [];
  const what =
    records.length === 0
      ? driftReport
        ? 'no record differs by now, or its node does not answer'
        : 'asking what differs …'
      : records.map(recordText).join('; ');
  const style = driftStyle(drift);
  return [
    theme(fitText(first, size.columns), style, 'bold'),
    theme(fitText(`   ${what}`, size.columns - 16), style) + theme(fitText('  d shows all', 16), 'dim'),
  ];
};

interface Panel {
  title: string;
  style?: Style;
  lines: readonly string[];
}

/** Side by side where it is wide enough, else one below the other; the last are cut. */
const panels = (view: ClusterView, {size, theme}: Canvas, rows: number): string[] => {
  const isWide = size.columns >= 130;
  const width = isWide ? Math.floor(size.columns * 0.6) : size.columns;
  const room = {width, theme};
  const flow = flowPanel(view, room);
  const figures: Panel = {
    title: heldTitle(view),
    ...((view.held.value?.unreachableNodes.length ?? 0) > 0 && {style: 'warn' as const}),
    lines: [arrivalsLine(view.arrivals, room), heldLine(view.history.held(), room)],
  };
  const groups = view.held.value?.summary.groups ?? [];
  if (isWide) {
    const side = size.columns - width - 2;
    const left = [...titled(figures, width, theme), '', ...titled(flow, width, theme)];
    const bars = (by: 'reason' | 'domain') => barLines(groups, by, {width: side, theme});
    const right = [
      ...titled({title: 'By reason', lines: bars('reason')}, side, theme),
      '',
      ...titled({title: 'By domain', lines: bars('domain')}, side, theme),
    ];
    return sideBySide(left, right, {width, rows});
  }
  const half = Math.floor(size.columns / 2);
  const barRows = sideBySide(
    barLines(groups, 'reason', {width: half - 2, theme}),
    barLines(groups, 'domain', {width: half - 2, theme}),
    {width: half, rows: 4},
  );
  const first = titled(figures, width, theme);
  const second = titled({title: 'By reason and domain', lines: barRows}, width, theme);
  const third = titled(flow, width, theme);
  const isRoomy = first.length + second.length + third.length + 2 <= rows;
  return [first, second, third].flatMap((lines, at) => (isRoomy && at > 0 ? ['', ...lines] : lines)).slice(0, Math.max(0, rows));
};

const heldTitle = ({held}: ClusterView): string => {
  if (!held.value) return held.failure ? `Held mail: ${held.failure.detail}` : 'Held mail: asking …';
  const {summary, unreachableNodes} = held.value;
  const missing = unreachableNodes.length > 0 ? `, WITHOUT ${unreachableNodes.join(', ')}: no answer` : '';
  return `Held mail: ${plural(summary.count, 'mail')}, ${sizeText(summary.size_bytes)}${missing}`;
};

const flowPanel = ({history, metrics}: ClusterView, room: {width: number; theme: Theme}): Panel => {
  const {from, byVerdict} = history.verdicts();
  const source =
    from === 'metrics' ? 'verdicts of the node of this context, from its metrics' : 'events of the cluster, since opened';
  const why = from === 'events' && metrics?.problem ? `; ${metrics.problem}` : '';
  return {title: `By the minute: ${source}${why}`, lines: verdictLines(byVerdict, room)};
};

const titled = ({title, lines, style = 'dim'}: Panel, width: number, theme: Theme): string[] => [
  theme(fitText(` ${title}`, width), style),
  ...lines,
];

const sideBySide = (left: readonly string[], right: readonly string[], {width, rows}: {width: number; rows: number}): string[] =>
  Array.from({length: Math.max(0, Math.min(rows, Math.max(left.length, right.length)))}, (_, at) => {
    const text = left[at] ?? '';
    return text + ' '.repeat(Math.max(0, width - displayWidth(plainText(text)))) + (right[at] ?? '');
  });

const plainText = (text: string): string => text.replaceAll(/\x1b\[\d+m/g, '');

export const peerAt = (peers: readonly Peer[], {cursor}: ListPosition): Peer | undefined =>
  peers[Math.max(0, Math.min(cursor, peers.length - 1))];
