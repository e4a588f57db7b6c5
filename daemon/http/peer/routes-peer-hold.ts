// This node's own hold queue and audit log, for the callers of other nodes. Nothing here asks anybody else.

import type {z} from 'zod';
import type {Page} from '../../../shared/hold-filter.ts';
import type {Permission} from '../../../shared/scopes.ts';
import type {Actor, NodeIdentity, PeerActors, RelayedActor} from '../../services/actor.ts';
import type {Steps} from '../../services/peers/merged-list.ts';
import type {AuditLog} from '../../services/ports.ts';
import {
  auditRequests,
  heldMailRequest,
  holdActRequest,
  holdRequests,
  holdSummaryRequest,
} from '../../services/quarantine/peer-hold-protocol.ts';
import type {HoldQueue} from '../../services/quarantine/stored-mail.ts';
import {validate} from '../../services/validate.ts';
import {reply} from '../answer.ts';
import {peerJsonBody} from '../request-input.ts';
import type {PeerRouter} from './peer-app.ts';

interface Needs {
  queue: HoldQueue;
  auditLog: AuditLog;
  actors: PeerActors;
}

export const routePeerHold =
  ({queue, auditLog, actors}: Needs) =>
  (router: PeerRouter): void => {
    routePart(router, {path: '/hold', part: queue, requests: holdRequests, admit: admitFor(actors, 'quarantine:read')});
    routePart(router, {path: '/audit', part: auditLog, requests: auditRequests, admit: admitFor(actors, 'audit:read')});

    router.post('/hold/summary', peerJsonBody, async ctx => {
      const {actor, filter} = validate(holdSummaryRequest, ctx.state.body);
      reply(ctx, await queue.summary(filter, await actors.admit(actor, 'quarantine:read', ctx.state.peer)));
    });

    router.post('/hold/get', peerJsonBody, async ctx => {
      const {actor, queue_id} = validate(heldMailRequest, ctx.state.body);
      reply(ctx, await queue.get(queue_id, await actors.admit(actor, 'quarantine:read', ctx.state.peer)));
    });

    router.post('/hold/body', peerJsonBody, async ctx => {
      const {actor, queue_id} = validate(heldMailRequest, ctx.state.body);
      const {sizeBytes, stream} = await queue.body(queue_id, await actors.admit(actor, 'quarantine:read', ctx.state.peer));
      ctx.status = 200;
      ctx.body = stream;
      ctx.set({'Content-Type': 'text/rfc822', 'Content-Length': String(sizeBytes)});
    });

    router.post('/hold/act', peerJsonBody, async ctx => {
      const {actor, queue_id, action} = validate(holdActRequest, ctx.state.body);
      reply(ctx, await queue.act(action, queue_id, await actors.admit(actor, 'quarantine:act', ctx.state.peer)));
    });
  };

/** One node's part of a list that is merged from many. */
interface ListPart<F, C> {
  list(filter: F, page: Page, actor: Actor): Promise<unknown>;
  samples(filter: F, steps: Steps, actor: Actor): Promise<unknown>;
  positionOf(filter: F, cursor: C, actor: Actor): Promise<number>;
}

interface PartNeeds<F, C> {
  path: string;
  part: ListPart<F, C>;
  requests: {
    list: z.ZodType<{actor: RelayedActor; filter: F; page: Page}>;
    marks: z.ZodType<{actor: RelayedActor; filter: F; steps: Steps}>;
    rank: z.ZodType<{actor: RelayedActor; filter: F; place: C}>;
  };
  admit(told: RelayedActor, relay: NodeIdentity): Promise<Actor>;
}

const routePart = <F, C>(router: PeerRouter, {path, part, requests, admit}: PartNeeds<F, C>): void => {
  router.post(`${path}/list`, peerJsonBody, async ctx => {
    const {actor, filter, page} = validate(requests.list, ctx.state.body);
    reply(ctx, await part.list(filter, page, await admit(actor, ctx.state.peer)));
  });

  router.post(`${path}/marks`, peerJsonBody, async ctx => {
    const {actor, filter, steps} = validate(requests.marks, ctx.state.body);
    reply(ctx, await part.samples(filter, steps, await admit(actor, ctx.state.peer)));
  });

  router.post(`${path}/rank`, peerJsonBody, async ctx => {
    const {actor, filter, place} = validate(requests.rank, ctx.state.body);
    reply(ctx, {rank: await part.positionOf(filter, place, await admit(actor, ctx.state.peer))});
  });
};

const admitFor =
  (actors: PeerActors, permission: Permission) =>
  async (told: RelayedActor, relay: NodeIdentity): Promise<Actor> =>
    actors.admit(told, permission, relay);
