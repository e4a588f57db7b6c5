// Check of filters that matched nothing: their domain or node may not exist.
import {canonicalDomain} from '../../shared/domain-name.ts';
import type {Answer, Client} from '../client/client.ts';
import {CliError, exitCodes} from '../errors.ts';
import type {Printer} from '../output/printer.ts';
import type {HoldQuery} from './hold-query.ts';

/**
 * Warns about a domain that does not exist; this is no failure, as mail of a deleted domain may still be held. Rejects for a node that does not
 * exist. Does nothing with a key that cannot see all domains and nodes.
 */
export const reportUnknownFilter = async (
  client: Pick<Client, 'me' | 'domains' | 'cluster'>,
  {domain, node}: Pick<HoldQuery, 'domain' | 'node'>,
  {warn}: Pick<Printer, 'warn'>,
): Promise<void> => {
  if (domain === undefined && node === undefined) return;
  const me = await ifAnswered(client.me());
  // A domain-admin key may read domains too, but sees only its own.
  if (!me?.permissions.includes('domains:read') || !me.permissions.includes('cluster:read')) return;

  const domains = domain === undefined ? undefined : await ifAnswered(client.domains.list());
  if (domains?.every(({name}) => name !== canonicalDomain(domain ?? '')))
    warn(`there is no domain ${domain}; mfctl domain list shows the domains`);
  const status = node === undefined ? undefined : await ifAnswered(client.cluster.status());
  if (status?.peers.every(({node_id}) => node_id !== node))
    throw new CliError('unknown_node', `there is no node ${node}`, {exitCode: exitCodes.notFound, hint: 'mfctl cluster status'});
};

/** Undefined on failure, as the command itself already has its answer. */
const ifAnswered = async <T>(asking: Promise<Answer<T>>): Promise<T | undefined> => {
  try {
    return (await asking).data;
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
};
