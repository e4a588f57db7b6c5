// This node's own hold queue and audit log, for the callers of other nodes. Nothing here asks anybody else.

import type {PeerActors} from '../services/peer-actors.ts';
import {
  auditListRequest,
  auditMarksRequest,
  auditRankRequest,
  heldMailRequest,
  holdActRequest,
  holdListRequest,
  holdMarksRequest,
  holdRankRequest,
  holdSummaryRequest,
} from '../services/peer-hold-protocol.ts';
import type {AuditLog, HoldQueue} from '../services/ports.ts';
import {validate} from '../services/validate.ts';
import {reply} from './answer.ts';
import {peerJsonBody} from './json-body.ts';
import type {PeerRouter} from './peer-app.ts';

interface Needs {
  queue: HoldQueue;
  auditLog: AuditLog;
  actors: PeerActors;
}

export const routePeerHold =
  ({queue, auditLog, actors}: Needs) =>
  (router: PeerRouter): void => {
    router.post('/hold/list', peerJsonBody, async ctx => {
      const {actor, filter, page} = validate(holdListRequest, ctx.state.body);
      reply(ctx, await queue.list(filter, page, await actors.admit(actor, 'quarantine:read')));
    });

    router.post('/hold/marks', peerJsonBody, async ctx => {
      const {actor, filter, steps} = validate(holdMarksRequest, ctx.state.body);
      reply(ctx, await queue.marks(filter, steps, await actors.admit(actor, 'quarantine:read')));
    });

    router.post('/hold/rank', peerJsonBody, async ctx => {
      const {actor, filter, place} = validate(holdRankRequest, ctx.state.body);
      reply(ctx, {rank: await queue.rank(filter, place, await actors.admit(actor, 'quarantine:read'))});
    });

    router.post('/hold/summary', peerJsonBody, async ctx => {
      const {actor, filter} = validate(holdSummaryRequest, ctx.state.body);
      reply(ctx, await queue.summary(filter, await actors.admit(actor, 'quarantine:read')));
    });

    router.post('/hold/get', peerJsonBody, async ctx => {
      const {actor, queue_id} = validate(heldMailRequest, ctx.state.body);
      reply(ctx, await queue.get(queue_id, await actors.admit(actor, 'quarantine:read')));
    });

    router.post('/hold/body', peerJsonBody, async ctx => {
      const {actor, queue_id} = validate(heldMailRequest, ctx.state.body);
      const {sizeBytes, stream} = await queue.body(queue_id, await actors.admit(actor, 'quarantine:read'));
      ctx.status = 200;
      ctx.body = stream;
      ctx.set({'Content-Type': 'text/rfc822', 'Content-Length': String(sizeBytes)});
    });

    router.post('/hold/act', peerJsonBody, async ctx => {
      const {actor, queue_id, action} = validate(holdActRequest, ctx.state.body);
      reply(ctx, await queue.act(action, queue_id, await actors.admit(actor, 'quarantine:act')));
    });

    router.post('/audit/list', peerJsonBody, async ctx => {
      const {actor, filter, page} = validate(auditListRequest, ctx.state.body);
      reply(ctx, await auditLog.list(filter, page, await actors.admit(actor, 'audit:read')));
    });

    router.post('/audit/marks', peerJsonBody, async ctx => {
      const {actor, filter, steps} = validate(auditMarksRequest, ctx.state.body);
      reply(ctx, await auditLog.marks(filter, steps, await actors.admit(actor, 'audit:read')));
    });

    router.post('/audit/rank', peerJsonBody, async ctx => {
      const {actor, filter, place} = validate(auditRankRequest, ctx.state.body);
      reply(ctx, {rank: await auditLog.rank(filter, place, await actors.admit(actor, 'audit:read'))});
    });
  };
