// Declaration of an endpoint of the API, and short forms to write one. Its route, its guard and its part of the descriptions are made
// from it.
import type {ZodContentObject} from '@asteasolutions/zod-to-openapi';
import {z} from 'zod';
import type {ClusterDrift} from '../../../shared/cluster-drift.ts';
import {type SuccessMessage, successSchema} from '../../../shared/envelope.ts';
import {id, nodeId, queueId} from '../../../shared/fields.ts';
import type {noQuerySchema} from '../../../shared/hold-filter.ts';
import type {Permission} from '../../../shared/scopes.ts';
import type {Keys} from '../../services/access/keys.ts';
import type {Audit} from '../../services/audit/audit.ts';
import type {ClusterView} from '../../services/cluster/cluster-view.ts';
import type {JoinTokens} from '../../services/cluster/join-tokens.ts';
import type {Removal} from '../../services/cluster/removal.ts';
import type {DmarcView} from '../../services/dmarc/dmarc-view.ts';
import type {ReportedView} from '../../services/dmarc/reported-view.ts';
import type {DnsView} from '../../services/dns/domain-dns.ts';
import type {DomainTests} from '../../services/dns/domain-test.ts';
import type {DomainParts} from '../../services/domains/domain-parts.ts';
import type {DomainRetentions} from '../../services/domains/domain-retention.ts';
import type {Domains} from '../../services/domains/domains.ts';
import type {GlobalFilters} from '../../services/domains/mail-filters.ts';
import type {Events} from '../../services/events/events.ts';
import type {Trace} from '../../services/events/trace.ts';
import type {Quarantine} from '../../services/quarantine/quarantine.ts';
import type {DigestActions} from '../../services/recipients/digest-actions.ts';
import type {DomainDigests} from '../../services/recipients/digest-settings.ts';
import type {KeySearches} from '../../services/search-limits.ts';
import type {Webhooks} from '../../services/webhooks/webhooks.ts';
import type {Ctx} from '../observe.ts';

/** What endpoints call. */
export interface ApiServices {
  keys: Keys;
  domains: Domains;
  domainParts: DomainParts;
  globalFilters: GlobalFilters;
  dns: DnsView;
  domainTests: DomainTests;
  retentions: DomainRetentions;
  digests: DomainDigests;
  digestActions: DigestActions;
  quarantine: Quarantine;
  keySearches: KeySearches;
  cluster: ClusterView;
  audit: Audit;
  trace: Trace;
  webhooks: Webhooks;
  dmarc: {view: DmarcView & ReportedView};
  events: Events;
  explainDrift(): Promise<ClusterDrift>;
  joinTokens: JoinTokens;
  removal: Removal;
}

export interface Endpoint<Query extends z.ZodObject = z.ZodObject> {
  method: 'get' | 'post' | 'put' | 'delete';
  /** Below the API's prefix: `/domains/{id}`. */
  path: string;
  /** What a key must be permitted to do; of several permissions one is enough. */
  permission: Permission | readonly Permission[];
  /** Generated clients use it as the name of a function. */
  operationId: string;
  tag: string;
  summary: string;
  /** Stable for third-party clients: exactly the operations of the specification's section 4.5. */
  isCurated?: true;
  /** The handler reads them. Functions, as `answer` is one. */
  params?(): z.ZodRawShape;
  headers?(): z.ZodRawShape;
  /** Without it every query parameter is refused. */
  query?: Query;
  body?: RequestBody;
  /** A function, as only the descriptions need it: a node makes no such schema. */
  answer(): Answer;
  /** Statuses of failures that not every operation has; those of a body are implied. */
  failures?: readonly FailureStatus[];
  deprecated?: Deprecation;
  /** Answers a request whose permission and query are checked, and whose body is read. */
  run(ctx: Ctx, services: ApiServices, query: z.output<Query>): Promise<void>;
}

/** The path as the router and metrics have it: `/domains/:id`. */
export const routePath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/** Types the query of `run` by its schema. */
export const endpoint = <Query extends z.ZodObject = typeof noQuerySchema>(declaration: Endpoint<Query>): Endpoint => declaration;

/** The handler or its service validates it, as some answers come before that, such as 404. */
export interface RequestBody {
  schema: z.ZodType;
  isOptional?: true;
  /** May be larger than others, for up to 1000 mails. */
  isBulk?: true;
  /** Is a patch if its media type says so. */
  isPatch?: true;
}

/** The announcement that something will be removed from the API. Days are in UTC. */
export interface Deprecation {
  /** Day of the announcement, such as `2027-01-01`. */
  since: string;
  /** First day on which it may be removed: at least six months after `since`. */
  sunset: string;
  /** A page that says what to use instead. */
  page?: string;
}

export interface Answer {
  status: 200 | 201;
  content: ZodContentObject;
  headers?: Headers;
  /** Headers for the administrators' description only. */
  moreHeaders?: Headers;
}

export type Headers = Record<string, Header>;

/** A type alias, as the generator's own type has an index signature. */
type Header = {
  description: string;
  /** True when every such answer has the header. */
  required?: boolean;
  schema: {type: 'string' | 'integer'};
};

export type FailureStatus = 400 | 401 | 403 | 404 | 409 | 412 | 413 | 415 | 422 | 429 | 500 | 502 | 503 | 504;

export const header = (description: string, type: 'string' | 'integer' = 'string'): Header => ({description, schema: {type}});

export const unreachableNodes = (description: string): Headers => ({'X-Unreachable-Nodes': header(description)});

export const json = (schema: z.ZodType): ZodContentObject => ({'application/json': {schema}});

interface AnswerOptions {
  messages?: SuccessMessage[];
  headers?: Headers;
  moreHeaders?: Headers;
}

export const ok = (data: z.ZodType, {messages = ['OK'], ...headers}: AnswerOptions = {}): Answer => ({
  status: 200,
  content: json(successSchema(data, messages)),
  ...headers,
});

/** An answer that several nodes give; without some of them it is partial, and `missing` says what it lacks. */
export const gathered = (data: z.ZodType, missing: string): Answer =>
  ok(data, {messages: ['OK', 'Partial'], headers: unreachableNodes(missing)});

/** A page of a list that several nodes have. */
export const gatheredPage = (entry: z.ZodType, {total, missing}: {total: string; missing: string}): Answer =>
  ok(z.array(entry), {
    messages: ['OK', 'Partial'],
    headers: {
      'X-Total-Count': header(total, 'integer'),
      ...unreachableNodes(missing),
      Link: header('first, prev and next (RFC 8288)'),
    },
  });

export const created = (data: z.ZodType, headers: Omit<AnswerOptions, 'messages'> = {}): Answer => ({
  status: 201,
  content: json(successSchema(data, ['Created'])),
  ...headers,
});

export const idParameter = () => ({id: id.meta({description: 'Identifier'})});
export const nodeParameter = () => ({node_id: nodeId.meta({description: 'The node'})});
export const mailParameters = () => ({
  node_id: nodeId.meta({description: 'Owner node'}),
  queue_id: queueId.meta({description: 'Identifier on the owner node'}),
});
