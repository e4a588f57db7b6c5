// Hold queue of a node with a database and a spool of its own.
import {createListedQueue} from '../hold/hold-queue.ts';
import {createSpoolBackend, createSpoolHolder} from '../hold/spool/spool-backend.ts';
import {arrivalFields} from '../mail/authentication/arrival-fields.ts';
import {createQuarantine} from '../services/quarantine/quarantine.ts';
import {createRetention} from '../services/quarantine/retention.ts';
import type {Base} from './base.ts';
import type {Hold, HoldNeeds} from './hold-make.ts';
import type {Engine} from './storage.ts';

export const openOwnHold = (
  base: Base,
  {store, spool}: Extract<Engine, {kind: 'own'}>,
  {delivery, postfix, onHeld, readJob, common}: HoldNeeds,
): Hold => {
  const {settings, storage, fqdn, records, log, now} = base;
  const {nodeId, reserveFile} = storage;
  const spoolBackend = createSpoolBackend({spool, ...delivery});
  const queue = createListedQueue({
    ...common,
    nodeId,
    store,
    query: store.heldQuery(nodeId),
    backendOf: ({keeper}) => (keeper === 'spool' ? spoolBackend : postfix),
    withReserve: reserveFile.withReserve,
  });
  return {
    queue,
    listed: queue,
    holder: createSpoolHolder({
      nodeId,
      store,
      spool,
      arrivalFields: (mail, judgement) => arrivalFields(mail, judgement, fqdn),
      onHeld,
    }),
    retention: createRetention({
      store,
      retentionMs: () => settings().keepMs,
      domains: records.domainDirectory,
      expire: queue.expire,
      isSuspended: records.membership.isRemoved,
      isUpToDate: () => hearsAll(records, nodeId),
      now,
    }),
    openQuarantine: others =>
      createQuarantine({
        queues: () => [queue, ...others.queues()],
        ask: others.ask,
        isAway: others.isAway,
        onUnexpected: error => log.error({err: error}, 'quarantine action failed'),
      }),
    jobs: [readJob(queue.readFrom)],
    // The spool was reconciled when the storage was opened.
    takeBackOwnClaims: async () => {},
    isStoreReachable: () => true,
    idle: queue.idle,
  };
};

/** Whether each other node has sent a heartbeat since the start, and lately: what it changed has arrived by then. */
const hearsAll = ({nodeDirectory, peerStates}: Base['records'], nodeId: string): boolean => {
  const skews = new Map(Object.entries(peerStates.skews()));
  return nodeDirectory
    .list()
    .filter(node => node.node_id !== nodeId)
    .every(node => skews.has(node.node_id) && peerStates.healthOf(node) === 'online');
};
