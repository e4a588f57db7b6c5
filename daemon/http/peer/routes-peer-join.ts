// Routes between nodes for tokens, admission and certificates.
import type {RouterMiddleware} from '@koa/router';
import {Fault} from '../../../shared/fault.ts';
import {certificateRequestsSchema, joinRequestSchema} from '../../services/cluster/join-protocol.ts';
import type {JoinTokens} from '../../services/cluster/join-tokens.ts';
import type {Joining} from '../../services/cluster/joining.ts';
import {validate} from '../../services/validate.ts';
import {reply} from '../answer.ts';
import {peerJsonBody} from '../json-body.ts';
import {remoteAddressOf} from '../remote-address.ts';
import {type PeerCtx, type PeerRouter, type PeerState, shownCertificateOf} from './peer-app.ts';

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

    router.post('/join', requireToken, peerJsonBody, async ctx => {
      const tokenId = tokenOf(ctx);
      const bearer = {tokenId, remoteAddress: remoteAddressOf(ctx.req)};
      reply(ctx, await joining.admit(bearer, validate(joinRequestSchema, ctx.state.body)));
    });
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
    router.post('/tokens', peerJsonBody, async ctx => {
      reply(ctx, await joinTokens.createFor(ctx.state.peer, ctx.state.body));
    });

    router.post('/certificates', peerJsonBody, async ctx => {
      const {subjectAltName, endMs} = shownCertificateOf(ctx);
      const peer = {
        ...ctx.state.peer,
        given: hostsIn(subjectAltName),
        endMs,
        remoteAddress: remoteAddressOf(ctx.req),
      };
      reply(ctx, await joining.renew(peer, validate(certificateRequestsSchema, ctx.state.body)));
    });
  };
