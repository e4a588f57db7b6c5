// Webhooks: their records, what became of deliveries on all nodes, and tests. Sending is in webhook-sender.ts.
import {randomBytes} from 'node:crypto';
import {groupBy} from '../../../shared/collections.ts';
import {canonicalDomain} from '../../../shared/domain-name.ts';
import {Fault, type FieldFault} from '../../../shared/fault.ts';
import {
  type CreatedWebhook,
  createWebhookSchema,
  type deliveryStates,
  maxWebhooks,
  replayWebhookSchema,
  type Webhook,
  type WebhookDelivery,
  type WebhookDetail,
  type WebhookProgress,
  type WebhookTest,
} from '../../../shared/webhook.ts';
import type {Actor} from '../actor.ts';
import type {RequireKnownKind} from '../cluster/known-kinds.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import {inOrder, positionOf, shownEvents} from '../events/trace.ts';
import type {AskAll, Gathered} from '../peers/gather.ts';
import type {ConfigStore, ConfigTransaction, Store} from '../ports.ts';
import {allDomains, type StoredWebhook} from '../records.ts';
import {invalidFields, validate} from '../validate.ts';
import type {WebhookTester} from './webhook-sender.ts';
import type {StoredDelivery} from './webhook-store.ts';

export interface Webhooks {
  list(): Promise<Webhook[]>;
  show(actor: Actor, id: number): Promise<Gathered<WebhookDetail>>;
  /** Only the result contains the secret. */
  create(actor: Actor, body: unknown): Promise<CreatedWebhook>;
  remove(actor: Actor, id: number): Promise<void>;
  /** Sends an event of type `test` from this node. */
  test(actor: Actor, id: number): Promise<WebhookTest>;
  /** Every node sends again what it logged since a time; a webhook that was disabled is not any more. */
  replay(actor: Actor, id: number, body: unknown): Promise<Webhook>;
  /** What was not taken at first, the newest event first. */
  deliveries(actor: Actor, id: number, choice: DeliveryChoice): Promise<Gathered<WebhookDelivery[]>>;
}

interface DeliveryChoice {
  state?: (typeof deliveryStates)[number] | undefined;
  limit: number;
}

/** What one node knows of sending: this node, or a peer over mutual TLS; in a store that all nodes share, all of them. */
export interface WebhookLog {
  readonly nodeId: string;
  progress(webhookId: number, actor: Actor): Promise<WebhookProgress[]>;
  deliveries(webhookId: number, choice: DeliveryChoice, actor: Actor): Promise<WebhookDelivery[]>;
}

interface Needs {
  store: Pick<Store, 'config'>;
  configuration: ConfigStore;
  domains: Pick<DomainDirectory, 'findById' | 'findByName'>;
  requireKnown: RequireKnownKind;
  /** Whether this node may send over plain HTTP, to some networks. */
  mayUseHttp(): boolean;
  tester: WebhookTester;
  /** The logs of all current nodes; called for every request. */
  logs(): WebhookLog[];
  ask: AskAll;
  now: () => number;
}

export const createWebhooks = (needs: Needs): Webhooks => {
  const {store, configuration, domains, tester, logs, ask, now} = needs;

  /** Undefined for a webhook of a domain that was deleted a moment ago. */
  const toWebhook = ({domain_id, ...stored}: StoredWebhook): Webhook | undefined => {
    const domain = domain_id === allDomains ? null : domains.findById(domain_id)?.name;
    if (domain === undefined) return undefined;
    return shownOf(stored, domain);
  };
  const shownById = async (id: number): Promise<Webhook> => {
    const webhook = toWebhook(await byId(store, id));
    if (!webhook) throw unknown(id);
    return webhook;
  };

  return {
    list: async () => (await store.config.listWebhooks()).flatMap(stored => toWebhook(stored) ?? []),

    async show(actor, id) {
      const webhook = await shownById(id);
      const {answers, unreachable} = await ask(logs(), async log => log.progress(id, actor));
      return {result: {...webhook, progress: answers.flatMap(({answer}) => answer)}, unreachable};
    },

    create: async (actor, body) => create(needs, actor, body),

    async remove(actor, id) {
      await configuration.change(async tx => {
        const {url} = await byId(tx, id);
        await tx.remove('webhook', id);
        await tx.audit(actor, 'webhook.delete', String(id), originOf(url));
      });
    },

    async test(actor, id) {
      const webhook = await byId(store, id);
      const outcome = await tester.test(webhook);
      const result = outcome.error === null ? 'taken' : 'not taken';
      await configuration.change(async tx => tx.audit(actor, 'webhook.test', String(id), `${originOf(webhook.url)}, ${result}`));
      return outcome;
    },

    async replay(actor, id, body) {
      const since = new Date(validate(replayWebhookSchema, body).since).toISOString();
      if (Date.parse(since) > now()) throw invalidFields([{path: 'since', detail: 'must lie in the past'}]);
      await configuration.change(async tx => {
        const {url, disabled_at} = await byId(tx, id);
        const replay = {at: tx.at, since, is_fresh_start: disabled_at !== null};
        await tx.update('webhook', id, {replay, disabled_at: null, disabled_because: null});
        await tx.audit(actor, 'webhook.replay', String(id), `${originOf(url)}, since ${since}`);
      });
      return shownById(id);
    },

    async deliveries(actor, id, choice) {
      await byId(store, id);
      const {answers, unreachable} = await ask(logs(), async log => log.deliveries(id, choice, actor));
      const all = answers.flatMap(({answer}) => answer).map(delivery => ({delivery, position: positionOf(delivery.event_id)}));
      const sorted = all.toSorted((a, b) => inOrder(a.position, b.position));
      return {result: sorted.slice(0, choice.limit).map(({delivery}) => delivery), unreachable};
    },
  };
};

/** Without the secret. */
const shownOf = (
  {id, url, events, description, created_at, disabled_at, disabled_because}: Omit<Webhook, 'domain'>,
  domain: string | null,
): Webhook => ({id, url, events, domain, description, created_at, disabled_at, disabled_because});

const create = async ({configuration, domains, ...needs}: Needs, actor: Actor, body: unknown): Promise<CreatedWebhook> => {
  const {url: given, events, domain, description} = validate(createWebhookSchema, body);
  const url = new URL(given);
  const owner = domain === null ? undefined : domains.findByName(canonicalDomain(domain) ?? '');
  const faults: FieldFault[] = [];
  if (url.protocol === 'http:' && !needs.mayUseHttp()) faults.push({path: 'url', detail: httpFault});
  if (domain !== null && !owner)
    faults.push({path: 'domain', detail: 'is not a domain of this cluster; create the domain first'});
  if (faults.length > 0) throw invalidFields(faults);

  return configuration.change(async tx => {
    needs.requireKnown('webhook');
    if ((await tx.config.listWebhooks()).length >= maxWebhooks)
      throw new Fault('conflict', `there are ${maxWebhooks} webhooks, the most there may be; delete one first`);
    if (owner && !(await tx.config.findDomain(owner.id)))
      throw new Fault('conflict', `the domain ${owner.name} was deleted meanwhile; try again`);
    const id = await tx.nextId('webhook');
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const stored = {url: url.href, events, description, created_at: tx.at, disabled_at: null, disabled_because: null};
    await tx.create('webhook', id, {...stored, domain_id: owner?.id ?? allDomains, secret, replay: null});
    await tx.audit(actor, 'webhook.create', String(id), url.origin);
    return {...shownOf({id, ...stored}, owner?.name ?? null), secret};
  });
};

const httpFault =
  'must begin with https://; this node may use http:// only after webhooks.allow_networks in its mfd.yaml names the network';

/** The path and the query may be secrets. */
const originOf = (url: string): string => new URL(url).origin;

const byId = async ({config}: Pick<ConfigTransaction, 'config'>, id: number): Promise<StoredWebhook> => {
  const [webhook] = await config.listWebhooks([id]);
  if (!webhook) throw unknown(id);
  return webhook;
};

const unknown = (id: number): Fault => new Fault('not_found', `there is no webhook ${id}`);

interface LogNeeds {
  store: Pick<Store, 'webhooks' | 'events' | 'config'>;
  nodeId: string;
}

export const createWebhookLog = ({store, nodeId}: LogNeeds): WebhookLog => ({
  nodeId,

  async progress(webhookId) {
    const counts = await store.webhooks.counts(webhookId);
    return (await store.webhooks.progress(webhookId)).map(
      ({logged_by, delivered_at, failing_since, first, status, error, missed_at}) => {
        const {waiting = 0, given_up = 0} = counts.find(one => one.logged_by === logged_by) ?? {};
        const next_try_at = first?.next_try_at ?? null;
        return {node_id: logged_by, delivered_at, failing_since, next_try_at, status, error, waiting, given_up, missed_at};
      },
    );
  },

  async deliveries(webhookId, {state, limit}) {
    const found = await store.webhooks.deliveries({
      webhook_id: webhookId,
      ...(state !== undefined && {isGivenUp: state === 'given_up'}),
      limit,
    });
    const shown = await Promise.all(
      [...groupBy(found, ({logged_by}) => logged_by)].map(async ([logger, of]) => shownDeliveries({store, nodeId}, logger, of)),
    );
    return shown.flat();
  },
});

/** Without those whose entry is gone from the log. */
const shownDeliveries = async (
  {store, nodeId}: LogNeeds,
  logger: string,
  deliveries: readonly StoredDelivery[],
): Promise<WebhookDelivery[]> => {
  const entries = await store.events.ofNumbers(
    logger,
    deliveries.map(({number}) => number),
  );
  const shown = await shownEvents({store, nodeId}, entries);
  const byNumber = new Map(entries.map(({number}, at) => [number, shown[at]]));
  return deliveries.flatMap(({number, is_given_up, tries, tried_at, next_try_at, status, error}) => {
    const entry = byNumber.get(number);
    if (!entry) return [];
    return {
      ...{node_id: logger, event_id: entry.id, event: entry.event, mail_node_id: entry.node_id, queue_id: entry.queue_id},
      ...{at: entry.at, state: is_given_up ? ('given_up' as const) : ('waiting' as const)},
      ...{tries, tried_at, next_try_at, status, error},
    };
  });
};
