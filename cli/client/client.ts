// The client of the API, with one method for each endpoint. No other file of mfctl names a path of the API.
import type {ApiKey, CreateApiKey, CreatedApiKey, Me} from '../../shared/api-key.ts';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {ClusterDrift} from '../../shared/cluster-drift.ts';
import type {ClusterNode, RemovedNode} from '../../shared/cluster-node.ts';
import type {ClusterStatus} from '../../shared/cluster-status.ts';
import type {CreateDkimKey, DkimKey} from '../../shared/dkim-key.ts';
import type {Domain} from '../../shared/domain.ts';
import type {
  ActionOutcome,
  BulkResult,
  HeldMail,
  HeldMailDetail,
  HoldAction,
  MailReference,
  Summary,
} from '../../shared/held-mail.ts';
import type {CreateMailFilter, MailFilter} from '../../shared/mail-filter.ts';
import {
  type Answer,
  createTransport,
  type Method,
  type Query,
  type RawAnswer,
  type RequestOptions,
  type Transport,
  type TransportOptions,
} from './transport.ts';

export type {Answer, Method, Query} from './transport.ts';

/** A number, or its digits as they were typed. */
type Id = number | string;

/** A request body that the node checks. Members that are undefined are left out. */
type Input<T> = {[Name in keyof T]?: T[Name] | null | undefined};

/** All methods reject with a CliError for everything but success. */
export interface Client {
  me(): Promise<Answer<Me>>;
  keys: {
    list(): Promise<Answer<ApiKey[]>>;
    create(key: Input<CreateApiKey>): Promise<Answer<CreatedApiKey>>;
    /** Now, or at the time `at` in the future (ISO 8601). */
    revoke(id: Id, options?: {at?: string | undefined; force?: boolean | undefined}): Promise<Answer<ApiKey>>;
    remove(id: Id, options?: {force?: boolean | undefined}): Promise<Answer<null>>;
  };
  domains: {
    list(): Promise<Answer<Domain[]>>;
    get(id: Id): Promise<Answer<Domain>>;
    create(domain: {name: string} & Record<string, unknown>): Promise<Answer<Domain>>;
    /** Changes the members of `patch`. Rejects with `precondition_failed` and changes nothing if the domain's ETag is not `etag`. */
    update(id: Id, patch: Record<string, unknown>, etag: string | undefined): Promise<Answer<Domain>>;
    remove(id: Id, etag?: string): Promise<Answer<null>>;
    filters(id: Id): Promise<Answer<MailFilter[]>>;
    addFilter(id: Id, filter: NewFilter): Promise<Answer<MailFilter>>;
    removeFilter(id: Id, filterId: Id): Promise<Answer<null>>;
    dkimKeys(id: Id): Promise<Answer<DkimKey[]>>;
    createDkimKey(id: Id, key: Input<CreateDkimKey>): Promise<Answer<DkimKey>>;
    removeDkimKey(id: Id, selector: string): Promise<Answer<null>>;
  };
  quarantine: {
    list(query: Query, options?: RequestOptions): Promise<Answer<HeldMail[]>>;
    summary(query?: Query): Promise<Answer<Summary>>;
    get(mail: MailReference): Promise<Answer<HeldMailDetail>>;
    /**
     * Resolves once the answer has begun and is a success; reading on may still reject with a CliError. When `signal` aborts
     * before that, it rejects with its reason.
     */
    body(mail: MailReference, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>;
    act(action: HoldAction, mail: MailReference): Promise<Answer<ActionOutcome>>;
    /** Results in the order of `items`, at most 1,000. */
    actOnMany(action: HoldAction, items: readonly MailReference[], options?: RequestOptions): Promise<Answer<BulkResult[]>>;
  };
  cluster: {
    status(options?: RequestOptions): Promise<Answer<ClusterStatus>>;
    drift(options?: RequestOptions): Promise<Answer<ClusterDrift>>;
    createToken(options?: {expiresInSeconds?: number | undefined}): Promise<Answer<CreatedToken>>;
    node(nodeId: string): Promise<Answer<ClusterNode>>;
    removeNode(
      nodeId: string,
      options: {force?: boolean | undefined; revokeKeys?: boolean | undefined},
    ): Promise<Answer<RemovedNode | null>>;
  };
  audit: {list(query: Query): Promise<Answer<AuditEntry[]>>};
  events: Transport['events'];
  /** The description of the API in YAML; with `isAdmin` it contains every operation. */
  openapi(isAdmin: boolean): Promise<RawAnswer>;
  /** Any request that a person typed: a path below `/api/v1/`, and a body of JSON. Errors keep the words of the API. */
  request(method: Method, path: string, body: string | undefined): Promise<RawAnswer>;
}

/** Members that do not belong to its kind may be left out. */
type NewFilter = Pick<CreateMailFilter, 'action' | 'match' | 'pattern'> & Partial<CreateMailFilter>;

export interface CreatedToken {
  token: string;
  expires_at: string;
  address: string;
  ca_fingerprint: string;
}

/** Loaded when a command first needs it, so that help does not wait for it. */
export const createClient = async (needs: TransportOptions): Promise<Client> => clientOver(await createTransport(needs));

export const clientOver = (transport: Transport): Client => ({
  me: () => transport.send({path: 'auth/me'}),
  keys: keysOver(transport),
  domains: domainsOver(transport),
  quarantine: quarantineOver(transport),
  cluster: clusterOver(transport),
  audit: {list: query => transport.send({path: 'audit', query})},
  events: transport.events,
  openapi: isAdmin => transport.raw({path: isAdmin ? 'openapi-admin.yaml' : 'openapi.yaml'}),
  request: (method, path, body) => transport.raw({method, path: path.replace(/^\/?api\/v1\//, ''), body}),
});

const keysOver = ({send}: Transport): Client['keys'] => ({
  list: () => send({path: 'auth/api-keys'}),
  create: json => send({method: 'POST', path: 'auth/api-keys', json}),
  revoke: (id, {at, force} = {}) =>
    send({method: 'POST', path: `auth/api-keys/${id}/revoke`, query: {force}, ...(at !== undefined && {json: {at}})}),
  remove: (id, {force} = {}) => send({method: 'DELETE', path: `auth/api-keys/${id}`, query: {force}}),
});

const domainsOver = ({send}: Transport): Client['domains'] => ({
  list: () => send({path: 'domains'}),
  get: id => send({path: `domains/${id}`}),
  create: json => send({method: 'POST', path: 'domains', json}),
  update: (id, json, etag) => {
    const headers = {'content-type': 'application/merge-patch+json', ...ifMatch(etag)};
    return send({method: 'PUT', path: `domains/${id}`, json, headers});
  },
  remove: (id, etag) => send({method: 'DELETE', path: `domains/${id}`, headers: ifMatch(etag)}),
  filters: id => send({path: `domains/${id}/filters`}),
  addFilter: (id, json) => send({method: 'POST', path: `domains/${id}/filters`, json}),
  removeFilter: (id, filterId) => send({method: 'DELETE', path: `domains/${id}/filters/${filterId}`}),
  dkimKeys: id => send({path: `domains/${id}/dkim-keys`}),
  createDkimKey: (id, json) => send({method: 'POST', path: `domains/${id}/dkim-keys`, json}),
  removeDkimKey: (id, selector) => send({method: 'DELETE', path: `domains/${id}/dkim-keys/${encodeURIComponent(selector)}`}),
});

const ifMatch = (etag: string | undefined): Record<string, string> => (etag === undefined ? {} : {'if-match': etag});

const quarantineOver = ({send, download}: Transport): Client['quarantine'] => ({
  list: (query, options) => send({path: 'mail/quarantine', query, ...options}),
  summary: query => send({path: 'mail/quarantine/summary', query}),
  get: mail => send({path: mailPath(mail)}),
  body: (mail, signal) => download(`${mailPath(mail)}/body`, signal),
  act: (action, mail) => send({method: 'POST', path: `${mailPath(mail)}/${action}`}),
  actOnMany: (action, items, options) => send({method: 'POST', path: `mail/quarantine/${action}`, json: {items}, ...options}),
});

const mailPath = ({node_id, queue_id}: MailReference): string => `mail/quarantine/${node_id}/${queue_id}`;

const clusterOver = ({send}: Transport): Client['cluster'] => ({
  status: options => send({path: 'cluster/status', ...options}),
  drift: options => send({path: 'cluster/drift', ...options}),
  createToken: ({expiresInSeconds} = {}) =>
    send({method: 'POST', path: 'cluster/tokens', json: {expires_in_s: expiresInSeconds}}),
  node: nodeId => send({path: `cluster/nodes/${encodeURIComponent(nodeId)}`}),
  removeNode: (nodeId, {force, revokeKeys}) =>
    send({
      method: 'DELETE',
      path: `cluster/nodes/${encodeURIComponent(nodeId)}`,
      query: {force, revoke_keys: revokeKeys},
    }),
});
