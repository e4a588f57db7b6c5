export const healthStates = ['online', 'stale', 'offline'] as const;
export type Health = (typeof healthStates)[number];

export const staleAfterSeconds = 60;
export const offlineAfterSeconds = 300;

/** Health of a node whose last heartbeat is `ageSeconds` old: younger than 60 s online, to 300 s stale, older offline. */
export const healthOf = (ageSeconds: number): Health => {
  if (ageSeconds < staleAfterSeconds) return 'online';
  return ageSeconds <= offlineAfterSeconds ? 'stale' : 'offline';
};

/** What was on its way when a node was cut off, or stopped, still comes. */
const underWayMs = 5000;

/** Whether a node that has given no answer since a moment was heard after it by more than what was on its way then. */
export const isHeardDespite = (silentSinceMs: number, heardAtMs: number): boolean => heardAtMs - silentSinceMs >= underWayMs;
