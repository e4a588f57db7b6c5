// Types of events, separate from their schemas, which mfctl does not load.
import type {Permission} from './scopes.ts';

export const eventTypes = ['held', 'released', 'discarded', 'domain', 'key', 'health'] as const;
export type EventType = (typeof eventTypes)[number];

/** The permission that each type of event needs. */
export const permissionFor: Record<EventType, Permission> = {
  held: 'quarantine:read',
  released: 'quarantine:read',
  discarded: 'quarantine:read',
  domain: 'domains:read',
  key: 'keys:read',
  health: 'cluster:read',
};
