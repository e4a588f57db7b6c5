// Sender of webhooks, wired to the store, the settings and the way out.
import {setTimeout as delay} from 'node:timers/promises';
import {Fault} from '../../shared/fault.ts';
import {createHourly} from '../services/hourly.ts';
import {createWebhookSender, type SentLogs, type WebhookSender} from '../services/webhooks/webhook-sender.ts';
import {createWebhookTransport} from '../webhooks/post.ts';
import type {Base} from './base.ts';
import type {Storage} from './storage.ts';

export const openWebhookSender = (
  {settings, storage, records, metrics, log, now}: Pick<Base, 'settings' | 'storage' | 'records' | 'metrics' | 'log' | 'now'>,
  version: string,
): WebhookSender => {
  const isDue = createHourly(now);
  const sender = createWebhookSender({
    ...{version, nodeId: storage.nodeId, store: storage.store, configuration: records.configuration},
    transport: createWebhookTransport({networks: () => settings().webhookNetworks}),
    logs: logsOf(storage),
    clock: {now, sleep: async (ms, signal) => delay(ms, undefined, {signal, ref: false}).catch(() => {})},
    onResult: metrics.webhookDelivery,
    onFailing: metrics.webhooksFailing,
    onMissed({id}, loggedBy) {
      if (isDue(`missed ${id}`))
        log.warn({webhook: id, logged_by: loggedBy}, 'events were gone from the log before they were sent to a webhook');
    },
    onDisabled: ({id}, because) =>
      log.warn({webhook: id, because}, 'a webhook is disabled; mfctl webhook replay enables it again'),
    onFailure(error) {
      // That the store is away is logged elsewhere.
      if (!(error instanceof Fault) && isDue('failure')) log.error({err: error}, 'sending webhooks failed; it is tried again');
    },
  });
  records.membership.onRemoved(() => void sender.stop());
  return sender;
};

const logsOf = ({nodeId, engine}: Storage): SentLogs => {
  if (engine.kind === 'common')
    return {
      ...engine.store.logHolds,
      write: async (loggedBy, work) =>
        engine.store.transaction(async tx => {
          if (!(await tx.holdsLog(loggedBy))) return false;
          await work(tx.webhooks);
          return true;
        }),
    };
  return {
    renew: async () => ({held: [nodeId], taken: [], returning: []}),
    giveBack: async () => {},
    async write(_loggedBy, work) {
      await engine.store.transaction(async tx => work(tx.webhooks));
      return true;
    },
  };
};
