import type {ClusterDrift, DriftRecord} from '../../../../shared/cluster-drift.ts';
import {plural, timeText} from '../../../output/cell-text.ts';
import {fitText, wrapText} from '../../shell/fit-text.ts';
import type {Page} from '../../shell/modal.ts';
import type {Theme} from '../../shell/theme.ts';

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
