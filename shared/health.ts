export const healthStates = ['online', 'stale', 'offline'] as const;
export type Health = (typeof healthStates)[number];

const staleAfterSeconds = 60;
const offlineAfterSeconds = 300;

/** Health of a node whose last heartbeat is `ageSeconds` old: younger than 60 s online, to 300 s stale, older offline. */
export const healthOf = (ageSeconds: number): Health => {
  if (ageSeconds < staleAfterSeconds) return 'online';
  return ageSeconds <= offlineAfterSeconds ? 'stale' : 'offline';
};

/** Requests under way when a node is cut off, or stopped, still arrive. */
const underWayMs = 5000;

/** Whether a node that has not answered since `silentSinceMs` still sends heartbeats, beyond those under way at that time. */
export const isHeardDespite = (silentSinceMs: number, lastSeenMs: number): boolean => lastSeenMs - silentSinceMs >= underWayMs;
