// Lookup tables for Postfix, wired to the services of a node; nothing opens if they are not configured.
import type {Logger} from 'pino';
import type {Config} from '../config/schema.ts';
import {createRecipientCheck} from '../mail/backend/recipient-check.ts';
import {type LocalAddress, parseLocalAddress} from '../mail/local-listener.ts';
import {createRoutingTables} from '../mail/socketmap/routing-tables.ts';
import {startSocketmapServer} from '../mail/socketmap/socketmap-server.ts';
import type {Records} from './records.ts';
import type {Services} from './services.ts';

interface Needs {
  config: Config;
  records: Records;
  log: Logger;
  now: () => number;
  services: Pick<Services, 'intake' | 'pool'>;
  graceMs: number;
}

export interface TablesListener {
  /** Undefined if no tables are configured. */
  address: LocalAddress | undefined;
  stop(): Promise<void>;
}

export const openTables = async ({config, services, records, log, now, graceMs}: Needs): Promise<TablesListener> => {
  const listen = parseLocalAddress(config.postfix.socketmap_listen ?? '');
  if (!listen) return {address: undefined, stop: async () => undefined};

  const tables = createRoutingTables({
    domains: records.domainDirectory,
    routeTo: domain => services.intake.routeOf({direction: 'inbound', domain}),
    recipients: createRecipientCheck({pool: services.pool, now}),
    standstill: records.membership.advice,
  });
  const server = await startSocketmapServer({
    listen,
    lookUp: tables.lookUp,
    onFailure: error => log.error({err: error}, 'a table lookup by Postfix failed'),
  });
  return {address: server.address, stop: async () => server.stop(graceMs)};
};
