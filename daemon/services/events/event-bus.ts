// Event bus of this node: passes events to the current subscribers. It stores nothing: events of mail are read from the event log, and
// the rest of history is in the audit log and the records.

import {createHash} from 'node:crypto';
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import {isMailType} from '../../../shared/event-type.ts';
import type {KeyDirectory} from '../access/key-directory.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import {etagOf} from '../domains/domains.ts';
import type {ConfigStore} from '../ports.ts';
import type {StoredApiKey} from '../records.ts';
import {unfailing} from '../unfailing.ts';

export interface BusEvent {
  /** Unique over all nodes and all their restarts. */
  id: string;
  /** The node that sent it. */
  from: string;
  /** Whether it is in a log that can be read: then it is only a signal. What is not about mail is in none, nor what a node of 0.8 sends. */
  isLogged: boolean;
  /** The domain, or the owner of the mail, that the event is about; undefined for events that belong to no domain. */
  domainId: number | undefined;
  event: ClusterEvent;
}

type WithoutTime<E> = E extends ClusterEvent ? Omit<E, 'at'> : never;
type NewEvent = WithoutTime<ClusterEvent>;

export interface EventBus {
  readonly nodeId: string;
  publish(newEvent: NewEvent, domainId?: number): void;
  /** Returns a function that unsubscribes. `onEnd` is called when the bus closes. */
  subscribe(listener: (event: BusEvent) => void, onEnd?: () => void): () => void;
  /** Ends all subscriptions, and later ones at once. */
  close(): void;
}

interface Needs {
  nodeId: string;
  now: () => number;
  onFailure(error: unknown): void;
}

export const createEventBus = ({nodeId, now, onFailure}: Needs): EventBus => {
  const report = unfailing(onFailure);
  const listeners = new Map<(event: BusEvent) => void, () => void>();
  const start = now().toString(36);
  let count = 0;
  let isClosed = false;

  return {
    nodeId,
    publish(newEvent, domainId) {
      count += 1;
      const event = {...newEvent, at: new Date(now()).toISOString()} as ClusterEvent;
      const isLogged = isMailType(event.type);
      for (const listener of listeners.keys())
        try {
          listener({id: `${nodeId}-${start}-${count}`, from: nodeId, isLogged, domainId, event});
        } catch (error) {
          // A failing listener must not fail the action: a mail that is already held must not be answered with 451.
          report(error);
        }
    },
    subscribe(listener, onEnd = () => {}) {
      if (isClosed) onEnd();
      else listeners.set(listener, onEnd);
      return () => void listeners.delete(listener);
    },
    close() {
      isClosed = true;
      const ends = [...listeners.values()];
      listeners.clear();
      for (const end of ends) end();
    },
  };
};

// Publisher of events for created, updated and deleted domains and keys. Every node applies every change, so each node publishes the
// events itself.

interface ConfigEventsNeeds {
  configuration: ConfigStore;
  domains: DomainDirectory;
  keys: KeyDirectory;
  bus: EventBus;
}

interface Known {
  name: string;
  /** A hash of the record. */
  version: string;
  isRevoked: boolean;
}

/** Call this after the directories are created: their change listeners must run first, so that they are up to date here. */
export const publishConfigEvents = ({configuration, domains, keys, bus}: ConfigEventsNeeds): void => {
  const knownDomains = new Map(domains.list().map(domain => [domain.id, {name: domain.name, version: etagOf(domain)}]));
  const knownKeys = new Map(keys.list().map(key => [key.id, toKnown(key)]));

  const publishDomain = (id: number) => {
    const before = knownDomains.get(id);
    const domain = domains.findById(id);
    const after = domain && {name: domain.name, version: etagOf(domain)};
    if (before?.version === after?.version) return;
    if (after) knownDomains.set(id, after);
    else knownDomains.delete(id);
    const change = before ? (after ? 'updated' : 'deleted') : 'created';
    bus.publish({type: 'domain', node_id: bus.nodeId, id, name: (after ?? before)?.name ?? '', change}, id);
  };

  const publishKey = (id: number) => {
    const before = knownKeys.get(id);
    const key = keys.findById(id);
    const after = key && toKnown(key);
    if (before?.version === after?.version) return;
    if (after) knownKeys.set(id, after);
    else knownKeys.delete(id);
    const isRevoked = before && after?.isRevoked && !before.isRevoked;
    const change = isRevoked ? 'revoked' : before ? (after ? 'updated' : 'deleted') : 'created';
    bus.publish({type: 'key', node_id: bus.nodeId, id, name: (after ?? before)?.name ?? '', change});
  };

  configuration.onChange(async changed => {
    for (const {kind, id} of changed)
      if (kind === 'domain') publishDomain(id);
      else if (kind === 'api_key') publishKey(id);
  });
};

const toKnown = (key: StoredApiKey): Known => ({
  name: key.name,
  version: createHash('sha256').update(JSON.stringify(key)).digest('base64url'),
  isRevoked: key.revoked_at !== null,
});
