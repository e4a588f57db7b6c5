// Routes between nodes for heartbeats and changes.

import {z} from 'zod';
import {Fault} from '../../../shared/fault.ts';
import type {Membership} from '../../services/cluster/membership.ts';
import {
  eventsRequestSchema,
  heartbeatSchema,
  recordKeySchema,
  recordsRequestSchema,
  removedSchema,
} from '../../services/cluster/peer-protocol.ts';
import type {HeartbeatExchange, Replication} from '../../services/cluster/replication-ports.ts';
import {validate, validateParameters} from '../../services/validate.ts';
import {reply} from '../answer.ts';
import {peerJsonBody} from '../json-body.ts';
import type {PeerCtx, PeerRouter} from './peer-app.ts';

interface Needs {
  membership: Pick<Membership, 'removedBy'>;
  nodeNo: number;
  replication: Replication;
  exchange: HeartbeatExchange;
  /** See `Peers`. */
  reach(nodeNo: number): Promise<object>;
}

export const routePeerCluster =
  ({replication, exchange, membership, nodeNo, reach}: Needs) =>
  (router: PeerRouter): void => {
    router.post('/heartbeat', peerJsonBody, async ctx => {
      reply(ctx, await exchange.answer(ctx.state.peer, validate(heartbeatSchema, ctx.state.body)));
    });

    router.post('/events', peerJsonBody, async ctx => {
      reply(ctx, await exchange.receiveEvents(ctx.state.peer, validate(eventsRequestSchema, ctx.state.body)));
    });

    router.post('/stopping', async ctx => {
      exchange.receiveStop(ctx.state.peer);
      reply(ctx, null);
    });

    router.post('/reach', async ctx => {
      reply(ctx, await reach(ctx.state.peer.nodeNo));
    });

    router.post('/removed', peerJsonBody, async ctx => {
      const {node_no} = validate(removedSchema, ctx.state.body);
      if (node_no !== nodeNo) throw new Fault('validation_failed', `this is node number ${nodeNo}`);
      membership.removedBy(ctx.state.peer.nodeId);
      reply(ctx, null);
    });

    router.get('/records', async ctx => {
      reply(ctx, await replication.recordsPage(afterOf(ctx)));
    });

    router.post('/records', peerJsonBody, async ctx => {
      reply(ctx, await replication.records(validate(recordsRequestSchema, ctx.state.body).keys));
    });

    router.get('/digests', async ctx => {
      reply(ctx, await replication.digestsPage(afterOf(ctx)));
    });
  };

const afterSchema = z.union([
  z.strictObject({}).transform(() => undefined),
  z.strictObject({kind: z.string(), id: z.coerce.number()}).pipe(recordKeySchema),
]);

const afterOf = (ctx: PeerCtx) => validateParameters(afterSchema, Object.fromEntries(new URLSearchParams(ctx.querystring)));
