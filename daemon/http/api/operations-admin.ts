// Operations of the administrators' API description beyond the curated ones, mostly used by mfctl.
import {z} from 'zod';
import {auditEntrySchema} from '../../../shared/audit-entry.ts';
import {clusterDriftSchema} from '../../../shared/cluster-drift.ts';
import {eventsQuerySchema} from '../../../shared/cluster-event.ts';
import {clusterNodeSchema, removedNodeSchema} from '../../../shared/cluster-node.ts';
import {
  actionOutcomeSchema,
  bulkFailureSchema,
  bulkRequestSchema,
  type HoldAction,
  heldMailDetailSchema,
  summarySchema,
} from '../../../shared/held-mail.ts';
import {auditQuerySchema, holdSummaryQuerySchema, removeNodeQuerySchema} from '../../../shared/hold-filter.ts';
import {createdTokenSchema, tokenOrderSchema} from '../../services/cluster/join-protocol.ts';
import {
  body,
  bodyFailures,
  created,
  gathered,
  gatheredPage,
  header,
  mailParameters,
  nodeParameter,
  type Operation,
  ok,
  unreachableNodes,
} from './operation.ts';
import {dmarcOperations} from './operations-dmarc.ts';
import {domainPartOperations} from './operations-domain-parts.ts';

export const adminTags = [
  {name: 'Mail filters', description: 'Rules for the mail of one domain'},
  {name: 'DKIM keys', description: 'Keys that sign the mail of one domain'},
  {name: 'DMARC', description: 'Counts of received mail, and aggregate reports'},
  {name: 'Audit', description: 'Log of all actions, with the key of each'},
  {name: 'Events', description: 'What happens in the cluster, as it happens'},
];

const actionOf = (action: HoldAction, does: string): Operation => ({
  method: 'post',
  path: `/mail/quarantine/{node_id}/{queue_id}/${action}`,
  operationId: `${action}Mail`,
  tag: 'Quarantine',
  summary: `${does}; repeating the request is safe`,
  request: {params: mailParameters},
  success: ok(actionOutcomeSchema),
  failures: [404, 409, ...(action === 'release' ? ([502] as const) : []), 504],
});

const bulkActionOf = (action: HoldAction): Operation => ({
  method: 'post',
  path: `/mail/quarantine/${action}`,
  operationId: `${action}Mails`,
  tag: 'Quarantine',
  summary: `The action ${action} on up to 1000 mails; the answer has an entry for each, in the same order`,
  request: body(bulkRequestSchema),
  success: ok(z.array(z.union([actionOutcomeSchema, bulkFailureSchema]))),
  failures: bodyFailures,
});

const quarantineOperations: Operation[] = [
  {
    method: 'get',
    path: '/mail/quarantine/summary',
    operationId: 'summarizeQuarantine',
    tag: 'Quarantine',
    summary: 'Counts of held mail by domain, reason and node',
    request: {query: holdSummaryQuerySchema},
    success: gathered(summarySchema, 'Nodes whose mail is not counted here'),
  },
  {
    method: 'get',
    path: '/mail/quarantine/{node_id}/{queue_id}',
    operationId: 'getMail',
    tag: 'Quarantine',
    summary: 'One held mail, with the score of each symbol',
    request: {params: mailParameters},
    success: ok(heldMailDetailSchema),
    failures: [404],
  },
  {
    method: 'get',
    path: '/mail/quarantine/{node_id}/{queue_id}/body',
    operationId: 'getMailBody',
    tag: 'Quarantine',
    summary: 'The raw mail as it was received',
    request: {params: mailParameters},
    success: {
      status: 200,
      content: {'text/rfc822': {schema: {type: 'string', format: 'binary'}}},
      headers: {
        'Content-Disposition': header('A file name, made of the queue id'),
        'Content-Security-Policy': header('Keeps browsers from running what is in the mail'),
      },
    },
    failures: [404],
  },
  actionOf('release', 'Deliver a held mail'),
  actionOf('discard', 'Remove a held mail without delivery'),
  bulkActionOf('release'),
  bulkActionOf('discard'),
];

const clusterOperations: Operation[] = [
  {
    method: 'get',
    path: '/cluster/drift',
    operationId: 'getClusterDrift',
    tag: 'Cluster',
    summary: 'How the configuration of this node differs from that of the others',
    success: ok(clusterDriftSchema),
  },
  {
    method: 'post',
    path: '/cluster/tokens',
    operationId: 'createJoinToken',
    tag: 'Cluster',
    summary: 'Create a token that admits one more node',
    request: body(tokenOrderSchema, {required: false}),
    success: created(createdTokenSchema),
    failures: bodyFailures,
  },
  {
    method: 'get',
    path: '/cluster/nodes/{node_id}',
    operationId: 'getNode',
    tag: 'Cluster',
    summary: 'A node with the API keys that were created on it',
    request: {params: nodeParameter},
    success: ok(clusterNodeSchema),
    failures: [404],
  },
  {
    method: 'delete',
    path: '/cluster/nodes/{node_id}',
    operationId: 'removeNode',
    tag: 'Cluster',
    summary: 'Remove a node from the cluster for good',
    request: {params: nodeParameter, query: removeNodeQuerySchema},
    success: ok(removedNodeSchema.nullable(), {headers: unreachableNodes('Nodes that have not applied the change yet')}),
    failures: [404, 409],
  },
];

/** OpenAPI 3.1 cannot describe single events of a stream; `contentSchema` of JSON Schema comes closest. */
const eventStream = {
  type: 'string' as const,
  contentMediaType: 'text/event-stream',
  contentSchema: {$ref: '#/components/schemas/ClusterEvent'},
};

const otherOperations: Operation[] = [
  {
    method: 'get',
    path: '/audit',
    operationId: 'listAudit',
    tag: 'Audit',
    summary: 'Audit entries of all nodes, newest first',
    request: {query: auditQuerySchema},
    success: gatheredPage(auditEntrySchema, {total: 'All matches', missing: 'Nodes whose entries are missing here'}),
  },
  {
    method: 'get',
    path: '/events',
    operationId: 'watchEvents',
    tag: 'Events',
    summary: 'Server-sent events, from now on; nothing is replayed',
    request: {query: eventsQuerySchema},
    success: {
      status: 200,
      content: {'text/event-stream': {schema: eventStream}},
      headers: {
        'X-Ping-Interval': header(
          'Seconds after which a comment comes at the latest: a line that is silent for longer is cut',
          'integer',
        ),
      },
    },
  },
];

export const adminOperations: Operation[] = [
  ...domainPartOperations,
  ...quarantineOperations,
  ...clusterOperations,
  ...dmarcOperations,
  ...otherOperations,
];
