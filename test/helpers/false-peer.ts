// A server in the place of a stopped node, with that node's certificate and the answers of a test.
import {readFile} from 'node:fs/promises';
import type {IncomingMessage, ServerResponse} from 'node:http';
import {createServer} from 'node:https';
import {json} from 'node:stream/consumers';
import type {ClusterNode} from './cluster.ts';
import type {Owner} from './daemon.ts';
import {listening} from './listening.ts';
import {nodeCredentials} from './peer-call.ts';

/** Answers by the path below /peer/v1; the result is the `data` of the answer. Other paths answer 404. */
export type FalseAnswers = Record<string, (body: unknown, query: URLSearchParams) => unknown>;

/** The heartbeat of a healthy node, except for the fields in `said`. */
export const heartbeatOf = (node: ClusterNode, nodeNo: number, said: object) => ({
  node_id: node.node_id,
  node_no: nodeNo,
  version: '0.5.0',
  clock_ms: Date.now(),
  config_hash: `sha256:${'0'.repeat(64)}`,
  config_hash_age_s: 0,
  last_seq: 0,
  applied: {},
  license: {valid: true, type: 'a', status: 'b', expires_at: '9999-12-31T23:59:59Z'},
  has_authority: true,
  key_counts: {window: 0, counts: []},
  key_uses: [],
  ...said,
});

/** `path` is relative to /peer/v1. */
type Answer = (path: string, request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => Promise<void> | void;

/** The node must have been stopped, as its port and its certificate are used. Admits only members of its cluster. */
export const standIn = async (owner: Owner, node: ClusterNode, answer: Answer): Promise<void> => {
  const ca = await readFile(node.ca_file, 'utf8');
  const server = createServer(
    {...(await nodeCredentials(node)), ca, requestCert: true, rejectUnauthorized: true},
    async (request, response) => {
      const {pathname, searchParams} = new URL(request.url ?? '', 'https://node');
      await answer(pathname.replace('/peer/v1/', ''), request, response, searchParams);
    },
  );
  server.on('tlsClientError', () => {}).on('clientError', (_error, socket) => socket.destroy());
  await listening(owner, server, {port: Number(new URL(node.cluster_url).port)});
};

/** The node must have been stopped, as for `standIn`. */
export const startFalsePeer = async (owner: Owner, node: ClusterNode, answers: FalseAnswers): Promise<{asked: string[]}> => {
  const asked: string[] = [];
  await standIn(owner, node, async (path, request, response, query) => {
    const body = request.method === 'POST' ? await json(request).catch(() => undefined) : undefined;
    asked.push(path);
    const answer = answers[path];
    const error = answer ? null : {code: 'not_found', detail: 'nothing here', request_id: 'x'};
    response.writeHead(answer ? 200 : 404, {'Content-Type': 'application/json'});
    response.end(JSON.stringify({data: answer ? answer(body, query) : null, error, message: 'OK'}));
  });
  return {asked};
};
