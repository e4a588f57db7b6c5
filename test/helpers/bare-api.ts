// The API over HTTP on services that a test gives it. Its only key has all permissions.
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import pino from 'pino';
import {createApi} from '../../daemon/http/api/app.ts';
import type {Endpoint} from '../../daemon/http/api/endpoint.ts';
import {createMetrics, type Metrics} from '../../daemon/http/metrics.ts';
import type {Owner} from './daemon.ts';

export interface BareApi {
  /** With the prefix of the API. */
  url: string;
  server: Server;
  metrics: Metrics;
}

export const startBareApi = async (
  owner: Owner,
  services: Record<string, unknown>,
  endpoints?: readonly Endpoint[],
): Promise<BareApi> => {
  const metrics = createMetrics('1.0.0');
  const known: Record<string, unknown> = {
    metrics,
    log: pino({level: 'silent'}),
    membership: {requireMember: () => undefined},
    noteKeyShown: () => undefined,
    keys: {
      identify: async () => ({id: 1, scope: 'full-admin', rate_limit_per_minute: 100}),
      admit: () => ({kind: 'all'}),
    },
    limits: {take: async () => ({isAllowed: true, limit: 100, remaining: 99, resetSeconds: 1})},
    ...services,
  };
  const needs = new Proxy(known, {get: (there, name) => Reflect.get(there, name) ?? {}});
  const server = createServer(createApi(needs as unknown as Parameters<typeof createApi>[0], endpoints).callback());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  owner.teardown(async () => {
    server.close();
    server.closeAllConnections();
  });
  return {url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`, server, metrics};
};
