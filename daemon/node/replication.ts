// Replication of a node: the exchange with its peers, and its drift detection.

import type {Logger} from 'pino';
import {createDrift} from '../replication/drift.ts';
import {createHeartbeatExchange} from '../replication/heartbeat-exchange.ts';
import {createLateChanges} from '../replication/late-changes.ts';
import {createRecordDifferences} from '../replication/record-differences.ts';
import {createReplication} from '../replication/replication.ts';
import type {NodeIdentity} from '../services/access/actor.ts';
import {createRateLimiter} from '../services/access/rate-limit.ts';
import {createRefusals} from '../services/cluster/refusals.ts';
import type {NodeStore} from '../services/node-store.ts';
import type {LiveSettings} from './live-settings.ts';
import type {Records} from './records.ts';

interface Needs {
  store: NodeStore;
  identity: NodeIdentity;
  records: Records;
  settings(): LiveSettings;
  version: string;
  /** Whether this node can issue certificates. */
  hasAuthority: boolean;
  /** How long configurations may differ without events in transit before they are compared. */
  driftAfterMs: number;
  log: Logger;
  now: () => number;
}

export type ReplicationParts = ReturnType<typeof openReplication>;

export const openReplication = ({store, identity, records, log, now, ...needs}: Needs) => {
  const {nodeId, nodeNo} = identity;
  const {configuration, nodeDirectory: directory, peerStates, keyDirectory} = records;
  const monotonic = () => performance.now();
  const limiter = createRateLimiter({now, monotonic});
  const nameOf = (no: number) => directory.findByNo(no)?.node_id ?? `node number ${no}`;
  const refusals = createRefusals(({peer, why}) => {
    if (why === undefined) log.info({node: nameOf(peer)}, 'the node accepts changes from this one again');
    else log.error({node: nameOf(peer), detail: why}, 'the node refuses changes from this one; they are not on every node');
  });
  const lastSeqOf = (no: number) => peerStates.latest(no)?.last_seq;
  const replication = createReplication({store, configuration, nodeNo, begunAt: records.begunAt, lastSeqOf, now, nameOf});
  const differences = createRecordDifferences({replication, refusals});
  const lateChanges = createLateChanges({
    replication,
    directory,
    peerStates,
    differences,
    nodeNo,
    monotonic,
    onFetched: fetched => log.info(fetched, 'missing changes were fetched from another node'),
  });
  const drift = createDrift({
    store,
    configuration,
    replication,
    directory,
    peerStates,
    refusals,
    differences,
    nodeId,
    afterMs: () => needs.driftAfterMs,
    now,
    monotonic,
    onRepair: repair => log.warn(repair, 'configuration drift repaired from the other node'),
  });
  const exchange = createHeartbeatExchange({
    store,
    replication,
    peerStates,
    limiter,
    keyDirectory,
    drift,
    directory,
    refusals,
    nodeId,
    nodeNo,
    version: needs.version,
    license: () => needs.settings().license,
    hasAuthority: needs.hasAuthority,
    now,
  });
  return {limiter, replication, drift, lateChanges, exchange, refusals};
};
