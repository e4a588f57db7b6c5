// Operations that are stable for third-party clients: exactly those of the specification's section 4.5.
import {z} from 'zod';
import {apiKeySchema, createApiKeySchema, createdApiKeySchema, meSchema, revokeApiKeySchema} from '../../../shared/api-key.ts';
import {clusterStatusSchema} from '../../../shared/cluster-status.ts';
import {createDomainSchema, domainPatchSchema, domainSchema} from '../../../shared/domain.ts';
import {heldMailSchema} from '../../../shared/held-mail.ts';
import {forceQuerySchema, holdListQuerySchema} from '../../../shared/hold-filter.ts';
import {
  body,
  bodyFailures,
  created,
  gatheredPage,
  type Headers,
  header,
  idParameter,
  type Operation,
  ok,
  unreachableNodes,
} from './operation.ts';

export const curatedTags = [
  {name: 'Auth', description: 'The key a request is made with'},
  {name: 'API keys', description: 'Creating, revoking and deleting keys'},
  {name: 'Mail domains', description: 'Protected domains; changes reach every node'},
  {name: 'Quarantine', description: 'Held mail of all nodes'},
  {name: 'Cluster', description: 'Health of all nodes'},
];

const domainHeaders = z.object({'If-Match': z.string().optional().meta({description: 'Only if the domain still has this ETag'})});
const etag: Headers = {ETag: header('Validator for If-Match')};
const notYetEverywhere = unreachableNodes('Nodes that have not applied the change yet');

export const curatedOperations: Operation[] = [
  {
    method: 'get',
    path: '/auth/me',
    operationId: 'getMe',
    tag: 'Auth',
    summary: 'The key of this request, its permissions and the node that answered',
    success: ok(meSchema),
  },
  {
    method: 'get',
    path: '/auth/api-keys',
    operationId: 'listApiKeys',
    tag: 'API keys',
    summary: 'All keys, without their values',
    success: ok(z.array(apiKeySchema)),
  },
  {
    method: 'post',
    path: '/auth/api-keys',
    operationId: 'createApiKey',
    tag: 'API keys',
    summary: 'Create a key; its value is in this answer only',
    request: body(createApiKeySchema),
    success: created(createdApiKeySchema),
    failures: bodyFailures,
  },
  {
    method: 'post',
    path: '/auth/api-keys/{id}/revoke',
    operationId: 'revokeApiKey',
    tag: 'API keys',
    summary: 'Revoke a key, at once or at a later time; its record stays',
    request: {params: idParameter, query: forceQuerySchema, ...body(revokeApiKeySchema, {required: false})},
    success: ok(apiKeySchema, {moreHeaders: notYetEverywhere}),
    failures: [404, 409, ...bodyFailures],
  },
  {
    method: 'delete',
    path: '/auth/api-keys/{id}',
    operationId: 'deleteApiKey',
    tag: 'API keys',
    summary: 'Remove a key and its audit-log mapping',
    request: {params: idParameter, query: forceQuerySchema},
    success: ok(z.null(), {moreHeaders: notYetEverywhere}),
    failures: [404, 409],
  },
  {
    method: 'get',
    path: '/domains',
    operationId: 'listDomains',
    tag: 'Mail domains',
    summary: 'All domains, by name',
    success: ok(z.array(domainSchema)),
  },
  {
    method: 'post',
    path: '/domains',
    operationId: 'createDomain',
    tag: 'Mail domains',
    summary: 'Protect a domain',
    request: body(createDomainSchema),
    success: created(domainSchema, {headers: etag, moreHeaders: {Location: header('Path of the domain')}}),
    failures: [409, ...bodyFailures],
  },
  {
    method: 'get',
    path: '/domains/{id}',
    operationId: 'getDomain',
    tag: 'Mail domains',
    summary: 'One domain',
    request: {params: idParameter},
    success: ok(domainSchema, {headers: etag}),
    failures: [404],
  },
  {
    method: 'put',
    path: '/domains/{id}',
    operationId: 'updateDomain',
    tag: 'Mail domains',
    summary: 'Change a domain: a complete object, or the members to change',
    request: {params: idParameter, headers: domainHeaders, ...body(domainPatchSchema, {alsoPatch: true})},
    success: ok(domainSchema, {headers: etag}),
    failures: [404, 412, ...bodyFailures],
  },
  {
    method: 'delete',
    path: '/domains/{id}',
    operationId: 'deleteDomain',
    tag: 'Mail domains',
    summary: 'Delete a domain with its DKIM keys and filters; its held mail stays',
    request: {params: idParameter, headers: domainHeaders},
    success: ok(z.null()),
    failures: [404, 412],
  },
  {
    method: 'get',
    path: '/mail/quarantine',
    operationId: 'listQuarantine',
    tag: 'Quarantine',
    summary: 'Held mail of all nodes, newest first',
    request: {query: holdListQuerySchema},
    success: gatheredPage(heldMailSchema, {total: 'All matches', missing: 'Nodes whose mail is missing here'}),
  },
  {
    method: 'get',
    path: '/cluster/status',
    operationId: 'getClusterStatus',
    tag: 'Cluster',
    summary: 'Health snapshot of all nodes',
    success: ok(clusterStatusSchema),
  },
];
