// Command `cluster drift`, and the differences that it prints.
import type {Command} from 'commander';
import type {ClusterDrift, DriftRecord} from '../../shared/cluster-drift.ts';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import {countText, plural, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Listed} from '../output/table.ts';
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
    const shown = drift.records.filter(record => record.node_id === node_id).length;
    if (differing_records !== null && shown < differing_records)
      printer.note(`${countText(shown)} of ${countText(differing_records)} records that differ on ${node_id}`);
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

export interface Drift {
  /** Configurations differ for a moment after every change, and should not for longer (specification section 3.3). */
  isAlarm: boolean;
  /** Nodes whose configuration differs from that of most nodes. */
  oddNodes: string[];
  /** How long a configuration has differed from that of the answering node. */
  ageSeconds: number;
}

export const defaultDriftSeconds = 600;

/**
 * Compares the nodes that exchange heartbeats with the answering one; the configuration of others is unknown. Drift is an alarm after
 * `alarmAfterSeconds`. Undefined without a difference.
 */
export const driftOf = (status: ClusterStatus, alarmAfterSeconds = defaultDriftSeconds): Drift | undefined => {
  const {peers, local_node_id: localId} = status;
  const known = peers.filter(
    ({node_id, healthy, unanswered_since}) => node_id === localId || (healthy === 'online' && !unanswered_since),
  );
  const groups = new Map<string, string[]>();
  for (const {config_hash, node_id} of known) groups.set(config_hash, [...(groups.get(config_hash) ?? []), node_id]);
  if (groups.size < 2) return undefined;

  const [most = []] = [...groups.values()].sort(
    (a, b) => b.length - a.length || Number(b.includes(localId)) - Number(a.includes(localId)),
  );
  const ageSeconds = Math.max(0, ...known.map(peer => differsFor(peer, status)));
  return {
    isAlarm: ageSeconds > alarmAfterSeconds,
    oddNodes: known.filter(({node_id}) => !most.includes(node_id)).map(({node_id}) => node_id),
    ageSeconds,
  };
};

/** In seconds. Nodes before 0.5 do not report it: the difference is then at least as old as the latest change of either. */
const differsFor = (peer: Peer, {peers, local_node_id, generated_at}: ClusterStatus): number => {
  const since: string | null | undefined = peer.config_differs_since;
  if (since !== undefined) return since === null ? 0 : Math.floor((Date.parse(generated_at) - Date.parse(since)) / 1000);
  const local = peers.find(({node_id}) => node_id === local_node_id);
  if (!local || local.config_hash === peer.config_hash) return 0;
  return Math.min(local.config_hash_age_s, peer.config_hash_age_s);
};

export const shortHash = (hash: string, length = 8): string => hash.replace(/^sha256:/, '').slice(0, length);
