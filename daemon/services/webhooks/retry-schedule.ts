// Schedule of an event that an address did not take: about 75 hours.

/** Standard Webhooks has it in its guidance for senders. */
const waits = [5, 300, 1800, ...[2, 5, 10, 14, 20, 24].map(hours => hours * 3600)].map(seconds => seconds * 1000);
/** So that many events that failed together do not come together. */
const jitter = 0.1;

/**
 * When an event is tried again that has failed `tries` times, in milliseconds since 1970; undefined when it is given up. Not before
 * `retryAfterMs` have passed, which an address may ask for up to the next wait of the schedule. `random`: from 0 to 1.
 */
export const nextTryAt = (
  tries: number,
  {now, retryAfterMs = 0, random}: {now: number; retryAfterMs?: number | undefined; random: number},
): number | undefined => {
  const wait = waits[tries - 1];
  if (wait === undefined) return undefined;
  const most = waits[tries] ?? wait;
  return Math.round(now + Math.max(wait * (1 + jitter * (2 * random - 1)), Math.min(retryAfterMs, most)));
};
