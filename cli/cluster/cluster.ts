// Commands of the cluster: status, token, remove.
import {type Command, InvalidArgumentError} from 'commander';
import type {ApiKey} from '../../shared/api-key.ts';
import type {ClusterNode} from '../../shared/cluster-node.ts';
import type {ClusterStatus, Peer} from '../../shared/cluster-status.ts';
import type {Client, CreatedToken} from '../client/client.ts';
import {parseDuration} from '../command-line/moment.ts';
import {addWholeOption} from '../command-line/option-values.ts';
import {CliError, exitCodes} from '../errors.ts';
import {plural, timeText} from '../output/cell-text.ts';
import {columnsOf} from '../output/field.ts';
import {warnOfSilentNodes} from '../output/print-all.ts';
import {addSortOption, createSorter, type SortFlag} from '../output/sort-rows.ts';
import type {Fields, Listed, Shown} from '../output/table.ts';
import type {Session} from '../session.ts';
import {addCheckCommand} from './cluster-check.ts';
import {addDriftCommand} from './cluster-drift.ts';
import {findingsOf} from './cluster-findings.ts';
import {addWatchCommand} from './cluster-watch.ts';
import {nodeFields} from './node-fields.ts';

const peerFields: Fields<Peer> = {
  fields: [
    ...['node_id', 'fqdn', 'api_url', 'last_seen', 'healthy', 'config_hash', 'config_hash_age_s'],
    ...['outbox_backlog_to_us', 'license', 'unanswered_since', 'unreachable_from'],
    ...[
      'config_differs_since',
      'clock_skew_s',
      'outbox_refused',
      'cut_off_since',
      'has_authority',
      'dmarc_config',
      'dmarc_unset',
      'problems',
    ],
  ],
  answerFields: ['local_node_id', 'local_hostname', 'peers', 'generated_at'],
  isShort: true,
  nameOf: ({node_id}) => node_id,
};

export const addClusterCommands = (program: Command, session: Session): void => {
  const cluster = program.command('cluster').description('manage the cluster');

  addWholeOption(addSortOption(session.prints(cluster.command('status'), peerFields)))
    .description('show every node as the answering one sees it; * marks that one')
    .action(async (flags: SortFlag) => {
      // An unknown field is refused before the first request.
      createSorter(peersOf(noStatus), flags);
      const client = await session.client();
      const {data} = await client.cluster.status();
      const printer = session.printer();
      const peers = [...createSorter(peersOf(data), flags)(data.peers)];
      printer.list(peers, peersOf(data), {value: {...data, peers}});
      for (const {text, hint} of findingsOf(data)) printer.warn(hint === undefined ? text : `${text}; ${hint}`);
    });

  session
    .prints(cluster.command('show'), clusterNodes)
    .description('show when a node joined, and the API keys that were created on it')
    .argument('<node>', 'as cluster status shows it')
    .action(async (node: string) => {
      const client = await session.client();
      const {data} = await client.cluster.node(node);
      session.printer().record(data, clusterNodes);
    });

  addCheckCommand(cluster, session);
  addWatchCommand(cluster, session, peerFields);
  addDriftCommand(cluster, session);

  addTokenCommand(cluster, session);
  addRemoveCommand(cluster, session);
};

const noStatus: ClusterStatus = {local_node_id: '', local_hostname: '', peers: [], generated_at: ''};

const peersOf = (status: ClusterStatus): Listed<Peer> => ({
  ...peerFields,
  columns: columnsOf(Object.values(nodeFields({status}))),
});

const clusterNodes: Shown<ClusterNode> = {
  fields: ['node_id', 'node_no', 'fqdn', 'joined_at', 'shares_store', 'keys'],
  nameOf: ({node_id}) => node_id,
  details: node => [
    ['Node', node.node_id],
    ['Number', node.node_no],
    ['FQDN', node.fqdn],
    ['Joined', timeText(node.joined_at)],
    ['Shared store', node.shares_store],
    ['Keys', node.keys.map(key => `${nameOf(key)}${key.revoked_at === null ? '' : ', revoked'}`)],
  ],
};

const createdToken: Shown<CreatedToken> = {
  fields: ['token', 'expires_at', 'address', 'ca_fingerprint'],
  nameOf: ({token}) => token,
  details: created => [
    ['Token', created.token],
    ['Expires', timeText(created.expires_at)],
    ['Address', created.address],
    ['Fingerprint', created.ca_fingerprint],
  ],
};

const addTokenCommand = (cluster: Command, session: Session): void => {
  session
    .prints(cluster.command('token'), createdToken)
    .description('create a token that lets one new node join; keep it secret')
    .option('--expires-in <duration>', 'how long the token is valid, 1m to 24h (default: 1h)', durationSeconds)
    .addHelpText('after', help)
    .action((flags: {expiresIn?: number}) => createToken(session, flags.expiresIn));
};

const help = `
Examples:
  mfctl cluster token > token
  mfctl cluster token --expires-in 10m -q | ssh mx2 mfd join - --data /var/lib/mfd --fqdn mx2.example.com

On the new machine, with the token of the first one:
  mfd join - --data /var/lib/mfd < token`;

/** The token alone is data: a pipe to the new machine gets nothing else. */
const createToken = async (session: Session, expiresInSeconds: number | undefined): Promise<void> => {
  const client = await session.client();
  const {data} = await client.cluster.createToken({expiresInSeconds});
  const printer = session.printer();
  if (printer.format === 'table') printer.text(`${data.token}\n`);
  else printer.record(data, createdToken);
  printer.note(`This lets one node join through ${data.address}, until ${timeText(data.expires_at)}. On the new machine:`);
  printer.note('  mfd join - --data /var/lib/mfd');
  printer.note('with the token on standard input, because every user of a machine can see arguments.');
};

const durationSeconds = (text: string): number => {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Must be a duration such as 30m or 12h.');
  if (durationMs < 60_000 || durationMs > 86_400_000) throw new InvalidArgumentError('Must be at least 1m and at most 24h.');
  return Math.floor(durationMs / 1000);
};

interface RemoveFlags {
  force?: boolean;
  yes?: boolean;
  revokeKeys?: boolean;
}

const addRemoveCommand = (cluster: Command, session: Session): void => {
  cluster
    .command('remove')
    .argument('<node>', 'as cluster status shows it')
    .description('remove a node from the cluster: the others refuse it at once and for good')
    .option('--force', 'even the only node that can let others join')
    .option('--revoke-keys', 'also revoke the API keys that were created on it')
    .option('--yes', 'do not ask')
    .addHelpText('after', removalHelp)
    .action((node: string, flags: RemoveFlags) => remove(session, node, flags));
};

const removalHelp = `
Stop the node first: otherwise it continues alone. After its removal, the mail that it holds can be reached only through it.
Starting it again does not bring it back: create a token, and join with an empty folder.

A compromised node may have created keys. They stay valid on all other nodes unless they are revoked: the command lists them
and asks, or revokes them with --revoke-keys. It never revokes the key that you use.

Example:
  mfctl cluster remove mx2
  mfctl cluster remove mx2 --revoke-keys --yes`;

const remove = async (session: Session, node: string, flags: RemoveFlags): Promise<void> => {
  const question = `Remove node ${node}? The others refuse it from now on, and no longer show the mail it holds.`;
  const client = await session.client();
  const printer = session.printer();
  const described = await describe(client, node);
  const keys = activeKeysOf(described);
  if (keys.length > 0) printer.note(`${plural(keys.length, 'active key')} made on ${node}: ${keys.map(nameOf).join(', ')}`);
  await session.confirm(question, flags.yes);
  const revokesKeys = flags.revokeKeys ?? (keys.length > 0 && !flags.yes && (await session.agree('Revoke these keys too?')));

  const options = {force: flags.force, revokeKeys: revokesKeys || undefined};
  const answer = await client.cluster.removeNode(node, options);
  const {data} = answer;
  printer.done(`removed node ${node}`);
  if (data && data.revoked_key_ids.length > 0) printer.done(`revoked ${plural(data.revoked_key_ids.length, 'key')}`);
  if (data && data.kept_key_ids.length > 0)
    printer.warn(
      `key ${data.kept_key_ids.join(', ')} was made on ${node} and stays, as you use it; mfctl key rotate replaces it`,
    );
  if (!revokesKeys && keys.length > 0) printer.warn('these keys stay valid; mfctl key revoke ID revokes one');
  if (described?.shares_store)
    printer.warn(
      `${node} still knows the password of the store: change it in PostgreSQL, and in store.password_file of all other nodes`,
    );
  warnOfSilentNodes(session, answer);
};

/** Undefined from nodes of an older version. Nobody is asked about a node that is not there. */
const describe = async (client: Client, node: string): Promise<ClusterNode | undefined> => {
  try {
    return (await client.cluster.node(node)).data;
  } catch (error) {
    if (
      error instanceof CliError &&
      error.code !== 'unknown_node' &&
      (error.exitCode === exitCodes.notFound || error.code === 'method_not_allowed')
    )
      return undefined;
    throw error;
  }
};

const activeKeysOf = (node: ClusterNode | undefined): ApiKey[] =>
  (node?.keys ?? []).filter(
    ({revoked_at, expires_at}) => revoked_at === null && (expires_at === null || Date.parse(expires_at) > Date.now()),
  );

const nameOf = ({id, name, scope}: ApiKey): string => `${id} ${name} (${scope})`;
