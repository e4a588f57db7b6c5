/** In the order of the keys that open them. */
export const screenNames = ['cluster', 'quarantine', 'domains', 'keys', 'audit', 'events', 'trace'] as const;
export type ScreenName = (typeof screenNames)[number];
