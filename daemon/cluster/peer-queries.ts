// Data of another node, requested over mutual TLS: its hold queue, its audit log and its records.

import {z} from 'zod';
import type {HoldFilter} from '../../shared/hold-filter.ts';
import {changeSchema, digestsPageSchema} from '../services/cluster/peer-protocol.ts';
import type {RemoteRecords} from '../services/cluster/replication-ports.ts';
import type {AuditCursor, AuditFilter, AuditLog} from '../services/ports.ts';
import {actorToRelay, auditAnswersOf, holdAnswersOf} from '../services/quarantine/peer-hold-protocol.ts';
import type {HoldCursor, HoldQueue} from '../services/quarantine/stored-mail.ts';
import type {PeerClient} from './peer-client.ts';
import {act, actionMs, askPart, openStream, read, unreachable} from './peer-question.ts';
import type {Peer} from './peers.ts';

/** Each action is a separate request. */
const actsAtOnce = 64;

export const createPeerHoldQueue = (client: PeerClient): HoldQueue => {
  const {nodeId} = client;
  const answers = holdAnswersOf(nodeId);

  return {
    nodeId,
    actsAtOnce,
    ...askPart<HoldFilter, HoldCursor, typeof answers.list, typeof answers.marks>(client, {
      path: 'hold',
      list: answers.list,
      samples: answers.marks,
    }),
    summary: async (filter, actor) =>
      read(client, 'hold/summary', {schema: answers.summary, body: {actor: actorToRelay(actor), filter}}),
    get: async (queueId, actor) =>
      read(client, 'hold/get', {schema: answers.mail, body: {actor: actorToRelay(actor), queue_id: queueId}}),

    async body(queueId, actor) {
      const {sizeBytes, stream} = await openStream(client, 'hold/body', {actor: actorToRelay(actor), queue_id: queueId});
      if (sizeBytes !== undefined) return {sizeBytes, stream};
      stream.destroy();
      throw unreachable(`node ${nodeId} does not say how long the mail is; try again later`);
    },

    act: async (action, queueId, actor) =>
      act(client, action, async () =>
        client.ask(answers.outcome, {
          method: 'POST',
          path: 'hold/act',
          body: {actor: actorToRelay(actor), queue_id: queueId, action},
          deadlineMs: actionMs,
          isForCaller: true,
          isAnnounced: true,
        }),
      ),
  };
};

export const createPeerAuditLog = (client: PeerClient): AuditLog => {
  const answers = auditAnswersOf(client.nodeId);
  return {
    nodeId: client.nodeId,
    ...askPart<AuditFilter, AuditCursor, typeof answers.list, typeof answers.marks>(client, {
      path: 'audit',
      list: answers.list,
      samples: answers.marks,
    }),
  };
};

const deadlineMs = 10_000;

/** Records of a peer, for comparison with those of this node. */
export const remoteRecords = ({nodeNo, nodeId, client}: Peer): RemoteRecords => ({
  nodeNo,
  nodeId,
  digestsPage: async after =>
    client.ask(digestsPageSchema, {
      method: 'GET',
      path: `digests${after ? `?kind=${after.kind}&id=${after.id}` : ''}`,
      deadlineMs,
    }),
  records: async keys => client.ask(z.array(changeSchema), {method: 'POST', path: 'records', body: {keys}, deadlineMs}),
});
