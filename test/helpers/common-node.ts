// The configuration of one node in the common store, and what it has in memory.

import {startChangeFollower} from '../../daemon/common-store/change-follower.ts';
import {createCommonConfiguration} from '../../daemon/common-store/common-configuration.ts';
import {createStoreConnection} from '../../daemon/common-store/store-connection.ts';
import {keysIn} from '../../daemon/node/common-records.ts';
import {createKeyDirectory} from '../../daemon/services/access/key-directory.ts';
import {createNodeDirectory} from '../../daemon/services/cluster/membership.ts';
import {createDomainDirectory} from '../../daemon/services/domains/domain-directory.ts';
import {allDomains, type ChangedKey, type FieldsOf} from '../../daemon/services/records.ts';
import type {PostgresSettings} from '../../daemon/store/postgres/connection.ts';
import {storeOf} from './common-store.ts';
import {newFields} from './config-history.ts';
import type {Teardown} from './store.ts';

export type CommonNode = Awaited<ReturnType<typeof startCommonNode>>;

const dayMs = 24 * 3600 * 1000;
const retention = {spam: dayMs, phishing: dayMs, sandbox: dayMs, rbl: dayMs};

interface Options {
  nodeId?: string;
  nodeNo?: number;
  /** Whether the other nodes are told of its changes. */
  notifies?: boolean;
}

export const startCommonNode = async (
  t: Teardown,
  settings: PostgresSettings,
  {nodeId = 'alpha', nodeNo = 1, notifies = true}: Options = {},
) => {
  const opened = await storeOf(t, settings, {nodeId, nodeNo});
  const store = {...opened, ...(!notifies && {notify: () => {}})};
  const monotonic = () => performance.now();
  const log: string[] = [];
  const connection = createStoreConnection({monotonic, onLost: () => log.push('lost'), onBack: () => log.push('back')});
  const configuration = createCommonConfiguration({
    store,
    nodeNo,
    now: Date.now,
    onListenerFailure: error => connection.failed('reading', error),
  });
  const begun = {seq: await store.outbox.last(), ...(await store.config.configHash())};
  const directory = await createNodeDirectory(store, configuration);
  const keyDirectory = await createKeyDirectory(store, configuration);
  const domains = await createDomainDirectory(store, configuration);
  const published: ChangedKey[][] = [];
  configuration.onChange(async changed => void published.push(changed));
  const follower = startChangeFollower({
    store,
    configuration,
    connection,
    begun,
    known: () => keysIn({nodeDirectory: directory, keyDirectory, domainDirectory: domains}),
    retention: () => ({retention_ms: retention, longest_ms: retention}),
    monotonic,
  });
  t.teardown(follower.stop);
  const change = configuration.change;
  return {
    ...{store, configuration, connection, follower, directory, keyDirectory, domains, published, log, nodeId, nodeNo},
    addDomain: async (name: string): Promise<number> =>
      change(async tx => {
        const id = await tx.nextId('domain');
        await tx.create('domain', id, {...newFields.domain(name), backend_servers: ['127.0.0.1:25'], created_at: tx.at});
        return id;
      }),
    addGlobalFilter: async (): Promise<void> =>
      change(async tx => {
        const fields = newFields.mailFilter(allDomains) as FieldsOf['mail_filter'];
        await tx.create('mail_filter', await tx.nextId('mail_filter'), fields);
      }),
    addNode: async (id: number, node_id: string): Promise<unknown> =>
      change(async tx =>
        tx.create('node', id, {node_id, fqdn: `${node_id}.test`, cluster_url: null, api_url: null, created_at: tx.at}),
      ),
  };
};
