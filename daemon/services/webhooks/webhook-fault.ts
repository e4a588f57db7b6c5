// What an operator should know of a webhook: it is disabled, it fails, or events were lost to it.
import type {DatedFailure} from '../dependencies/dependencies.ts';
import type {StoredWebhook} from '../records.ts';
import type {StoredProgress} from './webhook-store.ts';

const hourMs = 3_600_000;
/** Missed events are reported for this long, or until a replay. */
const missedMs = 7 * 24 * hourMs;

/** `progress`: of each log that this node can see. */
export const webhookFault = (
  {disabled_at, disabled_because}: StoredWebhook,
  progress: readonly StoredProgress[],
  nowMs: number,
): DatedFailure | undefined => {
  if (disabled_at !== null) return {detail: `disabled: ${disabled_because ?? ''}`, sinceMs: Date.parse(disabled_at)};
  const faults = progress.flatMap(({failing_since, error, missed_at, replayed_at}): DatedFailure[] => {
    const failingMs = failing_since === null ? undefined : Date.parse(failing_since);
    if (failingMs !== undefined && nowMs - failingMs >= hourMs) return [{detail: error ?? '', sinceMs: failingMs}];
    const missedAtMs = missed_at === null ? undefined : Date.parse(missed_at);
    const isReplayed = missed_at !== null && replayed_at !== null && replayed_at >= missed_at;
    if (missedAtMs === undefined || isReplayed || nowMs - missedAtMs >= missedMs) return [];
    return [{detail: 'events were gone from the log before they were sent', sinceMs: missedAtMs}];
  });
  return faults.toSorted((a, b) => a.sinceMs - b.sinceMs)[0];
};
