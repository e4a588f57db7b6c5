// A test's own endpoints, some of them deprecated, since no endpoint of mfd may be deprecated for a test's sake. The API and the
// description are the real ones.
import {z} from 'zod';
import {reply} from '../../daemon/http/answer.ts';
import {endpoint, idParameter, ok} from '../../daemon/http/api/endpoint.ts';
import {replyPage} from '../../daemon/http/api/gathered-answer.ts';
import {adminDescription} from '../../daemon/http/api/openapi.ts';
import type {MetricsSource} from '../../daemon/http/metrics.ts';
import {idOf} from '../../daemon/http/request-input.ts';
import {startBareApi} from './bare-api.ts';
import type {Owner} from './daemon.ts';

export const mark = {since: '2027-01-01', sunset: '2027-07-01', page: 'https://mfd.test/old'};
const marked = {deprecated: true, 'x-deprecation': mark};

const thingSchema = z.strictObject({weight: z.int().meta(marked)}).meta({id: 'Thing'});

const endpoints = [
  endpoint({
    method: 'get',
    path: '/old/{id}',
    permission: 'me:read',
    operationId: 'getOld',
    tag: 'Cluster',
    summary: 'Deprecated',
    params: idParameter,
    answer: () => ok(z.null()),
    failures: [404],
    deprecated: mark,
    async run(ctx) {
      idOf(ctx);
      replyPage(ctx, {limit: 1, offset: 0}, {total: 2, entries: [], unreachable: []});
    },
  }),
  endpoint({
    method: 'get',
    path: '/things',
    permission: 'me:read',
    operationId: 'listThings',
    tag: 'Cluster',
    summary: 'Not deprecated itself, but a parameter and a field are',
    query: z.strictObject({colour: z.string().optional().meta({param: marked})}),
    answer: () => ok(thingSchema),
    run: async ctx => reply(ctx, {weight: 1}),
  }),
];

export const description = () => adminDescription(endpoints);

/** Serves the endpoints over HTTP. */
export const startDeprecatedApi = async (owner: Owner) => {
  const {url, metrics} = await startBareApi(owner, {}, endpoints);
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
