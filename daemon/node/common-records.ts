// Records of a node in a store that all nodes share: what is in memory follows the changes in the store.

import {Fault} from '../../shared/fault.ts';
import {startChangeFollower} from '../common-store/change-follower.ts';
import {createCommonConfiguration} from '../common-store/common-configuration.ts';
import {createPresences} from '../services/cluster/presences.ts';
import {longestRetentionMs} from '../services/domains/domain-retention.ts';
import {allDomains, type ChangedKey} from '../services/records.ts';
import type {Closers} from './closers.ts';
import type {OpenCluster} from './cluster.ts';
import {openCommonCluster} from './common-cluster.ts';
import {openDirectories, type Records, type RecordsNeeds} from './records.ts';
import type {CommonEngine} from './storage.ts';

export const openCommonRecords = async (
  {store, connection, settled}: CommonEngine,
  needs: RecordsNeeds & {closers: Closers},
): Promise<{records: Records; openCluster: OpenCluster}> => {
  const {nodeNo, settings, log, now, closers} = needs;
  const monotonic = () => performance.now();
  const configuration = createCommonConfiguration({
    store,
    nodeNo,
    now,
    onListenerFailure(error) {
      if (error instanceof Fault) connection.failed('reading', error);
      else log.error({err: error}, 'a stored change could not be applied; retrying');
    },
  });
  // Read before everything that is kept in memory, the number first: what changes meanwhile is read again.
  const seq = await store.outbox.last();
  const begun = {seq, ...(await store.config.configHash())};
  const presences = createPresences({store, monotonic});
  await presences.refresh();
  const records = await openDirectories({
    ...needs,
    store,
    configuration,
    appliedOf: async () => 0,
    presences,
    requireFresh: connection.requireFresh,
  });
  const follower = startChangeFollower({
    store,
    configuration,
    connection,
    begun,
    known: () => keysIn(records),
    retention: () => ({
      retention_ms: settings().keepMs,
      longest_ms: longestRetentionMs(records.domainDirectory, settings().keepMs),
    }),
    monotonic,
  });
  closers.add(async () => void (await settled(follower.stop())));
  const shared = {store, configuration, connection, follower, presences};
  return {records, openCluster: (base, version, added) => openCommonCluster(base, shared, {version, closers: added})};
};

/** The keys of everything that is in memory. */
export const keysIn = ({
  nodeDirectory,
  keyDirectory,
  domainDirectory,
}: Pick<Records, 'nodeDirectory' | 'keyDirectory' | 'domainDirectory'>): ChangedKey[] => [
  ...nodeDirectory.list().map(({id}) => ({kind: 'node' as const, id, parent_id: null})),
  ...keyDirectory.list().map(({id}) => ({kind: 'api_key' as const, id, parent_id: null})),
  // Filters and signing keys are read by the id of their domain: one key stands for all of them.
  {kind: 'mail_filter', id: allDomains, parent_id: allDomains},
  // One key stands for all webhooks: what follows them reads all.
  {kind: 'webhook', id: allDomains, parent_id: allDomains},
  ...domainDirectory.list().flatMap(({id}): ChangedKey[] => [
    {kind: 'domain', id, parent_id: null},
    {kind: 'mail_filter', id, parent_id: id},
    {kind: 'dkim_key', id, parent_id: id},
    {kind: 'digest', id, parent_id: id},
  ]),
];
