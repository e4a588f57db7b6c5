// A server in the place of a stopped node, with that node's certificate and the answers of a test.
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:https';
import {json} from 'node:stream/consumers';
import type {ClusterNode} from './cluster.ts';
import type {Owner} from './daemon.ts';
import {nodeCredentials} from './peer-call.ts';

/** Answers by the path below /peer/v1; the result is the `data` of the answer. Other paths answer 404. */
export type FalseAnswers = Record<string, (body: unknown, query: URLSearchParams) => unknown>;

/** The node must have been stopped, as its port and its certificate are used. */
export const startFalsePeer = async (owner: Owner, node: ClusterNode, answers: FalseAnswers): Promise<{asked: string[]}> => {
  const ca = await readFile(node.ca_file, 'utf8');
  const asked: string[] = [];
  const server = createServer(
    {...(await nodeCredentials(node)), ca, requestCert: true, rejectUnauthorized: true},
    async (request, response) => {
      const {pathname, searchParams} = new URL(request.url ?? '', 'https://node');
      const path = pathname.replace('/peer/v1/', '');
      const body = request.method === 'POST' ? await json(request).catch(() => undefined) : undefined;
      asked.push(path);
      const answer = answers[path];
      const error = answer ? null : {code: 'not_found', detail: 'nothing here', request_id: 'x'};
      response.writeHead(answer ? 200 : 404, {'Content-Type': 'application/json'});
      response.end(JSON.stringify({data: answer ? answer(body, searchParams) : null, error, message: 'OK'}));
    },
  );
  server.on('tlsClientError', () => {}).on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(new URL(node.cluster_url).port), '127.0.0.1', resolve);
  });
  owner.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {asked};
};
