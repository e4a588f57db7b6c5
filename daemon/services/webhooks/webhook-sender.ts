// Sender of webhooks: a runner for each webhook and each log that this node sends. None of them waits for another one.
import {randomUUID} from 'node:crypto';
import {setMaxListeners} from 'node:events';
import type {WebhookTest} from '../../../shared/webhook.ts';
import type {ConfigStore, Store} from '../ports.ts';
import type {StoredWebhook} from '../records.ts';
import {createSemaphore} from '../semaphore.ts';
import {type LogRunner, startLogRunner} from './log-runner.ts';
import type {Clock, RunnerNeeds} from './runner-needs.ts';
import {signed} from './signed-message.ts';
import type {WebhookStore} from './webhook-store.ts';
import {type Post, requestsAtOnce, type WebhookTransport} from './webhook-transport.ts';

export interface WebhookTester {
  /** Sends an event of type `test` from this node, also where the webhook is disabled. */
  test(webhook: StoredWebhook): Promise<WebhookTest>;
}

export interface WebhookSender extends WebhookTester {
  start(): void;
  /** Stores how far everything was sent. */
  stop(): Promise<void>;
}

/** The logs that this node sends. */
export interface SentLogs {
  /** `taken`: those of `held` that it did not have a moment ago; `returning`: others, whose own node is back. */
  renew(): Promise<{held: readonly string[]; taken: readonly string[]; returning: readonly string[]}>;
  giveBack(loggedBy: string): Promise<void>;
  /** One transaction. False, and nothing is written, when the log is another node's to send by now. */
  write(loggedBy: string, work: (webhooks: WebhookStore) => Promise<void>): Promise<boolean>;
}

interface Needs extends Pick<RunnerNeeds, 'version' | 'onResult'> {
  nodeId: string;
  store: Pick<Store, 'config' | 'events' | 'webhooks' | 'transaction'>;
  configuration: ConfigStore;
  transport: WebhookTransport;
  logs: SentLogs;
  clock: Clock;
  random?: () => number;
  /** How many runners fail; told every few seconds while there is a webhook. */
  onFailing(count: number): void;
  onMissed(webhook: StoredWebhook, loggedBy: string): void;
  onDisabled(webhook: StoredWebhook, because: string): void;
  onFailure(error: unknown): void;
}

const checkMs = 5000;

export const createWebhookSender = (needs: Needs): WebhookSender => {
  const {nodeId, version, configuration, transport, clock, onFailure} = needs;
  const stopped = new AbortController();
  // Each test that is under way listens.
  setMaxListeners(0, stopped.signal);
  const connections = createConnections(transport);
  const webhooks = createWebhookList(needs);
  const runners = createRunners(needs, connections.of);

  const check = async (): Promise<void> => {
    if (stopped.signal.aborted) return;
    const enabled = await webhooks.enabled();
    const held = enabled.length === 0 ? [] : await takeLogs(needs.logs, runners);
    await runners.set(enabled.flatMap(webhook => held.map(loggedBy => ({webhook, loggedBy}))));
    connections.keepOnly(enabled);
    needs.onFailing(runners.countFailing());
  };
  const isNeeded = () => !stopped.signal.aborted && webhooks.mayChange();
  const checkAgain = createRepeated({check, isNeeded, onFailure});

  return {
    start() {
      // The webhooks of a domain go with it.
      configuration.onChange(async changed => {
        if (!changed.some(({kind}) => kind === 'webhook' || kind === 'domain')) return;
        webhooks.readAgain();
        void checkAgain();
      });
      void checkAgain();
    },
    async test({url, secret}) {
      const {post, close} = transport.open();
      const now = clock.now();
      const body = JSON.stringify({type: 'test', timestamp: new Date(now).toISOString(), data: {node_id: nodeId}});
      const message = signed({id: `test-${randomUUID()}`, body}, {secret, now, version});
      try {
        const {status, error, took_ms} = await post({url, ...message, signal: stopped.signal});
        return {node_id: nodeId, status, error, took_ms};
      } finally {
        close();
      }
    },
    async stop() {
      stopped.abort();
      await checkAgain();
      await runners.set([]);
      connections.keepOnly([]);
    },
  };
};

/** The logs that this node sends now. */
const takeLogs = async (
  logs: SentLogs,
  runners: Pick<ReturnType<typeof createRunners>, 'endLog'>,
): Promise<readonly string[]> => {
  const {held, taken, returning} = await logs.renew();
  // This process may have been stopped for a while: what it knows of a log is from before another node sent it.
  for (const loggedBy of taken) await runners.endLog(loggedBy);
  for (const loggedBy of returning) {
    await runners.endLog(loggedBy);
    await logs.giveBack(loggedBy);
  }
  return held;
};

/** The webhooks that are not disabled, as they are in the store. */
const createWebhookList = ({store}: Pick<Needs, 'store'>) => {
  let enabled: StoredWebhook[] = [];
  let isStale = true;

  const read = async (): Promise<void> => {
    const webhooks = await store.config.listWebhooks();
    enabled = webhooks.filter(({disabled_at}) => disabled_at === null);
    const known = new Set(webhooks.map(({id}) => id));
    if ((await store.webhooks.progress()).every(({webhook_id}) => known.has(webhook_id))) return;
    await store.transaction(async tx => tx.webhooks.keepOnly((await tx.config.listWebhooks()).map(({id}) => id)));
  };

  return {
    readAgain() {
      isStale = true;
    },
    /** Whether there is something to do. */
    mayChange: () => isStale || enabled.length > 0,
    async enabled(): Promise<readonly StoredWebhook[]> {
      if (!isStale) return enabled;
      isStale = false;
      await read().catch(error => {
        isStale = true;
        throw error;
      });
      return enabled;
    },
  };
};

interface Wanted {
  webhook: StoredWebhook;
  loggedBy: string;
}

const createRunners = (needs: Needs, postOf: (webhookId: number) => Post) => {
  const {nodeId, store, configuration, version, logs, clock, random = Math.random, onFailure, onResult} = needs;
  /** By the record as well: a changed one is another webhook to its runners. */
  const running = new Map<string, {loggedBy: string; runner: LogRunner}>();

  const disable = async ({id}: StoredWebhook, because: string): Promise<void> =>
    configuration.change(async tx => {
      const [webhook] = await tx.config.listWebhooks([id]);
      if (!webhook || webhook.disabled_at !== null) return;
      await tx.update('webhook', id, {disabled_at: tx.at, disabled_because: `${nodeId}: ${because}`});
      await tx.audit({keyId: null, remoteAddress: null}, 'webhook.disable', String(id), because);
    });

  const begin = ({webhook, loggedBy}: Wanted): LogRunner =>
    startLogRunner({
      ...{webhook, loggedBy, store, version, clock, random, onFailure, onResult},
      write: async work => logs.write(loggedBy, work),
      post: postOf(webhook.id),
      onDisable(because) {
        needs.onDisabled(webhook, because);
        // A runner that cannot disable its webhook begins again, and finds the same.
        disable(webhook, because).catch(onFailure);
      },
      onMissed: () => needs.onMissed(webhook, loggedBy),
    });

  const end = async (isEnding: (key: string, one: {loggedBy: string; runner: LogRunner}) => boolean): Promise<void> => {
    const ending = [...running].filter(([key, one]) => isEnding(key, one));
    for (const [key] of ending) running.delete(key);
    await Promise.all(ending.map(async ([, {runner}]) => runner.stop()));
  };

  return {
    endLog: async (name: string) => end((_key, {loggedBy}) => loggedBy === name),
    /** Ends all others, and begins again those that have ended. */
    async set(wanted: readonly Wanted[]): Promise<void> {
      const byKey = new Map(wanted.map(one => [JSON.stringify([one.loggedBy, one.webhook]), one]));
      await end((key, {runner}) => !byKey.has(key) || runner.hasEnded());
      for (const [key, one] of byKey) if (!running.has(key)) running.set(key, {loggedBy: one.loggedBy, runner: begin(one)});
    },
    countFailing: () => [...running.values()].filter(({runner}) => runner.isFailing()).length,
  };
};

/** Connections of the webhooks, which each have their own. */
const createConnections = (transport: WebhookTransport) => {
  const open = new Map<number, ReturnType<WebhookTransport['open']>>();
  return {
    of(id: number): Post {
      const connection = open.get(id) ?? limited(transport.open());
      open.set(id, connection);
      return connection.post;
    },
    keepOnly(webhooks: readonly StoredWebhook[]): void {
      const ids = new Set(webhooks.map(({id}) => id));
      for (const [id, {close}] of open)
        if (!ids.has(id)) {
          close();
          open.delete(id);
        }
    },
  };
};

const limited = ({post, close}: ReturnType<WebhookTransport['open']>): ReturnType<WebhookTransport['open']> => {
  const semaphore = createSemaphore(requestsAtOnce);
  return {post: async request => semaphore.run(async () => post(request)), close};
};

/** Runs `check` one after the other, and again every few seconds while it is needed. */
const createRepeated = ({
  check,
  isNeeded,
  onFailure,
}: {
  check(): Promise<void>;
  isNeeded(): boolean;
  onFailure(error: unknown): void;
}) => {
  let last = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const again = async (): Promise<void> => {
    clearTimeout(timer);
    await check().catch(onFailure);
    if (isNeeded()) timer = setTimeout(() => void repeat(), checkMs).unref();
  };
  const repeat = async (): Promise<void> => {
    last = last.then(again);
    return last;
  };
  return repeat;
};
