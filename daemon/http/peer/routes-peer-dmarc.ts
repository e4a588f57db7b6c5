// DMARC counts and reports of this node, for other nodes and their callers.
import type {NodeIdentity} from '../../services/access/actor.ts';
import type {PeerActors} from '../../services/cluster/peer-actors.ts';
import type {DmarcNode} from '../../services/dmarc/dmarc-view.ts';
import {dmarcRequests, type GivenBatch, givenBatchSchema} from '../../services/dmarc/peer-dmarc-protocol.ts';
import type {ReportedNode} from '../../services/dmarc/reported-view.ts';
import {validate} from '../../services/validate.ts';
import {reply} from '../answer.ts';
import {peerJsonBody} from '../request-input.ts';
import type {PeerRouter} from './peer-app.ts';

interface Needs {
  dmarc: {own: DmarcNode & ReportedNode; take(origin: NodeIdentity, given: GivenBatch): Promise<void>};
  actors: PeerActors;
}

export const routePeerDmarc =
  ({dmarc, actors}: Needs) =>
  (router: PeerRouter): void => {
    /** A node gives the counts for a report to the node that sends it. */
    router.post('/dmarc/counts', peerJsonBody, async ctx => {
      await dmarc.take(ctx.state.peer, validate(givenBatchSchema, ctx.state.body));
      reply(ctx, null);
    });

    router.post('/dmarc/summary', peerJsonBody, async ctx => {
      const {actor, ...choice} = validate(dmarcRequests.summary, ctx.state.body);
      reply(ctx, await dmarc.own.summary(choice, await actors.admit(actor, 'domains:read', ctx.state.peer)));
    });

    router.post('/dmarc/reports', peerJsonBody, async ctx => {
      const {actor, limit} = validate(dmarcRequests.reports, ctx.state.body);
      reply(ctx, await dmarc.own.reports(limit, await actors.admit(actor, 'audit:read', ctx.state.peer)));
    });

    router.post('/dmarc/reported', peerJsonBody, async ctx => {
      const {actor, ...choice} = validate(dmarcRequests.reported, ctx.state.body);
      reply(ctx, await dmarc.own.reported(choice, await actors.admit(actor, 'domains:read', ctx.state.peer)));
    });

    router.post('/dmarc/preview', peerJsonBody, async ctx => {
      const {actor, ...subject} = validate(dmarcRequests.preview, ctx.state.body);
      reply(ctx, await dmarc.own.counts(subject, await actors.admit(actor, 'audit:read', ctx.state.peer)));
    });
  };
