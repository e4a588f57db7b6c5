// Data of another node, requested over mutual TLS: its hold queue and its audit log on behalf of a caller, and its records.

import type {z} from 'zod';
import {Fault, type FaultCode} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import {type Actor, actorToRelay} from '../services/actor.ts';
import {afterRecord, messages} from '../services/cluster/peer-protocol.ts';
import type {RemoteRecords} from '../services/cluster/replication-ports.ts';
import {type AskedNode, remoteList} from '../services/peers/question.ts';
import {bodyQuestion, holdListQuestions, holdQuestions} from '../services/quarantine/hold-questions.ts';
import type {ListedQueue} from '../services/quarantine/stored-mail.ts';
import type {PeerClient} from './peer-client.ts';
import type {PeerRequest} from './peer-request.ts';
import type {Peer} from './peers.ts';

/** For an answer that the peer only has to look up. */
const lookUpMs = 2000;
/** Longer than a caller waits, see `../services/peers/gather.ts`. */
const actionMs = 15_000;
/** Each action is a separate request. */
const actsAtOnce = 64;

export const createPeerHoldQueue = (client: PeerClient, node: AskedNode): ListedQueue => {
  const {nodeId, ask} = node;
  const outcome = holdQuestions.act.answer(nodeId);

  /** Not found is the mail, or the path on a node of an earlier version, which gets the `fault` that it does not know it. */
  const askNewPath = async <T>(asked: Promise<T>, queueId: string, actor: Actor, fault: Fault): Promise<T> =>
    asked.catch(async error => {
      if (!(error instanceof Fault) || error.code !== 'not_found') throw error;
      await ask(holdQuestions.get, {queue_id: queueId}, actor);
      throw fault;
    });

  return {
    nodeId,
    actsAtOnce,
    ...remoteList(node, holdListQuestions),
    summary: async (filter, actor) => ask(holdQuestions.summary, {filter}, actor),
    get: async (queueId, actor) => ask(holdQuestions.get, {queue_id: queueId}, actor),

    async body(queueId, actor) {
      const request = lookUp(bodyQuestion.path, {queue_id: queueId}, actor);
      const {sizeBytes, stream} = await translateReadFaults(client, async () => client.stream(request));
      if (sizeBytes !== undefined) return {sizeBytes, stream};
      stream.destroy();
      throw unreachable(`node ${nodeId} does not say how long the mail is; try again later`);
    },

    /** Without an answer it rejects with `outcome_unknown`: the action may have been done. */
    async act(action, queueId, actor, recipients) {
      const {path} = recipients ? holdQuestions.actForSome : holdQuestions.act;
      const request = lookUp(path, {queue_id: queueId, action, recipients}, actor);
      const codes = [...forCallers, ...ofActions[action], ...(recipients ? ofRecipients : [])];
      const asked = translateFaults(client, codes, async () =>
        client.ask(outcome, {...request, deadlineMs: actionMs, isAnnounced: true}),
      );
      return recipients ? askNewPath(asked, queueId, actor, wholeOnly(nodeId)) : asked;
    },

    async train(as, queueId, actor) {
      const {path, answer} = holdQuestions.train;
      const request = lookUp(path, {queue_id: queueId, as}, actor);
      const asked = translateFaults(client, [...forCallers, 'conflict'], async () =>
        client.ask(answer(nodeId), {...request, deadlineMs: actionMs, isAnnounced: true}),
      );
      const fault = `node ${nodeId} runs a version that cannot train; nothing was learned, update it first`;
      return askNewPath(asked, queueId, actor, new Fault('conflict', fault));
    },
  };
};

/** Asks a peer on behalf of callers. */
export const askedNode = (client: PeerClient): AskedNode => {
  const {nodeId} = client;
  /** By path. Making a schema takes longer than checking an answer with it. */
  const answers = new Map<string, z.ZodType>();
  return {
    nodeId,
    async ask({path, answer}, request, actor) {
      const schema = (answers.get(path) as ReturnType<typeof answer> | undefined) ?? answer(nodeId);
      answers.set(path, schema);
      return translateReadFaults(client, async () => client.ask(schema, lookUp(path, request, actor)));
    },
  };
};

const lookUp = (path: string, request: object, actor: Actor): PeerRequest => ({
  method: 'POST',
  path,
  body: {actor: actorToRelay(actor), ...request},
  deadlineMs: lookUpMs,
  isForCaller: true,
});

/** Fault codes of the mail's owner that are passed to the caller. All others concern the two nodes only. */
const forCallers: FaultCode[] = [
  'key_invalid',
  'key_revoked',
  'key_expired',
  'not_found',
  'unavailable',
  'node_unreachable',
  'outcome_unknown',
];
/** Further codes that only an action can cause. */
const ofActions: Record<HoldAction, FaultCode[]> = {release: ['conflict', 'delivery_failed'], discard: ['conflict']};
/** That of one who is no recipient. Without recipients it is of a node of an earlier version, which does not understand the caller. */
const ofRecipients: FaultCode[] = ['validation_failed'];

const wholeOnly = (nodeId: string): Fault =>
  new Fault(
    'unavailable',
    `node ${nodeId} runs an earlier version, which acts for all recipients of a mail; nothing was done, update that node first`,
  );

/** Without an answer it rejects with `node_unreachable`: nothing can have been done. */
const translateReadFaults = async <T>(client: PeerClient, question: () => Promise<T>): Promise<T> =>
  translateFaults(client, forCallers, question).catch(error => {
    if (error instanceof Fault && error.code === 'outcome_unknown')
      throw unreachable(`node ${client.nodeId} did not answer; try again later`, error);
    throw error;
  });

const translateFaults = async <T>(client: PeerClient, passed: readonly FaultCode[], question: () => Promise<T>): Promise<T> => {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof Fault) || passed.includes(error.code)) throw error;
    throw unreachable(`node ${client.nodeId} does not take requests from this one; nothing was done`, error);
  }
};

const unreachable = (detail: string, cause?: Fault): Fault =>
  new Fault('node_unreachable', detail, {cause, retryAfterSeconds: 5});

const deadlineMs = 10_000;

/** Records of a peer, for comparison with those of this node. */
export const remoteRecords = ({nodeNo, nodeId, client}: Peer): RemoteRecords => {
  const {digestsPage, records} = messages;
  return {
    nodeNo,
    nodeId,
    digestsPage: async after =>
      client.ask(digestsPage.answer, {...digestsPage.at, path: digestsPage.at.path + afterRecord(after), deadlineMs}),
    records: async keys => client.ask(records.answer, {...records.at, body: {keys}, deadlineMs}),
  };
};
