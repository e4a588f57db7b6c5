// API between nodes, with mutual TLS, on the cluster port only.

import type {TLSSocket} from 'node:tls';
import Router, {type RouterContext} from '@koa/router';
import Koa from 'koa';
import type {Logger} from 'pino';
import {Fault} from '../../../shared/fault.ts';
import type {NodeIdentity} from '../../services/actor.ts';
import {type ShownCertificate, validityOf} from '../../services/cluster/certificate-names.ts';
import {answerErrors} from '../answer.ts';
import {remoteAddressOf} from '../observe.ts';

export interface PeerState {
  requestId: string;
  /** The calling node, from its verified certificate only. Not set for a client that is about to join. */
  peer: NodeIdentity;
  body: unknown;
}

export type PeerCtx = RouterContext<PeerState>;
export type PeerRouter = Router<PeerState>;

interface Needs {
  /** The node of a verified client certificate. */
  identityIn(subjectAltName: string | undefined): NodeIdentity | undefined;
  /** Called with the address of each request of a member. */
  noteAddress(peer: NodeIdentity, remoteAddress: string | null): void;
  /** Whether the node was a member and has been removed. */
  wasRemoved(peer: NodeIdentity): boolean;
  /** Whether the node is a member now. */
  isMember(peer: NodeIdentity): boolean;
  /** Routes for members. */
  routes: ((router: PeerRouter) => void)[];
  /** Routes for every client with a certificate of the cluster's authority; each route checks the client itself. */
  openRoutes: ((router: PeerRouter) => void)[];
  log: Logger;
}

const prefix = '/peer/v1';

export const createPeerApi = ({
  identityIn,
  isMember,
  wasRemoved,
  noteAddress,
  routes,
  openRoutes,
  log,
}: Needs): Koa<PeerState> => {
  const routerWith = (all: Needs['routes']) => {
    const router: PeerRouter = new Router<PeerState>({prefix, sensitive: true});
    for (const route of all) route(router);
    return router;
  };

  const app = new Koa<PeerState>();
  app.use(answerErrors(log));
  app.use(async (ctx, next) => {
    const shown = shownCertificateOf(ctx);
    const peer = identityIn(shown.subjectAltName);
    if (peer && wasRemoved(peer)) {
      ctx.set('Connection', 'close');
      throw new Fault(
        'node_removed',
        `node ${peer.nodeId}, number ${peer.nodeNo}, has been removed from the cluster; join it again`,
      );
    }
    const validity = validityOf(shown, Date.now());
    if (validity === 'outdated' || (validity === 'ended' && !isRenewal(ctx))) {
      ctx.set('Connection', 'close');
      throw new Fault(
        'insufficient_scope',
        `the client certificate expired at ${new Date(shown.endMs).toISOString()}, by the clock of this node`,
      );
    }
    await next();
  });
  app.use(routerWith(openRoutes).routes());
  app.use(async (ctx, next) => {
    const peer = identityIn(shownCertificateOf(ctx).subjectAltName);
    if (!peer || !isMember(peer)) throw new Fault('insufficient_scope', 'the client certificate names no node of this cluster');
    noteAddress(peer, remoteAddressOf(ctx.req));
    ctx.state.peer = peer;
    await next();
  });
  app.use(routerWith(routes).routes());
  app.use(async () => {
    throw new Fault('not_found', 'there is nothing at this path');
  });
  app.on('error', error => log.debug({err: error as Error}, 'peer response aborted'));
  return app;
};

/** The only request that is allowed with an expired certificate. */
const isRenewal = ({method, path}: Koa.Context): boolean => method === 'POST' && path === `${prefix}/certificates`;

/** The client certificate, verified after the handshake. */
export const shownCertificateOf = ({req}: Pick<Koa.Context, 'req'>): ShownCertificate => {
  const shown = (req.socket as TLSSocket).getPeerX509Certificate();
  // A closed connection has no certificate any more.
  return {subjectAltName: shown?.subjectAltName, endMs: Date.parse(shown?.validTo ?? '') || 0};
};
