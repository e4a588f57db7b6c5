// Data of another node, requested over mutual TLS: its hold queue and its audit log on behalf of a caller, and its records.

import type {z} from 'zod';
import {Fault, type FaultCode} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {Page} from '../../shared/hold-filter.ts';
import {type Actor, actorToRelay} from '../services/actor.ts';
import {auditQuestions} from '../services/audit/audit-questions.ts';
import {afterRecord, messages} from '../services/cluster/peer-protocol.ts';
import type {RemoteRecords} from '../services/cluster/replication-ports.ts';
import {dmarcQuestions, reportedQuestion, withAllTags} from '../services/dmarc/dmarc-questions.ts';
import type {DmarcNode} from '../services/dmarc/dmarc-view.ts';
import type {ReportedNode} from '../services/dmarc/reported-view.ts';
import type {Steps} from '../services/peers/merged-list.ts';
import type {ListQuestions, Question} from '../services/peers/question.ts';
import type {AuditLog} from '../services/ports.ts';
import {bodyQuestion, holdListQuestions, holdQuestions} from '../services/quarantine/hold-questions.ts';
import type {ListedQueue} from '../services/quarantine/stored-mail.ts';
import type {PeerClient} from './peer-client.ts';
import type {PeerRequest} from './peer-request.ts';
import type {Peer} from './peers.ts';

/** For an answer that the peer only has to look up. */
const lookUpMs = 2000;
/** Longer than a caller waits, see `../services/quarantine/gather.ts`. */
const actionMs = 15_000;
/** Each action is a separate request. */
const actsAtOnce = 64;

export const createPeerHoldQueue = (client: PeerClient): ListedQueue => {
  const {nodeId} = client;
  const ask = createAsk(client);

  return {
    nodeId,
    actsAtOnce,
    ...createPeerPart(ask, holdListQuestions),
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
    async act(action, queueId, actor) {
      const {path, answer} = holdQuestions.act;
      const request = lookUp(path, {queue_id: queueId, action}, actor);
      return translateFaults(client, [...forCallers, ...ofActions[action]], async () =>
        client.ask(answer(nodeId), {...request, deadlineMs: actionMs, isAnnounced: true}),
      );
    },
  };
};

export const createPeerAuditLog = (client: PeerClient): AuditLog => ({
  nodeId: client.nodeId,
  ...createPeerPart(createAsk(client), auditQuestions),
});

export const createPeerDmarc = ({nodeNo, client}: Peer): DmarcNode & ReportedNode => {
  const ask = createAsk(client);
  return {
    nodeId: client.nodeId,
    summary: async (choice, actor) => ask(dmarcQuestions.summary, choice, actor),
    reports: async (limit, actor) => ask(dmarcQuestions.reports, {limit}, actor),
    reported: async (choice, actor) => ask(reportedQuestion, {...choice, without: [...choice.without]}, actor),
    async counts(subject, actor) {
      const counts = await ask(dmarcQuestions.counts, subject, actor);
      return counts.map(count => ({...withAllTags(count), origin: nodeNo}));
    },
  };
};

/** Asks a peer what changes nothing. */
type Ask = <Asked extends z.ZodObject, Answer extends z.ZodType>(
  question: Question<never, Asked, Answer>,
  request: z.input<Asked>,
  actor: Actor,
) => Promise<z.output<Answer>>;

const createAsk = (client: PeerClient): Ask => {
  /** By path. Making a schema takes longer than checking an answer with it. */
  const answers = new Map<string, z.ZodType>();
  return async <Asked extends z.ZodObject, Answer extends z.ZodType>(
    {path, answer}: Question<never, Asked, Answer>,
    request: z.input<Asked>,
    actor: Actor,
  ) => {
    const schema = (answers.get(path) as Answer | undefined) ?? answer(client.nodeId);
    answers.set(path, schema);
    return translateReadFaults(client, async () => client.ask(schema, lookUp(path, request, actor)));
  };
};

/** Another node's part of a list that is merged from many, see `readMerged`. */
const createPeerPart = <F, C, Answer extends z.ZodType>(ask: Ask, questions: ListQuestions<F, C, Answer>) => ({
  list: async (filter: F, page: Page, actor: Actor) => ask(questions.list, {filter, page}, actor),
  samples: async (filter: F, steps: Steps, actor: Actor) => ask(questions.samples, {filter, steps}, actor),
  positionOf: async (filter: F, cursor: C, actor: Actor) =>
    (await ask(questions.positionOf, {filter, place: cursor}, actor)).rank,
});

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
