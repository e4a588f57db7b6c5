// What nodes ask of each other, behind mutual TLS on the cluster port and nowhere else.
import type {TLSSocket} from 'node:tls';
import Router from '@koa/router';
import Koa from 'koa';
import type {Logger} from 'pino';
import {Fault} from '../../shared/fault.ts';
import type {Cluster} from '../services/cluster.ts';
import {answerErrors, reply} from './answer.ts';
import type {RequestState} from './state.ts';

interface Needs {
  cluster: Cluster;
  /** The node a verified client certificate belongs to. */
  nodeIdIn(subjectAltName: string | undefined): string | undefined;
  log: Logger;
}

export const createPeerApi = ({cluster, nodeIdIn, log}: Needs): Koa<RequestState> => {
  const router = new Router<RequestState>({prefix: '/peer/v1'});
  // This node as it sees itself: the entry of its own in the cluster status.
  router.get('/node', async ctx => {
    const {peers, local_node_id} = await cluster.status();
    reply(
      ctx,
      peers.find(({node_id}) => node_id === local_node_id),
    );
  });

  const app = new Koa<RequestState>();
  app.use(answerErrors(log));
  app.use(async (ctx, next) => {
    const {subjectaltname} = (ctx.req.socket as TLSSocket).getPeerCertificate();
    if (nodeIdIn(subjectaltname) === undefined)
      throw new Fault('insufficient_scope', 'the client certificate names no node of this cluster');
    await next();
  });
  app.use(router.routes());
  app.use(async () => {
    throw new Fault('not_found', 'there is nothing at this path');
  });
  app.on('error', error => log.debug({err: error as Error}, 'peer answer broken off'));
  return app;
};
