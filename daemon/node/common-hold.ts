// Hold queue of a node whose mail is in a store that all nodes share.
import {createReleaseDelivery} from '../hold/release-delivery.ts';
import {createNodeQueues, takeBackOwnClaims} from '../hold/store/node-queues.ts';
import {createStoreHolder} from '../hold/store/store-holder.ts';
import {arrivalFields} from '../mail/authentication/arrival-fields.ts';
import {createCommonQuarantine} from '../services/quarantine/common-quarantine.ts';
import {createCommonRetention} from '../services/quarantine/retention.ts';
import type {Base} from './base.ts';
import {hasEarlierMember} from './header-job.ts';
import type {Hold, HoldNeeds} from './hold-make.ts';
import type {Engine} from './storage.ts';

export const openCommonHold = (
  {settings, storage: {nodeId}, fqdn, records, log, now}: Base,
  {store, isReachable}: Extract<Engine, {kind: 'common'}>,
  {delivery, postfix, onHeld, readJob, common}: HoldNeeds,
): Hold => {
  const {nodeDirectory, domainDirectory, membership} = records;
  const queues = createNodeQueues({
    ...common,
    nodeId,
    store,
    deliver: createReleaseDelivery(delivery),
    postfix,
    isNode: id => nodeDirectory.list().some(node => node.node_id === id),
  });
  return {
    queue: queues.own,
    holder: createStoreHolder({nodeId, store, arrivalFields: (mail, judgement) => arrivalFields(mail, judgement, fqdn), onHeld}),
    retention: createCommonRetention({
      nodeId,
      store,
      retentionMs: () => settings().keepMs,
      domains: domainDirectory,
      expire: async (node, queueId) => queues.of(node).expire(queueId),
      // Without the store, the retention of the domains may be out of date, as after a pause of the whole process.
      isSuspended: () => membership.isRemoved() || !isReachable(),
      now,
    }),
    openQuarantine: others =>
      createCommonQuarantine({
        nodeId,
        heldQuery: store.heldQuery,
        find: queues.find,
        peerQueues: others.queues,
        postfixNodes: others.postfixNodes,
        isAway: others.isAway,
        isSilent: others.isSilent,
        onUnexpected: error => log.error({err: error}, 'quarantine action failed'),
      }),
    jobs: [
      {everyMs: 10_000, what: 'extending the claims of this node', run: store.leases.renew},
      {everyMs: 5_000, what: 'giving back claims of other nodes', run: store.leases.giveBack},
      {everyMs: 5_000, what: 'recording results of actions', run: queues.catchUp},
      readJob(queues.readFrom, () => hasEarlierMember(records, nodeId)),
    ],
    takeBackOwnClaims: async () => takeBackOwnClaims(store),
    isStoreReachable: isReachable,
    idle: queues.idle,
  };
};
