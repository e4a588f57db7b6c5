// Pages of the cluster screen: one node, and the drift.
import type {ClusterDrift, DriftRecord} from '../../../../shared/cluster-drift.ts';
import type {ClusterStatus, Peer} from '../../../../shared/cluster-status.ts';
import type {Summary} from '../../../../shared/held-mail.ts';
import {
  clockComparison,
  clockProblem,
  conditionText,
  conditionTone,
  healthMark,
  seenSecondsAgo,
} from '../../../cluster/node-condition.ts';
import {driftTone, licenseText} from '../../../cluster/node-fields.ts';
import {countText, durationText, plural, sizeText, timeText} from '../../../output/cell-text.ts';
import {type DetailPair, detailLines, fitText, wrapText} from '../../shell/fit-text.ts';
import {heldBy} from '../../shell/held-now.ts';
import type {Page} from '../../shell/modal.ts';
import type {Theme} from '../../shell/theme.ts';
import {changeText} from './alarms.ts';
import type {HealthChange} from './history.ts';
import {certificateText, type ShownNodes} from './node-columns.ts';

interface NodeMore {
  summary: Summary | undefined;
  changes: readonly HealthChange[];
  openedAtMs: number;
  /** The version of the context's node, when its metrics can be read. */
  version: string | undefined;
}

/** The page of one node. */
export const nodePage = (peer: Peer, facts: ShownNodes, more: NodeMore, theme: Theme): Page => {
  const isLocal = peer.node_id === facts.status.local_node_id;
  const changes = more.changes.filter(({node}) => node === peer.node_id);
  return {
    kind: 'page',
    title: `Node ${peer.node_id}${isLocal ? ', which answers' : ''}`,
    lines: width => [
      ...detailLines(
        [
          ...stateFacts(peer, facts),
          ...trustFacts(peer, facts),
          ...mailFacts(peer, more.summary),
          ...(isLocal && more.version !== undefined ? [['Version', more.version] as const] : []),
        ],
        width,
        theme,
      ),
      '',
      theme(fitText(`Changes of its health since ${timeText(new Date(more.openedAtMs).toISOString())}`, width), 'dim'),
      ...(changes.length === 0 ? ['none'] : []),
      ...changes.map(change => {
        const {text, tone} = changeText(change);
        return theme(fitText(`${timeText(new Date(change.atMs).toISOString())}  ${text}`, width), tone);
      }),
    ],
  };
};

const stateFacts = (peer: Peer, {status, drift}: ShownNodes): DetailPair[] => {
  const isOdd = drift?.oddNodes.includes(peer.node_id) ?? false;
  const isBehind = peer.outbox_backlog_to_us > 0;
  return [
    ['Health', `${healthMark[peer.healthy]} ${conditionText(peer, status)}`, conditionTone(peer, status)],
    ['Last seen', `${timeText(peer.last_seen)}, ${durationText(seenSecondsAgo(status, peer))} before it was asked`],
    ...(peer.node_id === status.local_node_id ? [] : [clockFact(peer, status)]),
    ['FQDN', peer.fqdn],
    ['API', peer.api_url],
    ['Configuration', `${peer.config_hash}${isOdd ? ' ≠ not that of most nodes' : ''}`, isOdd ? driftTone(drift) : undefined],
    ['Unchanged for', durationText(peer.config_hash_age_s)],
    [
      'Backlog',
      `${plural(peer.outbox_backlog_to_us, 'event')} of it still to be applied by ${status.local_node_id}`,
      isBehind ? 'warn' : undefined,
    ],
  ];
};

const clockFact = (peer: Peer, {local_node_id}: ClusterStatus): DetailPair => {
  const problem = clockProblem(peer);
  return ['Clock', clockComparison(peer, local_node_id), problem === 'critical' ? 'bad' : problem && 'warn'];
};

const trustFacts = ({node_id, license}: Peer, {certificates, nowMs}: ShownNodes): DetailPair[] => {
  const end = certificates.get(node_id);
  const until = end?.endsAtMs === undefined ? '' : `, until ${timeText(new Date(end.endsAtMs).toISOString())}`;
  const problem = end?.problem === undefined ? '' : ` (${end.problem})`;
  return [
    ['Certificate', `${certificateText(end, nowMs)}${until}${problem}`],
    ['Licence', `${license.type}, ${license.status}: ${licenseText(license, nowMs)}, until ${timeText(license.expires_at)}`],
  ];
};

const mailFacts = ({node_id}: Peer, summary: Summary | undefined): DetailPair[] => {
  if (!summary) return [];
  const groups = summary.groups.filter(group => group.node_id === node_id);
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const bytes = groups.reduce((sum, group) => sum + group.size_bytes, 0);
  const oldest = groups.map(({oldest_arrived_at}) => oldest_arrived_at).sort()[0];
  const by = heldBy(groups, 'reason');
  return [
    ['Holds', `${plural(count, 'mail')}, ${sizeText(bytes)}${oldest === undefined ? '' : `, the oldest of ${timeText(oldest)}`}`],
    ...(count === 0 ? [] : [['By reason', [...by].map(([reason, some]) => `${reason} ${countText(some)}`).join(', ')] as const]),
  ];
};

/** The page of records and fields that differ between the answering node and the others. */
export const driftPage = ({local_node_id, nodes, records, repairs, generated_at}: ClusterDrift, theme: Theme): Page => ({
  kind: 'page',
  title: `Configuration drift, seen from ${local_node_id} at ${timeText(generated_at)}`,
  lines: width => [
    ...nodes.map(({node_id, differing_records, differs_since}) => {
      if (differing_records === null) return theme(fitText(`? ${node_id} did not answer, and was not compared`, width), 'warn');
      if (differing_records === 0) return theme(fitText(`= ${node_id} has the same configuration`, width), 'good');
      const since = differs_since === null ? 'at this moment' : `since ${timeText(differs_since)}`;
      return theme(fitText(`≠ ${node_id} differs in ${plural(differing_records, 'record')} ${since}`, width), 'bad');
    }),
    ...records.flatMap(record => ['', ...recordLines(record, local_node_id, width, theme)]),
    '',
    ...repairs.map(({at, node_id, records: count}) =>
      theme(fitText(`repaired at ${timeText(at)}: ${plural(count, 'record')} fetched from ${node_id}`, width), 'dim'),
    ),
    ...wrapText('Nodes repair what differs by themselves; a change on its way to another node shows here for a moment.', width),
  ],
});

/** `domain example.com at mx2: quarantine_threshold`, for one line. */
export const recordText = (record: DriftRecord): string => {
  const {node_id, fields} = record;
  const what = isWhole(record) ? `${record.here} here, ${record.there} there` : fields.map(({name}) => name).join(', ');
  return `${nameOf(record)} at ${node_id}: ${what}`;
};

const recordLines = (record: DriftRecord, local: string, width: number, theme: Theme): string[] => {
  const {node_id, fields, here, there} = record;
  const heading = theme(fitText(`${nameOf(record)} (id ${record.id})`, width), 'bold');
  const at = Math.max(local.length, node_id.length, 8);
  const sides = (mine: string, theirs: string): string[] =>
    [
      [local, mine],
      [node_id, theirs],
    ].map(([node = '', value = '']) => `    ${fitText(node, at)}  ${fitText(value, width - at - 6)}`);
  if (isWhole(record)) return [heading, ...sides(`the record is ${here}`, `the record is ${there}`)];
  return [
    heading,
    ...fields.flatMap(field => [fitText(`  ${field.name}`, width), ...sides(json(field.here), json(field.there))]),
  ];
};

const isWhole = ({here, there}: DriftRecord): boolean => here !== 'live' || there !== 'live';

const nameOf = ({kind, name, id}: DriftRecord): string => `${kind} ${name ?? id}`;

const json = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
