// The curated interface description, made from the schemas that validate. What is not stabilised yet is not in it.
import {OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig} from '@asteasolutions/zod-to-openapi';
import {stringify} from 'yaml';
import {z} from 'zod';
import {apiKeySchema, createApiKeySchema, createdApiKeySchema, meSchema, revokeApiKeySchema} from '../../shared/api-key.ts';
import {clusterStatusSchema} from '../../shared/cluster-status.ts';
import {createDomainSchema, domainPatchSchema, domainSchema} from '../../shared/domain.ts';
import {errorSchema, type SuccessMessage, successSchema} from '../../shared/envelope.ts';
import {id} from '../../shared/fields.ts';
import {heldMailSchema} from '../../shared/held-mail.ts';
import {forceQuerySchema, holdListQuerySchema} from '../../shared/hold-filter.ts';

/** Version of the description: major for what breaks a client, minor for additions, patch for wording. */
const version = '1.1.0';

const tags = [
  {name: 'Auth', description: 'The key a request is made with'},
  {name: 'API keys', description: 'Creating, revoking and deleting keys'},
  {name: 'Mail domains', description: 'Protected domains; changes reach every node'},
  {name: 'Quarantine', description: 'Held mail of all nodes'},
  {name: 'Cluster', description: 'Health of all nodes'},
];

const idParameter = z.object({id: id.meta({description: 'Identifier'})});
const domainHeaders = z.object({'If-Match': z.string().optional().meta({description: 'Only if the domain still has this ETag'})});
const etag = {ETag: {description: 'Validator for If-Match', schema: {type: 'string'}}} as const;

/** The document in YAML; it never changes while a node runs. */
export const openApiDocument = (): string => {
  const registry = new OpenAPIRegistry();
  const key = registry.registerComponent('securitySchemes', 'ApiKey', {type: 'apiKey', in: 'header', name: 'X-API-Key'});
  for (const operation of operations) registry.registerPath({...operation, security: [{[key.name]: []}]});

  const generated = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Mail Filtering Service',
      version,
      description:
        'External interface of the mail-filtering and quarantine service. Any node answers for the whole cluster. Breaking changes come only with a new major version; what is to be removed is marked deprecated at least 6 months before.',
      license: {name: 'MIT', identifier: 'MIT'},
    },
    servers: [{url: '/api/v1', description: 'The node that served this document'}],
    tags,
  });
  const {webhooks, ...described} = generated;
  return stringify(described, {aliasDuplicateObjects: false, lineWidth: 120});
};

const failures: Record<number, string> = {
  400: 'A parameter is wrong, or the body is not JSON',
  401: 'No key, or one that is not valid, revoked or expired',
  403: 'The scope of the key does not permit this',
  404: 'Unknown, or outside the domain of the key',
  409: 'In conflict with what is there',
  412: 'The domain has changed since the ETag was read',
  413: 'The body is larger than 64 KiB',
  415: 'The body is not application/json or application/merge-patch+json',
  422: 'Fields of the body are wrong; all of them are listed',
  429: 'The limit of the key for this minute is used up',
  500: 'The node failed; its log says why under the request id',
  503: 'A node did not answer, or the disk is full',
};

type Responses = RouteConfig['responses'];

type Headers = Record<string, {description: string; schema: {type: 'string' | 'integer'}}>;

const text = (description: string): Headers[string] => ({description, schema: {type: 'string'}});

/** On every answer to a request with a key. */
const answerHeaders: Headers = {
  'X-Request-Id': text('To quote to the operator'),
  'RateLimit-Policy': text('Requests a key may make in a window of seconds'),
  RateLimit: text('What is left of them, and the seconds until there are more'),
};
const retryAfter: Headers = {'Retry-After': {description: 'Seconds', schema: {type: 'integer'}}};

const failureHeaders: Record<number, Headers> = {
  401: {...answerHeaders, 'WWW-Authenticate': text('How to send a key, and what is wrong with the one sent')},
  429: {...answerHeaders, ...retryAfter},
  503: {...answerHeaders, ...retryAfter},
};

const json = (schema: z.ZodType) => ({'application/json': {schema}});

const success = (
  status: 200 | 201,
  data: z.ZodType,
  {messages, headers}: {messages?: SuccessMessage[]; headers?: Headers} = {},
): Responses => ({
  [status]: {
    description: status === 201 ? 'Created' : 'OK',
    content: json(successSchema(data, messages ?? [status === 201 ? 'Created' : 'OK'])),
    headers: {...answerHeaders, ...headers},
  },
});

const faults = (...statuses: number[]): Responses =>
  Object.fromEntries(
    [400, 401, 403, ...statuses, 429, 500, 503].map(status => [
      status,
      {description: failures[status] ?? '', headers: failureHeaders[status] ?? answerHeaders, content: json(errorSchema)},
    ]),
  );

const body = (schema: z.ZodType, {alsoPatch = false, required = true} = {}) => ({
  body: {
    required,
    content: {'application/json': {schema}, ...(alsoPatch && {'application/merge-patch+json': {schema}})},
  },
});

const operations: RouteConfig[] = [
  {
    method: 'get',
    path: '/auth/me',
    operationId: 'getMe',
    tags: ['Auth'],
    summary: 'The key of this request, its permissions and the node that answered',
    responses: {...success(200, meSchema), ...faults()},
  },
  {
    method: 'get',
    path: '/auth/api-keys',
    operationId: 'listApiKeys',
    tags: ['API keys'],
    summary: 'All keys, without their values',
    responses: {...success(200, z.array(apiKeySchema)), ...faults()},
  },
  {
    method: 'post',
    path: '/auth/api-keys',
    operationId: 'createApiKey',
    tags: ['API keys'],
    summary: 'Create a key; its value is in this answer only',
    request: body(createApiKeySchema),
    responses: {...success(201, createdApiKeySchema), ...faults(413, 415, 422)},
  },
  {
    method: 'post',
    path: '/auth/api-keys/{id}/revoke',
    operationId: 'revokeApiKey',
    tags: ['API keys'],
    summary: 'Make a key invalid, at once or at a time to come, and keep its record',
    request: {params: idParameter, query: forceQuerySchema, ...body(revokeApiKeySchema, {required: false})},
    responses: {...success(200, apiKeySchema), ...faults(404, 409, 413, 415, 422)},
  },
  {
    method: 'delete',
    path: '/auth/api-keys/{id}',
    operationId: 'deleteApiKey',
    tags: ['API keys'],
    summary: 'Remove a key and its audit-log mapping',
    request: {params: idParameter, query: forceQuerySchema},
    responses: {...success(200, z.null()), ...faults(404, 409)},
  },
  {
    method: 'get',
    path: '/domains',
    operationId: 'listDomains',
    tags: ['Mail domains'],
    summary: 'All domains, by name',
    responses: {...success(200, z.array(domainSchema)), ...faults()},
  },
  {
    method: 'post',
    path: '/domains',
    operationId: 'createDomain',
    tags: ['Mail domains'],
    summary: 'Protect a domain',
    request: body(createDomainSchema),
    responses: {...success(201, domainSchema, {headers: etag}), ...faults(409, 413, 415, 422)},
  },
  {
    method: 'get',
    path: '/domains/{id}',
    operationId: 'getDomain',
    tags: ['Mail domains'],
    summary: 'One domain',
    request: {params: idParameter},
    responses: {...success(200, domainSchema, {headers: etag}), ...faults(404)},
  },
  {
    method: 'put',
    path: '/domains/{id}',
    operationId: 'updateDomain',
    tags: ['Mail domains'],
    summary: 'Change a domain: a complete object, or the members to change',
    request: {params: idParameter, headers: domainHeaders, ...body(domainPatchSchema, {alsoPatch: true})},
    responses: {...success(200, domainSchema, {headers: etag}), ...faults(404, 412, 413, 415, 422)},
  },
  {
    method: 'delete',
    path: '/domains/{id}',
    operationId: 'deleteDomain',
    tags: ['Mail domains'],
    summary: 'Delete a domain with its DKIM keys and filters; its held mail stays',
    request: {params: idParameter, headers: domainHeaders},
    responses: {...success(200, z.null()), ...faults(404, 412)},
  },
  {
    method: 'get',
    path: '/mail/quarantine',
    operationId: 'listQuarantine',
    tags: ['Quarantine'],
    summary: 'Held mail of all nodes, newest first',
    request: {query: holdListQuerySchema},
    responses: {
      ...success(200, z.array(heldMailSchema), {
        messages: ['OK', 'Partial'],
        headers: {
          'X-Total-Count': {description: 'All matches', schema: {type: 'integer'}},
          'X-Unreachable-Nodes': {description: 'Nodes whose mail is missing here', schema: {type: 'string'}},
          Link: {description: 'first, prev and next (RFC 8288)', schema: {type: 'string'}},
        },
      }),
      ...faults(),
    },
  },
  {
    method: 'get',
    path: '/cluster/status',
    operationId: 'getClusterStatus',
    tags: ['Cluster'],
    summary: 'Health snapshot of all nodes',
    responses: {...success(200, clusterStatusSchema), ...faults()},
  },
];
