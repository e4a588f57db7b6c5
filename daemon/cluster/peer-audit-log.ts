// The audit log of another node.
import {actorToTell, auditAnswersOf, rankAnswer} from '../services/peer-hold-protocol.ts';
import type {AuditLog} from '../services/ports.ts';
import type {PeerClient} from './peer-client.ts';
import {look} from './peer-question.ts';

export const createPeerAuditLog = (client: PeerClient): AuditLog => {
  const answers = auditAnswersOf(client.nodeId);

  return {
    nodeId: client.nodeId,
    list: async (filter, page, actor) =>
      look(client, 'audit/list', {schema: answers.list, body: {actor: actorToTell(actor), filter, page}}),
    marks: async (filter, steps, actor) =>
      look(client, 'audit/marks', {schema: answers.marks, body: {actor: actorToTell(actor), filter, steps}}),
    async rank(filter, {at, node_id, seq}, actor) {
      const place = {at, node_id, seq};
      return (await look(client, 'audit/rank', {schema: rankAnswer, body: {actor: actorToTell(actor), filter, place}})).rank;
    },
  };
};
