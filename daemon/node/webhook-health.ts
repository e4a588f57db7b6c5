// Webhooks among what may not work: each node tells of those that its store shows as failing.
import {groupBy} from '../../shared/collections.ts';
import type {Dependency} from '../services/dependencies/dependencies.ts';
import {webhookFault} from '../services/webhooks/webhook-fault.ts';
import type {Base} from './base.ts';
import type {Job} from './jobs.ts';

const everyMs = 10_000;

export const watchWebhooks = ({storage: {store}, dependencies, now}: Pick<Base, 'storage' | 'dependencies' | 'now'>): Job => {
  let known: Dependency[] = [];
  dependencies.watch(() => known);
  return {
    everyMs,
    what: 'checking webhooks',
    async run() {
      const webhooks = await store.config.listWebhooks();
      const progress = groupBy(webhooks.length === 0 ? [] : await store.webhooks.progress(), ({webhook_id}) => webhook_id);
      known = webhooks.map(webhook => ({
        ...{part: 'webhook', name: String(webhook.id), quietMs: everyMs, retryMs: everyMs},
        check: async () => webhookFault(webhook, progress.get(webhook.id) ?? [], now()),
      }));
    },
  };
};
