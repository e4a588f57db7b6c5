// The client of the API, with one method for each endpoint. No other file of mfctl names a path of the API.
import type {ApiKey, CreateApiKey, CreatedApiKey, Me} from '../../shared/api-key.ts';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import type {ClusterDrift} from '../../shared/cluster-drift.ts';
import type {ClusterNode, RemovedNode} from '../../shared/cluster-node.ts';
import type {ClusterStatus} from '../../shared/cluster-status.ts';
import type {DigestPatch, DigestPreview, DomainDigest, SentDigests} from '../../shared/digest.ts';
import type {CreateDkimKey, DkimKey} from '../../shared/dkim-key.ts';
import type {DmarcReport, DmarcSummary, ReportPreview} from '../../shared/dmarc-report.ts';
import type {Domain} from '../../shared/domain.ts';
import type {DomainDns} from '../../shared/domain-dns.ts';
import type {DomainTest} from '../../shared/domain-test.ts';
import {hasOwn} from '../../shared/has-own.ts';
import type {
  ActedMail,
  ActionOutcome,
  BulkResult,
  HeldMail,
  HeldMailDetail,
  HoldAction,
  MailReference,
  Summary,
  TrainingClass,
  TrainingOutcome,
} from '../../shared/held-mail.ts';
import type {MailEvent} from '../../shared/mail-event.ts';
import type {CreateMailFilter, GlobalFilter, MailFilter} from '../../shared/mail-filter.ts';
import {reasons} from '../../shared/reason.ts';
import type {ReportedSources} from '../../shared/reported-source.ts';
import type {AppliedRetention, RetentionPatch} from '../../shared/retention.ts';
import type {
  CreatedWebhook,
  CreateWebhook,
  ReplayWebhook,
  Webhook,
  WebhookDelivery,
  WebhookDetail,
  WebhookTest,
} from '../../shared/webhook.ts';
import {CliError, exitCodes} from '../errors.ts';
import {resultFailure} from './request-failure.ts';
import {
  createTransport,
  type Method,
  type Query,
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
export type Client = ReturnType<typeof clientOver>;

/** Members that do not belong to its kind may be left out. */
export type NewFilter = Pick<CreateMailFilter, 'action' | 'match' | 'pattern'> & Partial<CreateMailFilter>;

export interface CreatedToken {
  token: string;
  expires_at: string;
  address: string;
  ca_fingerprint: string;
}

/** Loaded when a command first needs it, so that help does not wait for it. */
export const createClient = async (needs: TransportOptions & ClientObservers): Promise<Client> =>
  clientOver(await createTransport(needs), needs);

interface ClientObservers {
  /** Called with every status of the cluster that was read. */
  onStatus?: ((status: ClusterStatus) => void) | undefined;
}

export const clientOver = (transport: Transport, {onStatus = () => {}}: ClientObservers = {}) => ({
  me: () => transport.send<Me>({path: 'auth/me'}),
  keys: keysOver(transport),
  domains: domainsOver(transport),
  filters: filtersOver(transport),
  quarantine: quarantineOver(transport),
  cluster: clusterOver(transport, onStatus),
  dmarc: dmarcOver(transport),
  webhooks: webhooksOver(transport),
  trace: {
    find: (query: Query) => transport.send<MailEvent[]>({path: 'mail/trace', query}),
    show: ({node_id, queue_id}: MailReference) => transport.send<MailEvent[]>({path: `mail/trace/${node_id}/${queue_id}`}),
  },
  audit: {list: (query: Query) => transport.send<AuditEntry[]>({path: 'audit', query})},
  events: transport.events,
  /** The description of the API in YAML; with `isAdmin` it contains every operation. */
  openapi: (isAdmin: boolean) => transport.raw({path: isAdmin ? 'openapi-admin.yaml' : 'openapi.yaml'}),
  /** Any request that a person typed: a path below `/api/v1/`, and a body of JSON. Errors keep the words of the API. */
  request: (method: Method, path: string, body: string | undefined) =>
    transport.raw({method, path: path.replace(/^\/?api\/v1\//, ''), body}),
});

const keysOver = ({send}: Transport) => ({
  list: () => send<ApiKey[]>({path: 'auth/api-keys'}),
  /** Nodes of 0.8 know `domain` only. */
  create({domains, ...rest}: Input<CreateApiKey>) {
    const [only, ...others] = domains ?? [];
    const bound = others.length > 0 ? {domains} : only === undefined ? {} : {domain: only};
    return send<CreatedApiKey>({method: 'POST', path: 'auth/api-keys', json: {...rest, ...bound}});
  },
  /** Now, or at the time `at` in the future (ISO 8601). */
  revoke: (id: Id, {at, force}: {at?: string | undefined; force?: boolean | undefined} = {}) =>
    send<ApiKey>({method: 'POST', path: `auth/api-keys/${id}/revoke`, query: {force}, json: at && {at}}),
  remove: (id: Id, {force}: {force?: boolean | undefined} = {}) =>
    send<null>({method: 'DELETE', path: `auth/api-keys/${id}`, query: {force}}),
});

const domainsOver = ({send}: Transport) => ({
  list: () => send<Domain[]>({path: 'domains'}),
  get: (id: Id) => send<Domain>({path: `domains/${id}`}),
  create({retention, ...rest}: {name: string} & Record<string, unknown>) {
    // Nodes of 0.8 do not know it.
    const json = isObject(retention) ? {...rest, retention} : rest;
    return send<Domain>({method: 'POST', path: 'domains', json});
  },
  /** Changes the members of `patch`. Rejects with `precondition_failed` and changes nothing if the domain's ETag is not `etag`. */
  update: (id: Id, patch: Record<string, unknown>, etag: string | undefined) => {
    const headers = {'content-type': 'application/merge-patch+json', ...ifMatch(etag)};
    return send<Domain>({method: 'PUT', path: `domains/${id}`, json: withWholeRetention(patch), headers});
  },
  remove: (id: Id, etag?: string) => send<null>({method: 'DELETE', path: `domains/${id}`, headers: ifMatch(etag)}),
  /** With `check` the node asks DNS. */
  dns: (id: Id, query: {check: boolean}) => send<DomainDns>({path: `domains/${id}/dns`, query}),
  /** A node of an earlier version answers `not_found`. */
  test: (id: Id, query?: {only: 'connection'}, options?: RequestOptions) =>
    send<DomainTest>({path: `domains/${id}/test`, query, ...options}),
  retention: (id: Id) => send<AppliedRetention>({path: `domains/${id}/retention`}),
  /** Changes the members of `json`. */
  setRetention: (id: Id, json: Input<RetentionPatch>) =>
    send<AppliedRetention>({method: 'PUT', path: `domains/${id}/retention`, json}),
  digest: (id: Id) => send<DomainDigest>({path: `domains/${id}/digest`}),
  /** Sends only the members to change. */
  setDigest: (id: Id, json: DigestPatch) => send<DomainDigest>({method: 'PUT', path: `domains/${id}/digest`, json}),
  digestPreview: (id: Id, address: string) => send<DigestPreview>({path: `domains/${id}/digest/preview`, query: {address}}),
  sendDigests: (id: Id) => send<SentDigests>({method: 'POST', path: `domains/${id}/digest/send`}),
  removeRetention: (id: Id) => send<AppliedRetention>({method: 'DELETE', path: `domains/${id}/retention`}),
  filters: (id: Id) => send<MailFilter[]>({path: `domains/${id}/filters`}),
  addFilter: (id: Id, json: NewFilter) => send<MailFilter>({method: 'POST', path: `domains/${id}/filters`, json}),
  removeFilter: (id: Id, filterId: Id) => send<null>({method: 'DELETE', path: `domains/${id}/filters/${filterId}`}),
  dkimKeys: (id: Id) => send<DkimKey[]>({path: `domains/${id}/dkim-keys`}),
  createDkimKey: (id: Id, json: Input<CreateDkimKey>) => send<DkimKey>({method: 'POST', path: `domains/${id}/dkim-keys`, json}),
  removeDkimKey: (id: Id, selector: string) =>
    send<null>({method: 'DELETE', path: `domains/${id}/dkim-keys/${segment('DKIM key', selector)}`}),
});

/** The node merges objects: what the new retention does not name has to go. */
const withWholeRetention = ({retention, ...patch}: Record<string, unknown>): Record<string, unknown> => {
  if (!isObject(retention)) return retention === undefined ? patch : {...patch, retention};
  const {by_reason} = retention;
  const none = Object.fromEntries(reasons.map(reason => [reason, null]));
  return {...patch, retention: {days: null, ...retention, by_reason: {...none, ...(isObject(by_reason) && by_reason)}}};
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** For all domains. */
const filtersOver = ({send}: Transport) => ({
  list: () => send<GlobalFilter[]>({path: 'filters'}),
  add: (json: NewFilter) => send<GlobalFilter>({method: 'POST', path: 'filters', json}),
  remove: (id: Id) => send<null>({method: 'DELETE', path: `filters/${id}`}),
});

const webhooksOver = ({send}: Transport) => ({
  list: () => send<Webhook[]>({path: 'webhooks'}),
  get: (id: Id) => send<WebhookDetail>({path: `webhooks/${id}`}),
  add: (json: Input<CreateWebhook>) => send<CreatedWebhook>({method: 'POST', path: 'webhooks', json}),
  remove: (id: Id) => send<null>({method: 'DELETE', path: `webhooks/${id}`}),
  test: (id: Id) => send<WebhookTest>({method: 'POST', path: `webhooks/${id}/test`}),
  /** Since a time, ISO 8601. */
  replay: (id: Id, json: ReplayWebhook) => send<Webhook>({method: 'POST', path: `webhooks/${id}/replay`, json}),
  deliveries: (id: Id, query: Query) => send<WebhookDelivery[]>({path: `webhooks/${id}/deliveries`, query}),
});

const ifMatch = (etag: string | undefined): Record<string, string> => (etag === undefined ? {} : {'if-match': etag});

const quarantineOver = ({send, download}: Transport) => ({
  list: (query: Query, options?: RequestOptions) => send<HeldMail[]>({path: 'mail/quarantine', query, ...options}),
  summary: (query?: Query) => send<Summary>({path: 'mail/quarantine/summary', query}),
  get: (mail: MailReference) => send<HeldMailDetail>({path: mailPath(mail)}),
  /** See `Transport.download`. */
  body: (mail: MailReference, signal?: AbortSignal) => download(`${mailPath(mail)}/body`, signal),
  act: (action: HoldAction, mail: MailReference) => send<ActionOutcome>({method: 'POST', path: `${mailPath(mail)}/${action}`}),
  /**
   * For some of the recipients; fails as `act` does. As one of many: a node of an earlier version refuses an item with recipients, and would
   * leave them out of a single request.
   */
  async actForSome(action: HoldAction, item: ActedMail): Promise<ActionOutcome> {
    const path = `mail/quarantine/${action}`;
    const {data} = await send<[BulkResult]>({method: 'POST', path, json: {items: [item]}});
    const [result] = data;
    if (hasOwn(result, 'error')) throw resultFailure(result.error, path);
    return result;
  },
  train: (mail: MailReference, as: TrainingClass) =>
    send<TrainingOutcome>({method: 'POST', path: `${mailPath(mail)}/train`, json: {as}}),
  /** Results in the order of `items`, at most 1,000. */
  actOnMany: (action: HoldAction, items: readonly ActedMail[], options?: RequestOptions) =>
    send<BulkResult[]>({method: 'POST', path: `mail/quarantine/${action}`, json: {items}, ...options}),
});

const mailPath = ({node_id, queue_id}: MailReference): string => `mail/quarantine/${node_id}/${queue_id}`;

const dmarcOver = ({send}: Transport) => ({
  summary: (query: Query) => send<DmarcSummary>({path: 'dmarc/summary', query}),
  sources: (query: Query) => send<ReportedSources>({path: 'dmarc/sources', query}),
  reports: (query: Query) => send<DmarcReport[]>({path: 'dmarc/reports', query}),
  preview: (day: string, policyDomain: string) =>
    send<ReportPreview>({path: `dmarc/reports/${day}/${segment('domain', policyDomain)}`}),
});

const clusterOver = ({send}: Transport, onStatus: (status: ClusterStatus) => void) => ({
  async status(options?: RequestOptions) {
    const answer = await send<ClusterStatus>({path: 'cluster/status', ...options});
    onStatus(answer.data);
    return answer;
  },
  drift: (options?: RequestOptions) => send<ClusterDrift>({path: 'cluster/drift', ...options}),
  createToken: ({expiresInSeconds}: {expiresInSeconds?: number | undefined} = {}) =>
    send<CreatedToken>({method: 'POST', path: 'cluster/tokens', json: {expires_in_s: expiresInSeconds}}),
  node: (nodeId: string) => send<ClusterNode>({path: `cluster/nodes/${segment('node', nodeId)}`}),
  removeNode: (nodeId: string, {force, revokeKeys}: {force?: boolean | undefined; revokeKeys?: boolean | undefined}) =>
    send<RemovedNode | null>({
      method: 'DELETE',
      path: `cluster/nodes/${segment('node', nodeId)}`,
      query: {force, revoke_keys: revokeKeys},
    }),
});

/** One segment of a path. Encoding cannot protect names that mean a folder (RFC 3986 section 5.2.4): nothing is called so. */
const segment = (what: string, name: string): string => {
  if (['', '.', '..'].includes(name))
    throw new CliError('not_found', `there is no ${what} ${JSON.stringify(name)}`, {exitCode: exitCodes.notFound});
  return encodeURIComponent(name);
};
