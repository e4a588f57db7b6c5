// Publisher of events for created, updated and deleted domains and keys. Every node applies every change, so each node publishes the
// events itself.

import {createHash} from 'node:crypto';
import type {KeyDirectory} from '../access/key-directory.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import {etagOf} from '../domains/domains.ts';
import type {ConfigStore} from '../ports.ts';
import type {StoredApiKey} from '../records.ts';
import type {EventBus} from './event-bus.ts';

interface Needs {
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
export const publishConfigEvents = ({configuration, domains, keys, bus}: Needs): void => {
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
