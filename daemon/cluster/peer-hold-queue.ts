// Hold queue of another node: forwards requests on behalf of a caller.

import type {HoldFilter} from '../../shared/hold-filter.ts';
import type {HoldCursor, HoldQueue} from '../services/quarantine/hold-queue-port.ts';
import {actorToRelay, holdAnswersOf} from '../services/quarantine/peer-hold-protocol.ts';
import type {PeerClient} from './peer-client.ts';
import {act, actionMs, askPart, openStream, read, unreachable} from './peer-question.ts';

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
