// Types of events, separate from their schemas, which mfctl does not load.
import {type MailEventName, mailEvents} from './mail-event-name.ts';
import type {Permission} from './scopes.ts';

/** Those that come without being asked for by name. */
export const eventTypes = ['held', 'released', 'discarded', 'domain', 'key', 'health'] as const;
export type EventType = (typeof eventTypes)[number];

type HeldMailType = Extract<EventType, MailEventName>;
export type LoggedType = Exclude<MailEventName, HeldMailType>;

const isLogged = (name: MailEventName): name is LoggedType => !(eventTypes as readonly string[]).includes(name);

/** What else the event log has: these come only to those that ask for them by name. */
export const loggedTypes: readonly LoggedType[] = mailEvents.filter(isLogged);

export type StreamType = EventType | LoggedType;
export const streamTypes: readonly StreamType[] = [...eventTypes, ...loggedTypes];

export const isEventType = (type: string): type is EventType => (eventTypes as readonly string[]).includes(type);

export const isMailType = (type: StreamType): type is MailEventName => (mailEvents as readonly string[]).includes(type);

const usual: Record<EventType, Permission> = {
  held: 'quarantine:read',
  released: 'quarantine:read',
  discarded: 'quarantine:read',
  domain: 'domains:read',
  key: 'keys:read',
  health: 'cluster:read',
};

/** The permission that each type of event needs. */
export const permissionFor = {
  ...usual,
  ...Object.fromEntries(loggedTypes.map(type => [type, 'trace:read'])),
} as Record<StreamType, Permission>;
