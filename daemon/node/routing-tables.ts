// Lookup tables for Postfix, wired to the services of a node.
import type {Logger} from 'pino';
import {createRecipientCheck} from '../mail/backend/recipient-check.ts';
import type {LocalAddress, LocalListener} from '../mail/local-listener.ts';
import {createRoutingTables} from '../mail/socketmap/routing-tables.ts';
import {startSocketmapServer} from '../mail/socketmap/socketmap-server.ts';
import type {Records} from './records.ts';
import type {Services} from './services.ts';

interface Needs {
  listen: LocalAddress;
  records: Records;
  log: Logger;
  now: () => number;
  services: Pick<Services, 'intake' | 'pool'>;
  graceMs: number;
}

export const openTables = async ({listen, services, records, log, now, graceMs}: Needs): Promise<LocalListener> => {
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
