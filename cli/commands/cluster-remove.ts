import type {Command} from 'commander';
import type {Session} from '../session.ts';

interface RemoveFlags {
  force?: boolean;
  yes?: boolean;
}

export const addRemoveCommand = (cluster: Command, session: Session): void => {
  cluster
    .command('remove')
    .argument('<node>', 'as cluster status shows it')
    .description('take a node out of the cluster: the others refuse it at once and for good')
    .option('--force', 'even the only node that can let others join')
    .option('--yes', 'do not ask')
    .addHelpText('after', help)
    .action((node: string, flags: RemoveFlags) => remove(session, node, flags));
};

const help = `
Stop the node first: it goes on by itself, and mail that it holds can then be reached through it alone. It does not come
back by being started again; to have it back, make a token and join with an empty folder.

Example:
  mfctl cluster remove mx2`;

const remove = async (session: Session, node: string, {force, yes}: RemoveFlags): Promise<void> => {
  await session.confirm(`Remove node ${node}? The others refuse it from now on, and no longer show the mail it holds.`, yes);
  const client = await session.client();
  const path = `cluster/nodes/${encodeURIComponent(node)}`;
  const {unreachableNodes} = await client.send<null>({method: 'DELETE', path, query: {force}});
  session.printer().done(`removed node ${node}`);
  if (unreachableNodes.length > 0)
    session.printer().warn(`did not answer and will follow when reachable: ${unreachableNodes.join(', ')}`);
};
