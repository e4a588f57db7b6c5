// What a node and its peers tell each other, and what it makes of that.

import {createDrift} from '../replication/drift.ts';
import {createHeartbeatExchange} from '../replication/heartbeat-exchange.ts';
import {createLateChanges} from '../replication/late-changes.ts';
import {createRecordDifferences} from '../replication/record-differences.ts';
import {createReplication} from '../replication/replication.ts';
import {createRateLimiter} from '../services/access/rate-limit.ts';
import {createRefusals} from '../services/cluster/refusals.ts';
import type {NodeParts} from './node-parts.ts';

export const openReplication = (node: NodeParts) => {
  const {store, nodeId, nodeNo, now, log, settings, records} = node;
  const {configuration, nodeDirectory: directory, peerStates, keyDirectory} = records;
  const limiter = createRateLimiter({now, monotonic: () => performance.now()});
  const nameOf = (no: number) => directory.findByNo(no)?.node_id ?? `node number ${no}`;
  const refusals = createRefusals(({peer, why}) => {
    if (why === undefined) log.info({node: nameOf(peer)}, 'the node takes the changes of this one again');
    else log.error({node: nameOf(peer), detail: why}, 'the node refuses changes of this one; they are not on every node');
  });
  const replication = createReplication({
    store,
    configuration,
    nodeNo,
    begunAt: records.begunAt,
    lastSeqOf: no => peerStates.latest(no)?.last_seq,
    now,
    nameOf,
  });
  const differences = createRecordDifferences({replication, refusals});
  const lateChanges = createLateChanges({
    replication,
    directory,
    peerStates,
    differences,
    nodeNo,
    monotonic: () => performance.now(),
    onFetched: fetched => log.info(fetched, 'changes that had not come were taken from another node'),
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
    afterMs: () => node.driftAfterMs,
    now,
    monotonic: () => performance.now(),
    onRepair: repair => log.warn(repair, 'configurations had come apart; what the other node has was taken over'),
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
    version: node.version,
    license: () => settings().license,
    hasAuthority: node.hasAuthority,
    now,
  });
  return {limiter, replication, drift, lateChanges, exchange, refusals};
};
