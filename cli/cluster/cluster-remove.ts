import type {Command} from 'commander';
import type {ApiKey} from '../../shared/api-key.ts';
import type {Client} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import {plural} from '../output/cell-text.ts';
import type {Session} from '../session.ts';

interface RemoveFlags {
  force?: boolean;
  yes?: boolean;
  revokeKeys?: boolean;
}

export const addRemoveCommand = (cluster: Command, session: Session): void => {
  cluster
    .command('remove')
    .argument('<node>', 'as cluster status shows it')
    .description('remove a node from the cluster: the others refuse it at once and for good')
    .option('--force', 'even the only node that can let others join')
    .option('--revoke-keys', 'also revoke the API keys that were created on it')
    .option('--yes', 'do not ask')
    .addHelpText('after', help)
    .action((node: string, flags: RemoveFlags) => remove(session, node, flags));
};

const help = `
Stop the node first: otherwise it continues alone. After its removal, the mail that it holds can be reached only through it.
Starting it again does not bring it back: create a token, and join with an empty folder.

A compromised node may have created keys. They stay valid on all other nodes unless they are revoked: the command lists them
and asks, or revokes them with --revoke-keys. It never revokes the key that you use.

Example:
  mfctl cluster remove mx2
  mfctl cluster remove mx2 --revoke-keys --yes`;

const remove = async (session: Session, node: string, flags: RemoveFlags): Promise<void> => {
  const question = `Remove node ${node}? The others refuse it from now on, and no longer show the mail it holds.`;
  // Without a terminal the question fails, so the node need not be asked first.
  if (!session.terminal.stdin.isTTY) await session.confirm(question, flags.yes);
  const client = await session.client();
  const printer = session.printer();
  const keys = await activeKeysOf(client, node);
  if (keys.length > 0) printer.note(`${plural(keys.length, 'active key')} made on ${node}: ${keys.map(nameOf).join(', ')}`);
  await session.confirm(question, flags.yes);
  const revokesKeys = flags.revokeKeys ?? (keys.length > 0 && !flags.yes && (await session.agree('Revoke these keys too?')));

  const options = {force: flags.force, revokeKeys: revokesKeys || undefined};
  const {data, unreachableNodes} = await client.cluster.removeNode(node, options);
  printer.done(`removed node ${node}`);
  if (data && data.revoked_key_ids.length > 0) printer.done(`revoked ${plural(data.revoked_key_ids.length, 'key')}`);
  if (data && data.kept_key_ids.length > 0)
    printer.warn(
      `key ${data.kept_key_ids.join(', ')} was made on ${node} and stays, as you use it; mfctl key rotate replaces it`,
    );
  if (!revokesKeys && keys.length > 0) printer.warn('these keys stay valid; mfctl key revoke ID revokes one');
  if (unreachableNodes.length > 0) printer.warn(`did not answer and will follow when reachable: ${unreachableNodes.join(', ')}`);
};

/** Nodes of an older version do not report the keys; a missing node is reported by the removal. */
const activeKeysOf = async (client: Client, node: string): Promise<ApiKey[]> => {
  try {
    const {data} = await client.cluster.node(node);
    const now = Date.now();
    return data.keys.filter(
      ({revoked_at, expires_at}) => revoked_at === null && (expires_at === null || Date.parse(expires_at) > now),
    );
  } catch (error) {
    if (error instanceof CliError && (error.exitCode === exitCodes.notFound || error.code === 'method_not_allowed')) return [];
    throw error;
  }
};

const nameOf = ({id, name, scope}: ApiKey): string => `${id} ${name} (${scope})`;
