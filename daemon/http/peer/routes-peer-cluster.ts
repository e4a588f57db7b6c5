// Routes between nodes: heartbeats, changes, joining and events.

import type {RouterMiddleware} from '@koa/router';
import {z} from 'zod';
import {Fault} from '../../../shared/fault.ts';
import type {NodeIdentity} from '../../services/actor.ts';
import {joinMessages} from '../../services/cluster/join-protocol.ts';
import type {JoinTokens} from '../../services/cluster/join-tokens.ts';
import type {Joining} from '../../services/cluster/joining.ts';
import type {Membership} from '../../services/cluster/membership.ts';
import {messages, type PeerMessage, type ReachAnswer, recordKeySchema} from '../../services/cluster/peer-protocol.ts';
import type {EventInbox, HeartbeatExchange, Replication} from '../../services/cluster/replication-ports.ts';
import {type GivenBatch, givenBatchSchema} from '../../services/dmarc/dmarc-questions.ts';
import type {BusEvent, EventBus} from '../../services/events/event-bus.ts';
import type {holdEventSchema} from '../../services/quarantine/hold-questions.ts';
import {validate, validateParameters} from '../../services/validate.ts';
import {createTextStream, reply, type TextStream} from '../answer.ts';
import {remoteAddressOf} from '../observe.ts';
import {peerJsonBody} from '../request-input.ts';
import {type PeerCtx, type PeerRouter, type PeerState, shownCertificateOf} from './peer-app.ts';

/** `first` comes before the body is read. */
export const routeMessage = <Asked extends z.ZodType | undefined, Answer extends z.ZodType>(
  router: PeerRouter,
  {at: {method, path}, request}: PeerMessage<Asked, Answer>,
  answer: (asked: Asked extends z.ZodType ? z.output<Asked> : undefined, ctx: PeerCtx) => Promise<z.input<Answer>>,
  ...first: RouterMiddleware<PeerState>[]
): void => {
  const read = request ? [...first, peerJsonBody] : first;
  router.register(
    `/${path}`,
    [method],
    [...read, async ctx => reply(ctx, await answer((request && validate(request, ctx.state.body)) as never, ctx))],
  );
};

interface LinkNeeds {
  membership: Pick<Membership, 'removedBy'>;
  nodeNo: number;
  exchange: HeartbeatExchange;
  /** See `Peers`. */
  reach(nodeNo: number): Promise<ReachAnswer>;
}

export const routePeerLinks =
  ({exchange, membership, nodeNo, reach}: LinkNeeds) =>
  (router: PeerRouter): void => {
    routeMessage(router, messages.heartbeat, async (heartbeat, {state}) => exchange.answer(state.peer, heartbeat));
    routeMessage(router, messages.stopping, async (_, {state}) => {
      exchange.receiveStop(state.peer);
      return null;
    });
    routeMessage(router, messages.reach, async (_, {state}) => reach(state.peer.nodeNo));
    routeMessage(router, messages.removed, async ({node_no}, {state}) => {
      if (node_no !== nodeNo) throw new Fault('validation_failed', `this is node number ${nodeNo}`);
      membership.removedBy(state.peer.nodeId);
      return null;
    });
  };

interface ReplicationNeeds {
  replication: Pick<Replication, 'recordsPage' | 'records' | 'digestsPage'>;
  inbox: Pick<EventInbox, 'receive'>;
}

export const routePeerReplication =
  ({replication, inbox}: ReplicationNeeds) =>
  (router: PeerRouter): void => {
    routeMessage(router, messages.events, async (events, {state}) => inbox.receive(state.peer, events));
    routeMessage(router, messages.recordsPage, async (_, ctx) => replication.recordsPage(afterOf(ctx)));
    routeMessage(router, messages.records, async ({keys}) => replication.records(keys));
    routeMessage(router, messages.digestsPage, async (_, ctx) => replication.digestsPage(afterOf(ctx)));
  };

const afterSchema = z.union([
  z.strictObject({}).transform(() => undefined),
  z.strictObject({kind: z.string(), id: z.coerce.number()}).pipe(recordKeySchema),
]);

const afterOf = (ctx: PeerCtx) => validateParameters(afterSchema, Object.fromEntries(new URLSearchParams(ctx.querystring)));

interface AdmissionNeeds {
  joining: Joining;
  /** The id of the token that contained a verified client certificate. */
  tokenIdIn(subjectAltName: string | undefined): string | undefined;
}

/** Open to every certificate of the authority, so the route itself checks that it belongs to a token. */
export const routePeerAdmission =
  ({joining, tokenIdIn}: AdmissionNeeds) =>
  (router: PeerRouter): void => {
    const tokenOf = (ctx: Pick<PeerCtx, 'req'>): string => {
      const tokenId = tokenIdIn(shownCertificateOf(ctx).subjectAltName);
      if (tokenId === undefined) throw new Fault('insufficient_scope', 'joining takes the certificate of a join token');
      return tokenId;
    };
    // Checked before the body is read.
    const requireToken: RouterMiddleware<PeerState> = async (ctx, next) => {
      await joining.requireToken(tokenOf(ctx));
      await next();
    };

    routeMessage(router, joinMessages.terms, async () => joining.terms(), requireToken);
    routeMessage(
      router,
      joinMessages.join,
      async (request, ctx) => joining.admit({tokenId: tokenOf(ctx), remoteAddress: remoteAddressOf(ctx.req)}, request),
      requireToken,
    );
  };

interface TrustNeeds {
  joinTokens: JoinTokens;
  joining: Joining;
  /** The names and addresses in a verified client certificate. */
  hostsIn(subjectAltName: string | undefined): string[];
}

export const routePeerTrust =
  ({joinTokens, joining, hostsIn}: TrustNeeds) =>
  (router: PeerRouter): void => {
    routeMessage(router, joinMessages.tokens, async (order, {state}) => joinTokens.createFor(state.peer, order));
    routeMessage(router, joinMessages.certificates, async (requests, ctx) => {
      const {subjectAltName, endMs} = shownCertificateOf(ctx);
      const shown = {given: hostsIn(subjectAltName), endMs, remoteAddress: remoteAddressOf(ctx.req)};
      return joining.renew({...ctx.state.peer, ...shown}, requests);
    });
  };

/** Nodes of 0.8 give the counts for a report to the node that sends it. */
export const routeGivenCounts =
  ({take}: {take(origin: NodeIdentity, given: GivenBatch): Promise<void>}) =>
  (router: PeerRouter): void => {
    router.post('/dmarc/counts', peerJsonBody, async ctx => {
      await take(ctx.state.peer, validate(givenBatchSchema, ctx.state.body));
      reply(ctx, null);
    });
  };

/** Well below the time after which the other end takes the stream for dead. */
const pingMs = 5000;

export const routePeerEvents =
  ({bus}: {bus: EventBus}) =>
  (router: PeerRouter): void => {
    /** One stream for each peer: a new request replaces the old stream, which the peer has lost. */
    const open = new Map<number, TextStream>();

    router.get('/hold-events', async ctx => {
      const {nodeNo} = ctx.state.peer;
      const stream = createTextStream();
      open.get(nodeNo)?.end();
      open.set(nodeNo, stream);
      const unsubscribe = bus.subscribe(event => {
        const line = toLine(event);
        if (line) stream.send(`${JSON.stringify(line)}\n`);
      }, stream.end);
      const ping = setInterval(() => stream.send('\n'), pingMs).unref();
      stream.onClose(() => {
        unsubscribe();
        clearInterval(ping);
        if (open.get(nodeNo) === stream) open.delete(nodeNo);
      });
      ctx.status = 200;
      ctx.set('Content-Type', 'application/x-ndjson');
      ctx.body = stream.body;
      stream.send('\n');
    });
  };

/** Only hold events: every node publishes events of domains, keys and health itself. */
const toLine = ({id, isLogged, domainId, event}: BusEvent): z.input<typeof holdEventSchema> | undefined => {
  if (domainId === undefined) return undefined;
  if (event.type !== 'held' && event.type !== 'released' && event.type !== 'discarded') return undefined;
  return {id, domain_id: domainId, is_logged: isLogged, event};
};
