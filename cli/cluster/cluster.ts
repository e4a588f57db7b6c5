import type {Command} from 'commander';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import {briefTimeText, durationText, timeText} from '../output/cell-text.ts';
import type {Column} from '../output/column.ts';
import type {Fields, Listed} from '../output/resource.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Session} from '../session.ts';
import {addCheckCommand} from './cluster-check.ts';
import {addDriftCommand} from './cluster-drift.ts';
import {addRemoveCommand} from './cluster-remove.ts';
import {addTokenCommand} from './cluster-token.ts';
import {addWatchCommand} from './cluster-watch.ts';
import {driftOf, shortHash} from './drift.ts';
import {conditionText, conditionTone, cutOffText, isCutOff} from './node-condition.ts';

const peerFields: Fields<Peer> = {
  fields: [
    ...['node_id', 'fqdn', 'api_url', 'last_seen', 'healthy', 'config_hash', 'config_hash_age_s'],
    ...['outbox_backlog_to_us', 'license', 'unanswered_since', 'unreachable_from'],
    ...['config_differs_since', 'clock_skew_s', 'outbox_refused', 'cut_off_since'],
  ],
  answerFields: ['local_node_id', 'local_hostname', 'peers', 'generated_at'],
  isShort: true,
  nameOf: ({node_id}) => node_id,
};

export const addClusterCommands = (program: Command, session: Session): void => {
  const cluster = program.command('cluster').description('manage the cluster');

  addSortOption(session.prints(cluster.command('status'), peerFields))
    .description('show every node as the answering one sees it; * marks that one')
    .action(async (flags: SortFlag) => {
      // An unknown field is refused before the first request.
      createSorter(peersOf(noStatus), flags);
      const client = await session.client();
      const {data} = await client.cluster.status();
      const printer = session.printer();
      const peers = [...createSorter(peersOf(data), flags)(data.peers)];
      printer.list(peers, peersOf(data), {value: {...data, peers}});
      for (const peer of data.peers.filter(isCutOff)) printer.warn(cutOffText(peer));
      if (driftOf(data)?.isAlarm)
        printer.warn('configuration drift: the nodes are not configured alike; mfctl cluster drift shows what differs');
      for (const {node_id} of data.peers.filter(({outbox_refused}) => outbox_refused))
        printer.warn(
          `changes made on ${node_id} are refused by another node and are not everywhere; the log of ${node_id} says why`,
        );
    });

  addCheckCommand(cluster, session);
  addWatchCommand(cluster, session, peerFields);
  addDriftCommand(cluster, session);

  addTokenCommand(cluster, session);
  addRemoveCommand(cluster, session);
};

const noStatus: ClusterStatus = {local_node_id: '', local_hostname: '', peers: [], generated_at: ''};

const peersOf = (status: ClusterStatus): Listed<Peer> => ({...peerFields, columns: columnsFor(status)});

const columnsFor = (status: ClusterStatus): Column<Peer>[] => [
  {title: 'LOCAL', cell: peer => (peer.node_id === status.local_node_id ? '*' : ' ')},
  {title: 'NODE', cell: peer => peer.node_id},
  {title: 'FQDN', cell: peer => peer.fqdn, isFlexible: true, dropRank: 4},
  {title: 'HEALTH', cell: peer => conditionText(peer, status), tone: peer => conditionTone(peer, status)},
  {title: 'LAST SEEN', cell: peer => timeText(peer.last_seen), brief: peer => briefTimeText(peer.last_seen)},
  {
    title: 'CONFIG',
    cell: peer => shortHash(peer.config_hash, 12),
    wide: peer => peer.config_hash,
  },
  {
    title: 'SINCE',
    cell: peer => durationText(peer.config_hash_age_s),
    sortBy: peer => peer.config_hash_age_s,
    align: 'right',
    dropRank: 3,
  },
  {title: 'BACKLOG', cell: peer => peer.outbox_backlog_to_us, align: 'right'},
  {
    title: 'LICENSE',
    dropRank: 2,
    cell: ({license}) => `${license.type} ${license.status}`,
    tone: ({license}) => (license.valid ? undefined : 'bad'),
  },
  {title: 'API', cell: peer => peer.api_url, isFlexible: true, dropRank: 1},
  {title: 'LICENSE EXPIRES', cell: ({license}) => timeText(license.expires_at), isWideOnly: true},
];
