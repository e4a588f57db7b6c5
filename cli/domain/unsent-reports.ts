// Warning of nodes that send none of the DMARC reports that a domain wants.
import type {Client} from '../client/client.ts';
import {CliError} from '../errors.ts';
import type {Settings} from './domain-fields.ts';

/**
 * Undefined when none of the settings that were made asks for reports, and when all nodes that were heard can send them. The setting is made, so a status that this key may not read, or that does not
 * come, is not a failure: `cluster check` says the same.
 */
export const unsentReports = async (
  {cluster}: Pick<Client, 'cluster'>,
  made: readonly Partial<Settings>[],
): Promise<string | undefined> => {
  if (!made.some(({dmarc_reporting}) => dmarc_reporting)) return undefined;
  const peers = await cluster.status().then(
    ({data}) => data.peers,
    error => {
      if (error instanceof CliError) return [];
      throw error;
    },
  );
  const names = peers.filter(({dmarc_unset}) => dmarc_unset).map(({node_id}) => node_id);
  if (names.length === 0) return undefined;
  return `no DMARC reports are sent by ${names.join(', ')}, which has no address for them: set an fqdn with a dot, or dmarc.report_from, in mfd.yaml`;
};
