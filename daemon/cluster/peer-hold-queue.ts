// The hold queue of another node, as the cluster sees it: what is asked of it goes there, for the caller it is asked for.
import {actorToTell, holdAnswersOf, rankAnswer} from '../services/peer-hold-protocol.ts';
import type {HoldQueue} from '../services/ports.ts';
import type {PeerClient} from './peer-client.ts';
import {actionMs, look, lookAtStream, translating, unreachable} from './peer-question.ts';

export const createPeerHoldQueue = (client: PeerClient): HoldQueue => {
  const {nodeId} = client;
  const answers = holdAnswersOf(nodeId);

  return {
    nodeId,
    list: async (filter, page, actor) =>
      look(client, 'hold/list', {schema: answers.list, body: {actor: actorToTell(actor), filter, page}}),
    marks: async (filter, steps, actor) =>
      look(client, 'hold/marks', {schema: answers.marks, body: {actor: actorToTell(actor), filter, steps}}),
    async rank(filter, {arrived_at, node_id, queue_id}, actor) {
      const place = {arrived_at, node_id, queue_id};
      return (await look(client, 'hold/rank', {schema: rankAnswer, body: {actor: actorToTell(actor), filter, place}})).rank;
    },
    summary: async (filter, actor) =>
      look(client, 'hold/summary', {schema: answers.summary, body: {actor: actorToTell(actor), filter}}),
    get: async (queueId, actor) =>
      look(client, 'hold/get', {schema: answers.mail, body: {actor: actorToTell(actor), queue_id: queueId}}),

    async body(queueId, actor) {
      const {sizeBytes, stream} = await lookAtStream(client, 'hold/body', {actor: actorToTell(actor), queue_id: queueId});
      if (sizeBytes !== undefined) return {sizeBytes, stream};
      stream.destroy();
      throw unreachable(`node ${nodeId} does not say how long the mail is; try again later`);
    },

    act: async (action, queueId, actor) =>
      translating(client, async () =>
        client.ask(answers.outcome, {
          method: 'POST',
          path: 'hold/act',
          body: {actor: actorToTell(actor), queue_id: queueId, action},
          deadlineMs: actionMs,
          isForCaller: true,
        }),
      ),
  };
};
