// A test's own API with deprecated operations, since no operation of mfd may be deprecated for a test's sake. The middleware and
// the descriptions are the real ones.
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';
import pino from 'pino';
import {z} from 'zod';
import {answerErrors, reply} from '../../daemon/http/answer.ts';
import {announceDeprecations} from '../../daemon/http/api/announce-deprecations.ts';
import {setPaging} from '../../daemon/http/api/gathered-answer.ts';
import {adminDescription, deprecatedOperations} from '../../daemon/http/api/openapi.ts';
import {idParameter, type Operation, ok} from '../../daemon/http/api/operation.ts';
import {createMetrics, type MetricsSource} from '../../daemon/http/metrics.ts';
import type {RequestState} from '../../daemon/http/observe.ts';
import {idOf, queryOf} from '../../daemon/http/request-input.ts';
import type {Owner} from './daemon.ts';

const mark = {since: '2027-01-01', sunset: '2027-07-01', page: 'https://mfd.test/old'};
const marked = {deprecated: true, 'x-deprecation': mark};

const querySchema = z.strictObject({colour: z.string().optional().meta({param: marked})});
const thingSchema = z.strictObject({weight: z.int().meta(marked)}).meta({id: 'Thing'});

const operations: Operation[] = [
  {
    method: 'get',
    path: '/old/{id}',
    operationId: 'getOld',
    tag: 'Cluster',
    summary: 'Deprecated',
    request: {params: idParameter},
    success: ok(z.null()),
    failures: [404],
    deprecated: mark,
  },
  {
    method: 'get',
    path: '/things',
    operationId: 'listThings',
    tag: 'Cluster',
    summary: 'Not deprecated itself, but a parameter and a field are',
    request: {query: querySchema},
    success: ok(thingSchema),
  },
];

export const description = () => adminDescription(operations);
export const deprecations = () => deprecatedOperations(operations);

/** Serves the operations over HTTP. */
export const startDeprecatedApi = async (owner: Owner) => {
  const metrics = createMetrics('1.0.0');
  const router = new Router<RequestState>({prefix: '/v1'});
  router.get('/old/:id', async ctx => {
    idOf(ctx);
    setPaging(ctx, {limit: 1, offset: 0}, 2);
    reply(ctx, null);
  });
  router.get('/things', async ctx => {
    queryOf(ctx, querySchema);
    reply(ctx, {weight: 1});
  });
  const app = new Koa<RequestState>();
  app.use(answerErrors(pino({level: 'silent'})));
  app.use(announceDeprecations({deprecations: deprecations(), prefix: '/v1', metrics}));
  app.use(router.routes());

  const server = createServer(app.callback());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  owner.teardown(async () => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const send = async (method: string, path: string) => {
    const answer = await fetch(`${url}${path}`, {method});
    await answer.arrayBuffer();
    return answer;
  };
  return {send, metricsText: async () => (await metrics.expose(nothing)).text};
};

const nothing: MetricsSource = {
  clusterStatus: async () => ({
    local_node_id: 'alpha',
    local_hostname: 'alpha',
    peers: [],
    generated_at: '2027-01-01T00:00:00.000Z',
  }),
  held: async () => [],
  outboxDepth: async () => 0,
  clockSkews: () => ({}),
  hasSpace: () => true,
  certificates: () => ({}),
};
