// Event watches of API clients: each gets the events of all nodes that its key may see.

import {type EventType, eventTypes, permissionFor} from '../../../shared/event-type.ts';
import {Fault} from '../../../shared/fault.ts';
import {type AccessScope, isWithinAccess, permissionsOf, type Scope, scopesWith} from '../../../shared/scopes.ts';
import type {KeyDirectory} from '../access/key-directory.ts';
import {boundIds, createAdmission, type RequireFresh} from '../access/keys.ts';
import type {Actor} from '../actor.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {ConfigStore} from '../ports.ts';
import type {BusEvent} from './event-bus.ts';

/** Receiver of events. None of its methods may throw. */
interface Watcher {
  event(event: BusEvent): void;
  /** Called regularly, so that the client notices a broken connection. */
  ping(): void;
  /** The watch has ended; no more events follow. */
  end(): void;
}

interface Watch {
  /** Resolves when all nodes have been tried: the ids of those whose events do not arrive yet. */
  silent: Promise<string[]>;
  close(): void;
}

export interface Events {
  /**
   * Sends `watcher` all events that its key may see, for as long as the key is active. Undefined `types` mean all permitted types.
   * Throws a Fault `insufficient_scope` for types that the key never may see, `rate_limited` or `unavailable` for too many watches.
   */
  watch(actor: Actor & {keyId: number}, types: readonly EventType[] | undefined, watcher: Watcher): Watch;
  /** Passes an event of this or another node to the watchers that may see it. */
  receive(event: BusEvent): void;
  /** Ends every watch and refuses new ones. */
  close(): void;
}

interface Needs {
  keys: KeyDirectory;
  domains: DomainDirectory;
  configuration: ConfigStore;
  /** Called for the first watch: subscribes to the events of the other nodes until `stop` is called. */
  subscribeToPeers(onEvent: (event: BusEvent) => void): {silent: Promise<string[]>; stop(): void};
  requireFresh?: RequireFresh;
  now: () => number;
  limits?: typeof usualLimits;
}

const usualLimits = {perKey: 20, perNode: 500};
const checkMs = 1000;
/** Pings show clients that the connection still works. */
export const pingSeconds = 5;

interface Access {
  scope: Scope;
  reach: AccessScope;
  /** The domains that the key was made for, deleted ones included. */
  boundIds: readonly number[];
}

interface OpenWatch {
  keyId: number;
  types: readonly EventType[];
  watcher: Watcher;
}

export const createEvents = (needs: Needs): Events => {
  const {keys, configuration, subscribeToPeers, limits = usualLimits} = needs;
  const {requireActive, accessOf} = createAdmission(needs);
  const open = new Set<OpenWatch>();
  let peers: ReturnType<typeof subscribeToPeers> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let checks = 0;
  let isClosed = false;

  /** The current access of the key; undefined when it has none. */
  const currentAccessOf = (keyId: number): Access | undefined => {
    const key = keys.findById(keyId);
    if (!key) return undefined;
    try {
      requireActive(key);
    } catch {
      return undefined;
    }
    const reach = accessOf(key);
    return reach.kind === 'none' ? undefined : {scope: key.scope, reach, boundIds: boundIds(key) ?? []};
  };
  const forget = (watch: OpenWatch) => {
    open.delete(watch);
    if (open.size > 0) return;
    clearInterval(timer);
    peers?.stop();
    peers = undefined;
  };
  const end = (watch: OpenWatch) => {
    forget(watch);
    watch.watcher.end();
  };
  const endWithoutAccess = () => {
    for (const watch of [...open]) if (!currentAccessOf(watch.keyId)) end(watch);
  };
  const check = () => {
    checks += 1;
    endWithoutAccess();
    if (checks % ((pingSeconds * 1000) / checkMs) === 0) for (const {watcher} of open) watcher.ping();
  };
  const receive: Events['receive'] = busEvent => {
    for (const watch of [...open]) {
      if (!watch.types.includes(busEvent.event.type)) continue;
      const access = currentAccessOf(watch.keyId);
      if (!access) end(watch);
      else if (isVisible(access, busEvent)) watch.watcher.event(busEvent);
    }
  };
  configuration.onChange(async () => endWithoutAccess());

  return {
    watch({keyId, scope, reach}, types, watcher) {
      const permitted = eventTypes.filter(type => permissionsOf(scope, reach).includes(permissionFor[type]));
      const refused = types?.find(type => !permitted.includes(type));
      if (refused)
        throw new Fault('insufficient_scope', `the scope ${scope} does not permit events of type ${refused}; leave it out`, {
          requiredScopes: scopesWith(permissionFor[refused]),
        });
      if (isClosed) throw busy('the node is stopping');
      if ([...open].filter(watch => watch.keyId === keyId).length >= limits.perKey)
        throw new Fault('rate_limited', `the key watches events ${limits.perKey} times already; end one of these first`, {
          retryAfterSeconds: 5,
        });
      if (open.size >= limits.perNode) throw busy('events are watched too often here');

      const watch = {keyId, types: types ?? permitted, watcher};
      if (open.size === 0) timer = setInterval(check, checkMs).unref();
      open.add(watch);
      peers ??= subscribeToPeers(receive);
      return {silent: peers.silent, close: () => void (open.has(watch) && forget(watch))};
    },

    receive,
    close() {
      isClosed = true;
      for (const watch of [...open]) end(watch);
    },
  };
};

const isVisible = ({scope, reach, boundIds}: Access, {event, domainId}: BusEvent): boolean => {
  if (!permissionsOf(scope, reach).includes(permissionFor[event.type])) return false;
  if (domainId === undefined || isWithinAccess(reach, domainId)) return true;
  // A deleted domain is out of reach already. Its id is never used again.
  return event.type === 'domain' && event.change === 'deleted' && boundIds.includes(domainId);
};

const busy = (why: string): Fault =>
  new Fault('unavailable', `${why}; try again later or on another node`, {retryAfterSeconds: 5});
