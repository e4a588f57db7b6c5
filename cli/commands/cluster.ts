import {type Command, InvalidArgumentError} from 'commander';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import type {Health} from '../../shared/health.ts';
import {briefTimeText, durationText, timeText} from '../cell-text.ts';
import type {Column} from '../column.ts';
import {parseDuration} from '../moment.ts';
import type {Session} from '../session.ts';
import type {Tone} from '../tone.ts';
import {addDriftCommand} from './cluster-drift.ts';

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

  addDriftCommand(cluster, session);

  cluster
    .command('token')
    .description('make a token that lets one new node join; it is a secret')
    .option('--expires-in <duration>', 'its end from now on, 1m to 24h (default: 1h)', durationSeconds)
    .addHelpText('after', tokenHelp)
    .action((flags: TokenFlags) => createToken(session, flags));
};

interface TokenFlags {
  expiresIn?: number;
}

interface CreatedToken {
  token: string;
  expires_at: string;
  address: string;
  ca_fingerprint: string;
}

const tokenHelp = `
Examples:
  mfctl cluster token > token                  then, on the new machine: mfd join - --data /var/lib/mfd < token
  mfctl cluster token -q | ssh mx2 mfd join - --data /var/lib/mfd --fqdn mx2.example.com`;

/** The token alone is data: a pipe to the new machine gets nothing else. */
const createToken = async (session: Session, {expiresIn}: TokenFlags): Promise<void> => {
  const client = await session.client();
  const {data} = await client.send<CreatedToken>({method: 'POST', path: 'cluster/tokens', json: {expires_in_s: expiresIn}});
  const printer = session.printer();
  if (printer.format === 'table') printer.text(`${data.token}\n`);
  else printer.value(data);
  printer.note(`Lets one node join through ${data.address}, until ${timeText(data.expires_at)}. On the new machine:`);
  printer.note('  mfd join - --data /var/lib/mfd     with the token on standard input: other users can see arguments');
};

const durationSeconds = (text: string): number => {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Must be a duration such as 30m or 12h.');
  return Math.floor(durationMs / 1000);
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
