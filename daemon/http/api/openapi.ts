// Generator of the interface descriptions from the schemas that validate requests: the curated one, and the administrators', which has
// every operation. The build runs it; a node has the results as text.
import {OpenAPIRegistry, OpenApiGeneratorV31, type ResponseConfig, type RouteConfig} from '@asteasolutions/zod-to-openapi';
import {z} from 'zod';
import {streamEventSchema} from '../../../shared/cluster-event.ts';
import {errorSchema} from '../../../shared/envelope.ts';
import {scopesWith} from '../../../shared/scopes.ts';
import {type Answer, type Endpoint, type FailureStatus, type Headers, header, json} from './endpoint.ts';
import {endpoints} from './endpoints.ts';

export type Description = ReturnType<OpenApiGeneratorV31['generateDocument']>;

/** Version of each description: major for breaking changes, minor for additions, patch for wording. */
const versions = {curated: '2.0.0', admin: '2.0.0'};

const promise =
  'Any node answers for the whole cluster. Breaking changes come only with a new major version; what is to be removed is marked deprecated at least 6 months before.';

const rateLimits =
  'A key has its limit over all nodes: in any 60 seconds at most 1.5 times the limit passes (or the limit and one request for each other node, where that is more) while nodes hear one another. Nodes that are cut off from each other each let the limit pass.';

const tags = [
  {name: 'Auth', description: 'The key a request is made with'},
  {name: 'API keys', description: 'Creating, revoking and deleting keys'},
  {name: 'Mail domains', description: 'Protected domains; changes reach every node'},
  {name: 'Quarantine', description: 'Held mail of all nodes'},
  {name: 'Trace', description: 'What happened to mail'},
  {name: 'Webhooks', description: 'Addresses to which mail events are sent'},
  {name: 'Cluster', description: 'Health of all nodes'},
  {name: 'Mail filters', description: 'Rules for the mail of one domain'},
  {name: 'DKIM keys', description: 'Keys that sign the mail of one domain'},
  {name: 'DMARC', description: 'Counts of received mail, and aggregate reports'},
  {name: 'Audit', description: 'Log of all actions, with the key of each'},
  {name: 'Events', description: 'What happens in the cluster, as it happens'},
];

const curated = endpoints.filter(({isCurated}) => isCurated);

export const curatedDescription = (): Description =>
  describe({
    title: 'Mail Filtering Service',
    version: versions.curated,
    about: `External interface of the mail-filtering and quarantine service. ${promise} ${rateLimits}`,
    described: curated,
    answers: inline,
  });

/** The curated operations come first. */
const everyEndpoint: readonly Endpoint[] = [...curated, ...endpoints.filter(({isCurated}) => !isCurated)];

export const adminDescription = (described = everyEndpoint): Description =>
  describe({
    title: 'Mail Filtering Service, all operations',
    version: versions.admin,
    about: `Every operation of the mail-filtering and quarantine service, for clients that administer it, such as mfctl. ${promise} ${rateLimits}`,
    described,
    answers: byReference,
  });

interface Parts {
  title: string;
  version: string;
  about: string;
  described: readonly Endpoint[];
  answers: Answers;
}

/** How a description lists the answers of an operation. */
interface Answers {
  /** Schemas that become named components. */
  schemas: z.ZodType[];
  register(registry: OpenAPIRegistry): void;
  success(success: Answer): ResponseConfig;
  failure(status: FailureStatus): RouteConfig['responses'][string];
}

const describe = ({title, version, about, described, answers}: Parts): Description => {
  const registry = new OpenAPIRegistry();
  const key = registry.registerComponent('securitySchemes', 'ApiKey', {type: 'apiKey', in: 'header', name: 'X-API-Key'});
  answers.register(registry);
  for (const {method, path, permission, operationId, tag, summary, deprecated, ...endpoint} of described)
    registry.registerPath({
      ...{method, path, operationId, tags: [tag], summary},
      // As text, so that people and the comments of generated clients have it.
      description: `Scopes: ${scopesWith(permission).join(', ')}`,
      request: requestOf(endpoint),
      ...(deprecated && {deprecated: true, 'x-deprecation': deprecated}),
      responses: responsesOf(endpoint, answers),
      security: [{[key.name]: []}],
    });

  const schemas = answers.schemas.map(schema => ({type: 'schema' as const, schema}));
  const {webhooks, ...document} = new OpenApiGeneratorV31([...schemas, ...registry.definitions]).generateDocument({
    openapi: '3.1.0',
    info: {title, version, description: about, license: {name: 'MIT', identifier: 'MIT'}},
    servers: [{url: '/api/v1', description: 'The node that served this document'}],
    tags: tags.filter(({name}) => described.some(({tag}) => tag === name)),
  });
  return document;
};

const requestOf = ({
  params,
  headers,
  query,
  body,
}: Pick<Endpoint, 'params' | 'headers' | 'query' | 'body'>): NonNullable<RouteConfig['request']> => ({
  ...(params && {params: z.object(params())}),
  ...(headers && {headers: z.object(headers())}),
  ...(query && {query}),
  ...(body && {
    body: {
      required: !body.isOptional,
      content: {...json(body.schema), ...(body.isPatch && {'application/merge-patch+json': {schema: body.schema}})},
    },
  }),
});

const responsesOf = (
  {answer, failures = [], body}: Pick<Endpoint, 'answer' | 'failures' | 'body'>,
  answers: Answers,
): RouteConfig['responses'] => {
  const success = answer();
  const statuses = [400, 401, 403, ...failures, ...(body ? ([413, 415, 422] as const) : []), 429, 500, 503] as const;
  return {
    [success.status]: answers.success(success),
    ...Object.fromEntries(statuses.map(status => [status, answers.failure(status)])),
  };
};

const failures: Record<FailureStatus, {name: string; description: string}> = {
  400: {name: 'BadRequest', description: 'A parameter is wrong, or the body is not JSON'},
  401: {name: 'Unauthorized', description: 'No key, or one that is not valid, revoked or expired'},
  403: {name: 'Forbidden', description: 'The scope of the key does not permit this'},
  404: {name: 'NotFound', description: 'Unknown, or outside the domain of the key'},
  409: {name: 'Conflict', description: 'Conflict with existing data'},
  412: {name: 'PreconditionFailed', description: 'The domain has changed since the ETag was read'},
  413: {name: 'PayloadTooLarge', description: 'The body is larger than 64 KiB'},
  415: {name: 'UnsupportedMediaType', description: 'The body is not application/json or application/merge-patch+json'},
  422: {name: 'UnprocessableEntity', description: 'Fields of the body are wrong; all of them are listed'},
  429: {
    name: 'TooManyRequests',
    description:
      'The limit of the key is used up, four of its searches are running, or too many unknown keys came from the address',
  },
  500: {name: 'InternalServerError', description: 'The node failed; its log says why under the request id'},
  502: {name: 'BadGateway', description: 'The mail could not be delivered to all recipients; it is still held for the others'},
  503: {name: 'ServiceUnavailable', description: 'A node did not answer, the disk is full, or a search has to be narrowed'},
  504: {
    name: 'GatewayTimeout',
    description: 'The action is still running, or the owner node was asked and did not answer; repeating the request is safe',
  },
};

const requestId: Headers = {'X-Request-Id': header('To quote to the operator')};
const limits: Headers = {
  'RateLimit-Policy': header('Requests a key may make in a window of seconds, or an address with unknown keys'),
  RateLimit: header('Remaining requests, and the seconds until there are more'),
};
const retryAfter: Headers = {'Retry-After': header('Seconds', 'integer')};
const authenticate: Headers = {'WWW-Authenticate': header('How to send a key, and what is wrong with the one sent')};

const descriptionOf = (status: number): string => (status === 201 ? 'Created' : 'OK');

/** Repeats every answer where it is used, as the curated description has done since its first release. */
const inline: Answers = {
  schemas: [],
  register: () => undefined,
  success: ({status, content, headers}) => ({
    description: descriptionOf(status),
    content,
    headers: {...requestId, ...limits, ...headers},
  }),
  failure: status => ({
    description: failures[status].description,
    headers: {
      ...requestId,
      ...limits,
      ...(status === 401 && authenticate),
      ...((status === 429 || status === 503) && retryAfter),
    },
    content: json(errorSchema),
  }),
};

/** Marks headers as required, except X-Unreachable-Nodes, which is on partial answers only. */
const always = (headers: Headers): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, each]) => [name, name === 'X-Unreachable-Nodes' ? each : {...each, required: true}]),
  );

const failureHeaders = (status: FailureStatus): Headers => {
  if (status === 401) return {...always({...requestId, ...authenticate}), ...limits};
  if (status === 429) return always({...requestId, ...limits, ...retryAfter});
  if (status === 503) return {...always(requestId), ...limits, ...retryAfter};
  return {...always(requestId), ...limits};
};

/** Covers bulk actions too, which the curated description does not have. */
const anyPayloadTooLarge = 'The body is larger than 64 KiB, or than 256 KiB in a bulk action';

/** Describes each failure once, as a component. */
const byReference: Answers = {
  schemas: [errorSchema, streamEventSchema],
  register(registry) {
    for (const [status, {name, description}] of Object.entries(failures))
      registry.registerComponent('responses', name, {
        description: status === '413' ? anyPayloadTooLarge : description,
        headers: failureHeaders(Number(status) as FailureStatus),
        content: {'application/json': {schema: {$ref: '#/components/schemas/Failure'}}},
      });
  },
  success: ({status, content, headers, moreHeaders}) => ({
    description: descriptionOf(status),
    content,
    headers: always({...requestId, ...limits, ...headers, ...moreHeaders}),
  }),
  failure: status => ({$ref: `#/components/responses/${failures[status].name}`}),
};
