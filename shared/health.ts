export const healthStates = ['online', 'stale', 'offline'] as const;
export type Health = (typeof healthStates)[number];

export const staleAfterSeconds = 60;
export const offlineAfterSeconds = 300;

/** Health of a node whose last heartbeat is `ageSeconds` old: younger than 60 s online, to 300 s stale, older offline. */
export const healthOf = (ageSeconds: number): Health => {
  if (ageSeconds < staleAfterSeconds) return 'online';
  return ageSeconds <= offlineAfterSeconds ? 'stale' : 'offline';
};
