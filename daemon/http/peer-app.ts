// What nodes ask of each other, behind mutual TLS on the cluster port and nowhere else.
import type {TLSSocket} from 'node:tls';
import Router, {type RouterContext} from '@koa/router';
import Koa from 'koa';
import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import type {NodeIdentity} from '../services/ports.ts';
import {answerErrors} from './answer.ts';
import {remoteAddressOf} from './remote-address.ts';

export interface PeerState {
  requestId: string;
  /** The node that asks: what its verified certificate says, and no more. Set for all but those who are only about to join. */
  peer: NodeIdentity;
  body: unknown;
}

export type PeerCtx = RouterContext<PeerState>;
export type PeerRouter = Router<PeerState>;

interface Needs {
  /** The node a verified client certificate belongs to. */
  identityIn(subjectAltName: string | undefined): NodeIdentity | undefined;
  /** A member asks something. */
  heard(peer: NodeIdentity, remoteAddress: string | null): void;
  /** Whether that node has been one of the cluster, and was removed. */
  wasRemoved(peer: NodeIdentity): boolean;
  /** Whether that node is one of the cluster, now. */
  isMember(peer: NodeIdentity): boolean;
  /** What members may ask. */
  routes: ((router: PeerRouter) => void)[];
  /** What may be asked by whoever has a certificate of the cluster's authority; each route looks for itself who that is. */
  openRoutes: ((router: PeerRouter) => void)[];
  log: Logger;
}

const prefix = '/peer/v1';

export const createPeerApi = ({identityIn, isMember, wasRemoved, heard, routes, openRoutes, log}: Needs): Koa<PeerState> => {
  const routerWith = (all: Needs['routes']) => {
    const router: PeerRouter = new Router<PeerState>({prefix, sensitive: true});
    for (const route of all) route(router);
    return router;
  };

  const shownNameOf = createShownNames();
  const app = new Koa<PeerState>();
  app.use(answerErrors(log));
  app.use(async (ctx, next) => {
    const peer = identityIn(shownNameOf(ctx));
    if (peer && wasRemoved(peer)) {
      ctx.set('Connection', 'close');
      throw new Fault(
        'node_removed',
        `node ${peer.nodeId}, number ${peer.nodeNo}, has been removed from the cluster; join it anew`,
      );
    }
    await next();
  });
  app.use(routerWith(openRoutes).routes());
  app.use(async (ctx, next) => {
    const peer = identityIn(shownNameOf(ctx));
    if (!peer || !isMember(peer)) throw new Fault('insufficient_scope', 'the client certificate names no node of this cluster');
    heard(peer, remoteAddressOf(ctx.req));
    ctx.state.peer = peer;
    await next();
  });
  app.use(routerWith(routes).routes());
  app.use(async () => {
    throw new Fault('not_found', 'there is nothing at this path');
  });
  app.on('error', error => log.debug({err: error as Error}, 'peer answer broken off'));
  return app;
};

/** Of the client certificate, verified in the handshake. */
export const subjectAltNameOf = ({req}: Pick<Koa.Context, 'req'>): string | undefined =>
  (req.socket as TLSSocket).getPeerCertificate().subjectaltname;

/** A connection shows one certificate, and taking it apart is a part of what a question costs. */
const createShownNames = (): typeof subjectAltNameOf => {
  const shown = new WeakMap<object, string | undefined>();
  return ctx => {
    const {socket} = ctx.req;
    if (!shown.has(socket)) shown.set(socket, subjectAltNameOf(ctx));
    return shown.get(socket);
  };
};
