// List of nodes, with panels on held mail and traffic below it, as far as they fit.
import type {ClusterDrift} from '../../../../shared/cluster-drift.ts';
import type {Peer} from '../../../../shared/cluster-status.ts';
import {healthStates} from '../../../../shared/health.ts';
import {type Drift, shortHash} from '../../../cluster/cluster-drift.ts';
import {driftTone} from '../../../cluster/node-fields.ts';
import {plural, sizeText} from '../../../output/cell-text.ts';
import {healthTones} from '../../../output/column.ts';
import type {HeadPart, List} from '../../list/list.ts';
import {sideBySide} from '../../list/list-lines.ts';
import {hasWords} from '../../list/list-query.ts';
import {fitText} from '../../shell/fit-text.ts';
import type {HeldNow} from '../../shell/held-now.ts';
import type {Size} from '../../shell/shell.ts';
import type {Loaded} from '../../shell/source.ts';
import type {Style, Theme} from '../../shell/theme.ts';
import {driftText} from './alarms.ts';
import type {MetricsReading} from './cluster-sources.ts';
import {type Arrivals, arrivalsLine, barLines, heldLine, verdictLines} from './figures.ts';
import type {History} from './history.ts';
import {nodeColumns, type ShownNodes} from './node-columns.ts';
import {recordText} from './node-page.ts';

export interface ClusterFacts {
  /** Undefined until they have been read. */
  nodes: ShownNodes | undefined;
  loaded: Pick<Loaded<unknown>, 'loadedAtMs' | 'failure'>;
  driftReport: ClusterDrift | undefined;
  held: Loaded<HeldNow>;
  arrivals: Arrivals | undefined;
  metrics: MetricsReading | undefined;
  history: History;
  /** Why no nodes can be shown. */
  refusal: string | undefined;
  mayReadMail: boolean;
  theme: Theme;
}

export const clusterList = (facts: ClusterFacts): List<Peer> => {
  const {nodes, loaded, refusal} = facts;
  const {failure, loadedAtMs} = loaded;
  return {
    ...{rows: refusal === undefined ? nodes?.status.peers : [], failure, loadedAtMs},
    keyOf: ({node_id}) => node_id,
    columns: () => (nodes ? nodeColumns(nodes) : []),
    head: () => (nodes ? totals(nodes) : ['Nodes']),
    matches: ({node_id, fqdn, api_url, healthy}, {words}) => hasWords([node_id, fqdn, api_url, healthy], words),
    hint: 'words of name, address or health',
    empty: [refusal ?? 'No nodes'],
    below: {
      rows: (size, count) => size.rows - 2 - nodeRows(count, size),
      lines: (_, size) => {
        const drift = nodes?.drift ? driftLines(facts, nodes, nodes.drift, size.columns) : [];
        const lines = facts.mayReadMail ? panels(facts, {columns: size.columns, rows: size.rows - drift.length - 1}) : [];
        return [...drift, '', ...lines];
      },
    },
  };
};

/** Rows of nodes, without the line of totals and the header. */
const nodeRows = (count: number, {rows}: Size): number =>
  Math.max(count === 0 ? 2 : 1, Math.min(count, Math.max(3, Math.floor(rows / 2) - 2)));

const totals = ({status, drift}: ShownNodes): HeadPart[] => {
  const {peers} = status;
  const backlog = peers.reduce((sum, peer) => sum + peer.outbox_backlog_to_us, 0);
  return [
    plural(peers.length, 'node'),
    ...healthStates.flatMap(state => {
      const count = peers.filter(({healthy}) => healthy === state).length;
      return count === 0 ? [] : [{text: `${count} ${state}`, style: healthTones[state]}];
    }),
    {text: `backlog ${backlog}`, style: backlog > 0 ? 'warn' : undefined},
    drift ? {text: 'config differs', style: driftTone(drift)} : {text: 'config equal', style: undefined},
  ];
};

const driftLines = ({driftReport, theme}: ClusterFacts, {status}: ShownNodes, drift: Drift, columns: number): string[] => {
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
  const style = driftTone(drift);
  return [
    theme(fitText(first, columns), style, 'bold'),
    theme(fitText(`   ${what}`, columns - 16), style) + theme(fitText('  d shows all', 16), 'dim'),
  ];
};

interface Panel {
  title: string;
  style?: Style;
  lines: readonly string[];
}

/** Side by side on a wide screen, else one below the other; the last are cut. */
const panels = (facts: ClusterFacts, size: Size): string[] => {
  const {theme, held} = facts;
  const {rows} = size;
  const isWide = size.columns >= 130;
  const width = isWide ? Math.floor(size.columns * 0.6) : size.columns;
  const layout = {width, theme};
  const flow = flowPanel(facts, layout);
  const figures: Panel = {
    title: heldTitle(held),
    ...((held.value?.unreachableNodes.length ?? 0) > 0 && {style: 'warn' as const}),
    lines: [arrivalsLine(facts.arrivals, layout), heldLine(facts.history.held(), layout)],
  };
  const groups = held.value?.summary.groups ?? [];
  if (isWide) {
    const side = size.columns - width - 2;
    const left = [...titled(figures, width, theme), '', ...titled(flow, width, theme)];
    const bars = (by: 'reason' | 'domain') => barLines(groups, by, {width: side, theme});
    const right = [
      ...titled({title: 'By reason', lines: bars('reason')}, side, theme),
      '',
      ...titled({title: 'By domain', lines: bars('domain')}, side, theme),
    ];
    return sideBySide(left, right, {width, rows: Math.min(rows, Math.max(left.length, right.length))});
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
  const hasGaps = first.length + second.length + third.length + 2 <= rows;
  return [first, second, third].flatMap((lines, at) => (hasGaps && at > 0 ? ['', ...lines] : lines)).slice(0, Math.max(0, rows));
};

const heldTitle = ({value, failure}: Loaded<HeldNow>): string => {
  if (!value) return failure ? `Held mail: ${failure.detail}` : 'Held mail: asking …';
  const {summary, unreachableNodes} = value;
  const missing = unreachableNodes.length > 0 ? `, WITHOUT ${unreachableNodes.join(', ')}: no answer` : '';
  return `Held mail: ${plural(summary.count, 'mail')}, ${sizeText(summary.size_bytes)}${missing}`;
};

const flowPanel = ({history, metrics}: ClusterFacts, layout: {width: number; theme: Theme}): Panel => {
  const {from, byVerdict} = history.verdicts();
  const source =
    from === 'metrics' ? 'verdicts of the node of this context, from its metrics' : 'events of the cluster, since opened';
  const why = from === 'events' && metrics?.problem ? `; ${metrics.problem}` : '';
  return {title: `By the minute: ${source}${why}`, lines: verdictLines(byVerdict, layout)};
};

const titled = ({title, lines, style = 'dim'}: Panel, width: number, theme: Theme): string[] => [
  theme(fitText(` ${title}`, width), style),
  ...lines,
];
