// Data of another node, requested over mutual TLS: its hold queue and its audit log on behalf of a caller, and its records.

import {z} from 'zod';
import {Fault, type FaultCode} from '../../shared/fault.ts';
import type {HoldAction} from '../../shared/held-mail.ts';
import type {Page} from '../../shared/hold-filter.ts';
import {type Actor, actorToRelay} from '../services/actor.ts';
import {changeSchema, digestsPageSchema} from '../services/cluster/peer-protocol.ts';
import type {RemoteRecords} from '../services/cluster/replication-ports.ts';
import type {DmarcNode} from '../services/dmarc/dmarc-view.ts';
import {dmarcAnswersOf, withAllTags} from '../services/dmarc/peer-dmarc-protocol.ts';
import type {ReportedNode} from '../services/dmarc/reported-view.ts';
import type {Steps} from '../services/peers/merged-list.ts';
import type {AuditLog} from '../services/ports.ts';
import {auditAnswersOf, holdAnswersOf, positionAnswer} from '../services/quarantine/peer-hold-protocol.ts';
import type {HoldQueue} from '../services/quarantine/stored-mail.ts';
import type {PeerClient} from './peer-client.ts';
import type {PeerRequest} from './peer-request.ts';
import type {Peer} from './peers.ts';

/** For an answer that the peer only has to look up. */
const lookUpMs = 2000;
/** Longer than a caller waits, see `../services/quarantine/gather.ts`. */
const actionMs = 15_000;
/** Each action is a separate request. */
const actsAtOnce = 64;

export const createPeerHoldQueue = (client: PeerClient): HoldQueue => {
  const {nodeId} = client;
  const answers = holdAnswersOf(nodeId);

  return {
    nodeId,
    actsAtOnce,
    ...createPeerPart(client, 'hold', answers),
    summary: async (filter, actor) => read(client, answers.summary, lookUp('hold/summary', {actor, filter})),
    get: async (queueId, actor) => read(client, answers.mail, lookUp('hold/get', {actor, queue_id: queueId})),

    async body(queueId, actor) {
      const request = lookUp('hold/body', {actor, queue_id: queueId});
      const {sizeBytes, stream} = await translateReadFaults(client, async () => client.stream(request));
      if (sizeBytes !== undefined) return {sizeBytes, stream};
      stream.destroy();
      throw unreachable(`node ${nodeId} does not say how long the mail is; try again later`);
    },

    /** Without an answer it rejects with `outcome_unknown`: the action may have been done. */
    async act(action, queueId, actor) {
      const request = lookUp('hold/act', {actor, queue_id: queueId, action});
      return translateFaults(client, [...forCallers, ...ofActions[action]], async () =>
        client.ask(answers.outcome, {...request, deadlineMs: actionMs, isAnnounced: true}),
      );
    },
  };
};

export const createPeerAuditLog = (client: PeerClient): AuditLog => ({
  nodeId: client.nodeId,
  ...createPeerPart(client, 'audit', auditAnswersOf(client.nodeId)),
});

export const createPeerDmarc = ({nodeNo, client}: Peer): DmarcNode & ReportedNode => {
  const answers = dmarcAnswersOf(client.nodeId);
  return {
    nodeId: client.nodeId,
    summary: async (choice, actor) => read(client, answers.summary, lookUp('dmarc/summary', {actor, ...choice})),
    reports: async (limit, actor) => read(client, answers.reports, lookUp('dmarc/reports', {actor, limit})),
    reported: async (choice, actor) => read(client, answers.reported, lookUp('dmarc/reported', {actor, ...choice})),
    async counts(subject, actor) {
      const counts = await read(client, answers.preview, lookUp('dmarc/preview', {actor, ...subject}));
      return counts.map(count => ({...withAllTags(count), origin: nodeNo}));
    },
  };
};

/** Another node's part of a list that is merged from many, see `readMerged`. */
const createPeerPart = <L extends z.ZodType, M extends z.ZodType>(
  client: PeerClient,
  path: string,
  answers: {list: L; marks: M},
) => ({
  list: async (filter: object, page: Page, actor: Actor) =>
    read(client, answers.list, lookUp(`${path}/list`, {actor, filter, page})),
  samples: async (filter: object, steps: Steps, actor: Actor) =>
    read(client, answers.marks, lookUp(`${path}/marks`, {actor, filter, steps})),
  positionOf: async (filter: object, cursor: object, actor: Actor) =>
    (await read(client, positionAnswer, lookUp(`${path}/rank`, {actor, filter, place: cursor}))).rank,
});

const lookUp = (path: string, {actor, ...body}: {actor: Actor; [member: string]: unknown}): PeerRequest => ({
  method: 'POST',
  path,
  body: {actor: actorToRelay(actor), ...body},
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

/** Sends a request that changes nothing. */
const read = async <S extends z.ZodType>(client: PeerClient, schema: S, request: PeerRequest) =>
  translateReadFaults(client, async () => client.ask(schema, request));

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
