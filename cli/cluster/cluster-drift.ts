import type {Command} from 'commander';
import type {ClusterDrift, DriftRecord} from '../../shared/cluster-drift.ts';
import {plural, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Listed} from '../output/resource.ts';
import type {Session} from '../session.ts';

export const addDriftCommand = (cluster: Command, session: Session): void => {
  session
    .prints(cluster.command('drift'), driftRecords)
    .description('show which records and fields differ between the answering node and the others')
    .addHelpText(
      'after',
      '\nNodes repair what differs by themselves; a change on its way to another node shows here for a moment.',
    )
    .action(async () => {
      const client = await session.client();
      const {data} = await client.cluster.drift();
      printDrift(session, data);
    });
};

interface DriftLine extends Omit<DriftRecord, 'fields'> {
  field: string;
  hereValue: string;
  thereValue: string;
}

const columns: Column<DriftLine>[] = [
  {title: 'NODE', cell: line => line.node_id},
  {title: 'KIND', cell: line => line.kind, dropRank: 2},
  {title: 'ID', cell: line => line.id, align: 'right', dropRank: 1},
  {title: 'NAME', cell: line => line.name, isFlexible: true},
  {title: 'FIELD', cell: line => line.field},
  {title: 'HERE', cell: line => line.hereValue, isFlexible: true},
  {title: 'THERE', cell: line => line.thereValue, isFlexible: true},
];

const printDrift = (session: Session, drift: ClusterDrift): void => {
  const printer = session.printer();
  printer.list(drift.records, driftRecords, {value: drift});
  for (const {node_id, differing_records, differs_since} of drift.nodes) {
    if (differing_records === null) printer.warn(`${node_id} did not answer, and was not compared`);
    else if (differs_since !== null)
      printer.warn(`${node_id} differs in ${plural(differing_records, 'record')} since ${timeText(differs_since)}`);
  }
  for (const {at, node_id, records} of drift.repairs)
    printer.note(`repaired at ${timeText(at)}: ${plural(records, 'record')} fetched from ${node_id}`);
};

/** A record that does not exist on both nodes differs as a whole. */
const linesOf = ({fields, ...record}: DriftRecord): DriftLine[] => {
  if (record.here !== 'live' || record.there !== 'live')
    return [{...record, field: '(record)', hereValue: record.here, thereValue: record.there}];
  return fields.map(({name, here, there}) => ({
    ...record,
    field: name,
    hereValue: JSON.stringify(here),
    thereValue: JSON.stringify(there),
  }));
};

const driftRecords: Listed<DriftRecord, DriftLine> = {
  fields: ['node_id', 'kind', 'id', 'name', 'here', 'there', 'fields'],
  answerFields: ['local_node_id', 'config_hash', 'nodes', 'records', 'repairs', 'generated_at'],
  nameOf: ({kind, id}) => `${kind}/${id}`,
  columns,
  linesOf: records => records.flatMap(linesOf),
  none: 'no differences',
};
