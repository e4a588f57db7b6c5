import type {Command} from 'commander';
import type {ClusterDrift, DriftRecord} from '../../shared/cluster-drift.ts';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import type {Health} from '../../shared/health.ts';
import {briefTimeText, durationText, plural, timeText} from '../cell-text.ts';
import type {Column} from '../column.ts';
import type {Session} from '../session.ts';
import type {Tone} from '../tone.ts';

/** Hashes differ for a moment after every change; for longer they should not (specification section 3.3). */
const driftAfterSeconds = 600;

const toneOf: Record<Health, Tone> = {online: 'good', stale: 'warn', offline: 'bad'};

export const addClusterCommands = (program: Command, session: Session): void => {
  const cluster = program.command('cluster').description('look after the cluster');

  cluster
    .command('status')
    .description('show every node as the answering one sees it; * marks that one')
    .action(async () => {
      const client = await session.client();
      const {data} = await client.send<ClusterStatus>({path: 'cluster/status'});
      const printer = session.printer();
      printer.list(data.peers, columnsFor(data), {value: data});
      if (hasDrift(data.peers)) printer.warn('configuration drift: the hashes have differed for more than 10 minutes');
    });

  cluster
    .command('drift')
    .description('show which records and fields differ between the answering node and the others')
    .addHelpText(
      'after',
      '\nNodes repair what differs by themselves; a change on its way to another node shows here for a moment.',
    )
    .action(async () => {
      const client = await session.client();
      const {data} = await client.send<ClusterDrift>({path: 'cluster/drift'});
      printDrift(session, data);
    });
};

interface DriftLine extends Omit<DriftRecord, 'fields'> {
  field: string;
  hereValue: string;
  thereValue: string;
}

const driftColumns: Column<DriftLine>[] = [
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
  printer.list(drift.records.flatMap(linesOf), driftColumns, {value: drift, none: 'no differences'});
  for (const {node_id, differing_records, differs_since} of drift.nodes) {
    if (differing_records === null) printer.warn(`${node_id} did not answer, and was not compared`);
    else if (differs_since !== null)
      printer.warn(`${node_id} differs in ${plural(differing_records, 'record')} since ${timeText(differs_since)}`);
  }
  for (const {at, node_id, records} of drift.repairs)
    printer.note(`repaired at ${timeText(at)}: ${plural(records, 'record')} taken over from ${node_id}`);
};

/** A record that is not live at both ends differs as a whole. */
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

const columnsFor = ({local_node_id}: ClusterStatus): Column<Peer>[] => [
  {title: 'LOCAL', cell: peer => (peer.node_id === local_node_id ? '*' : ' ')},
  {title: 'NODE', cell: peer => peer.node_id},
  {title: 'FQDN', cell: peer => peer.fqdn, isFlexible: true, dropRank: 4},
  {title: 'HEALTH', cell: peer => peer.healthy, tone: peer => toneOf[peer.healthy]},
  {title: 'LAST SEEN', cell: peer => timeText(peer.last_seen), brief: peer => briefTimeText(peer.last_seen)},
  {title: 'CONFIG', cell: peer => peer.config_hash.replace(/^sha256:/, '').slice(0, 12)},
  {title: 'SINCE', cell: peer => durationText(peer.config_hash_age_s), align: 'right', dropRank: 3},
  {title: 'BACKLOG', cell: peer => peer.outbox_backlog_to_us, align: 'right'},
  {
    title: 'LICENSE',
    dropRank: 2,
    cell: ({license}) => `${license.type} ${license.status}`,
    tone: ({license}) => (license.valid ? undefined : 'bad'),
  },
  {title: 'API', cell: peer => peer.api_url, isFlexible: true, dropRank: 1},
];

const hasDrift = (peers: readonly Peer[]): boolean =>
  new Set(peers.map(peer => peer.config_hash)).size > 1 && peers.some(peer => peer.config_hash_age_s > driftAfterSeconds);
