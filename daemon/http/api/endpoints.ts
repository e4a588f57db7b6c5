// Every endpoint of the API, in the order of the descriptions.
import type {Endpoint} from './endpoint.ts';
import {clusterEndpoints} from './endpoints-cluster.ts';
import {dmarcEndpoints} from './endpoints-dmarc.ts';
import {domainEndpoints} from './endpoints-domains.ts';
import {eventEndpoints} from './endpoints-events.ts';
import {filterEndpoints} from './endpoints-filters.ts';
import {keyEndpoints} from './endpoints-keys.ts';
import {quarantineEndpoints} from './endpoints-quarantine.ts';
import {traceEndpoints} from './endpoints-trace.ts';
import {webhookEndpoints} from './endpoints-webhooks.ts';

export const endpoints: readonly Endpoint[] = [
  ...keyEndpoints,
  ...filterEndpoints,
  ...domainEndpoints,
  ...quarantineEndpoints,
  ...traceEndpoints,
  ...webhookEndpoints,
  ...clusterEndpoints,
  ...dmarcEndpoints,
  ...eventEndpoints,
];
