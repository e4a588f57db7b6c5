// Counts of held mail by node, domain and reason, for every screen that shows some.
import type {Summary, SummaryGroup} from '../../../shared/held-mail.ts';
import type {AppContext} from './app-context.ts';
import {noSource, type Source} from './source.ts';

export interface HeldNow {
  summary: Summary;
  unreachableNodes: readonly string[];
}

export const heldSource = (app: AppContext): Source<HeldNow> =>
  app.may('quarantine:read')
    ? app.source('held', {
        load: async () => {
          const {data, unreachableNodes} = await app.client.quarantine.summary();
          return {summary: data, unreachableNodes};
        },
        refreshOn: ['held', 'released', 'discarded'],
        minGapMs: 5000,
      })
    : noSource;

export const heldBy = (groups: readonly SummaryGroup[], by: 'reason' | 'domain'): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const group of groups) counts.set(group[by], (counts.get(group[by]) ?? 0) + group.count);
  return counts;
};
