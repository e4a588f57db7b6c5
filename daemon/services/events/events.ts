// Event watches of API clients: each gets the events of all nodes that its key may see.

import type {StreamEvent} from '../../../shared/cluster-event.ts';
import {isEventType, isMailType, permissionFor, type StreamType, streamTypes} from '../../../shared/event-type.ts';
import {Fault} from '../../../shared/fault.ts';
import {type AccessScope, isWithinAccess, permissionsOf, type Scope, scopesWith} from '../../../shared/scopes.ts';
import type {KeyDirectory} from '../access/key-directory.ts';
import {boundIds, createAdmission, type RequireFresh} from '../access/keys.ts';
import type {Actor} from '../actor.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import {createHourly} from '../hourly.ts';
import type {ConfigStore} from '../ports.ts';
import type {BusEvent} from './event-bus.ts';
import {type MailFollower, startMailFollower} from './mail-follower.ts';
import type {MailSource} from './mail-source.ts';

/** Receiver of events. None of its methods may throw. */
interface Watcher {
  /** `id`: where to go on after it; undefined for what is live only. */
  event(event: StreamEvent, id: string | undefined): void;
  /** All before this id has been sent. */
  position(id: string): void;
  /** Resolves when the client can take more. */
  ready(): Promise<void>;
  /** Called regularly, so that the client notices a broken connection. */
  ping(): void;
  /** The watch has ended; no more events follow. */
  end(): void;
}

interface Watch {
  /** Resolves when all nodes have been tried: the ids of those whose events do not arrive yet. */
  silent: Promise<string[]>;
  /** Resolves when everything that happens on this node from now on comes. */
  begun: Promise<unknown>;
  close(): void;
}

interface WatchWish {
  /** Undefined: those of `eventTypes` that the key may see. */
  types?: readonly StreamType[] | undefined;
  /** The id of an event, or a time: the events of mail after it come first. */
  after?: string | undefined;
}

export interface Events {
  /**
   * Sends `watcher` all events that its key may see, for as long as the key is active. Throws a Fault `insufficient_scope` for types that the
   * key never may see, `rate_limited` or `unavailable` for too many watches.
   */
  watch(actor: Actor & {keyId: number}, wish: WatchWish, watcher: Watcher): Watch;
  /** Passes an event of this or another node to the watchers that may see it. */
  receive(event: BusEvent): void;
  /** Ends every watch and refuses new ones. */
  close(): void;
}

interface Needs {
  nodeId: string;
  /** The event logs of all current nodes, that of this node first. */
  sources(): readonly MailSource[];
  keys: KeyDirectory;
  domains: DomainDirectory;
  configuration: ConfigStore;
  /** Called for the first watch: subscribes to the events of the other nodes until `stop` is called. */
  subscribeToPeers(onEvent: (event: BusEvent) => void): {silent: Promise<string[]>; stop(): void};
  requireFresh?: RequireFresh;
  /** Called at most once an hour for each node, while streams wait for its log, which cannot be read. */
  onFailure(name: string, error: unknown): void;
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
  types: readonly StreamType[];
  watcher: Watcher;
  follower: MailFollower;
  /** Live events that wait for what was logged before them. */
  queue?: Promise<unknown> | undefined;
}

export const createEvents = (needs: Needs): Events => {
  const {configuration, subscribeToPeers, limits = usualLimits} = needs;
  const isFailureDue = createHourly(needs.now);
  const onFailure: Needs['onFailure'] = (name, error) => void (isFailureDue(name) && needs.onFailure(name, error));
  const open = new Set<OpenWatch>();
  let peers: ReturnType<typeof subscribeToPeers> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let checks = 0;
  let isClosed = false;

  const currentAccessOf = createCurrentAccess(needs);
  const forget = (watch: OpenWatch) => {
    open.delete(watch);
    watch.follower.stop();
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
    for (const {follower} of open) follower.refresh();
    if (checks % ((pingSeconds * 1000) / checkMs) !== 0) return;
    for (const watch of open) {
      sendPosition(watch);
      watch.watcher.ping();
    }
  };
  const sendLive = (watch: OpenWatch, busEvent: BusEvent): void => {
    const access = currentAccessOf(watch.keyId);
    if (!access) end(watch);
    else if (isVisible(access, busEvent)) watch.watcher.event(busEvent.event, undefined);
    if (isMailType(busEvent.event.type)) watch.follower.passed(busEvent.from);
  };
  const receive: Events['receive'] = busEvent => {
    for (const watch of [...open]) {
      if (!watch.types.includes(busEvent.event.type)) continue;
      if (busEvent.isLogged) watch.follower.wake(busEvent.from);
      else afterMail(watch, () => void (open.has(watch) && sendLive(watch, busEvent)));
    }
  };
  configuration.onChange(async () => endWithoutAccess());

  return {
    watch(actor, wish, watcher) {
      const types = typesFor(actor, wish);
      const {keyId} = actor;
      if (isClosed) throw busy('the node is stopping');
      requireRoom(open, keyId, limits);

      const watch = openWatch({...needs, onFailure}, currentAccessOf, {keyId, types, watcher, after: wish.after});
      if (open.size === 0) timer = setInterval(check, checkMs).unref();
      open.add(watch);
      peers ??= subscribeToPeers(receive);
      const {begun, asked} = watch.follower;
      const silent = Promise.all([peers.silent, asked]).then(([ids]) => {
        sendPosition(watch);
        return ids;
      });
      return {silent, begun, close: () => void (open.has(watch) && forget(watch))};
    },

    receive,
    close() {
      isClosed = true;
      for (const watch of [...open]) end(watch);
    },
  };
};

const requireRoom = (open: ReadonlySet<OpenWatch>, keyId: number, {perKey, perNode}: typeof usualLimits): void => {
  if ([...open].filter(watch => watch.keyId === keyId).length >= perKey)
    throw new Fault('rate_limited', `the key watches events ${perKey} times already; end one of these first`, {
      retryAfterSeconds: 5,
    });
  if (open.size >= perNode) throw busy('events are watched too often here');
};

const typesFor = ({scope, reach}: Actor, {types}: WatchWish): readonly StreamType[] => {
  const permitted = streamTypes.filter(type => permissionsOf(scope, reach).includes(permissionFor[type]));
  const refused = types?.find(type => !permitted.includes(type));
  if (refused)
    throw new Fault('insufficient_scope', `the scope ${scope} does not permit events of type ${refused}; leave it out`, {
      requiredScopes: scopesWith(permissionFor[refused]),
    });
  return types ?? permitted.filter(isEventType);
};

/** The current access of a key; undefined when it has none. */
type CurrentAccess = (keyId: number) => Access | undefined;

const createCurrentAccess = (needs: Needs): CurrentAccess => {
  const {requireActive, accessOf} = createAdmission(needs);
  return keyId => {
    const key = needs.keys.findById(keyId);
    if (!key) return undefined;
    try {
      requireActive(key);
    } catch {
      return undefined;
    }
    const reach = accessOf(key);
    return reach.kind === 'none' ? undefined : {scope: key.scope, reach, boundIds: boundIds(key) ?? []};
  };
};

interface WatchedKey extends Pick<OpenWatch, 'keyId' | 'types' | 'watcher'> {
  after: string | undefined;
}

const openWatch = (
  {nodeId, sources, onFailure, now}: Needs,
  currentAccessOf: CurrentAccess,
  {keyId, types, watcher, after}: WatchedKey,
): OpenWatch => {
  const follower = startMailFollower({
    ...{sources, after, onFailure, now},
    types: types.filter(isMailType),
    actor() {
      const access = currentAccessOf(keyId);
      if (!access) throw new Fault('key_invalid', 'the key has no access any more');
      return {keyId, scope: access.scope, reach: access.reach, remoteAddress: null};
    },
    ready: async () => watcher.ready(),
    onEvent: (event, id) => watcher.event(event, id),
    onGap: (name, id) =>
      watcher.event({type: 'gap', at: new Date(now()).toISOString(), node_id: name === '' ? nodeId : name}, id),
  });
  return {keyId, types, watcher, follower};
};

/** Runs at once, or when the events of mail that came before have been sent, and what waits for those already. */
const afterMail = (watch: OpenWatch, run: () => void): void => {
  const before = watch.queue ?? watch.follower.settled();
  if (!before) {
    run();
    return;
  }
  const queue: Promise<void> = before.then(async () => {
    await watch.follower.settled();
    if (watch.queue === queue) watch.queue = undefined;
    run();
  });
  watch.queue = queue;
};

/** What the key may not see, or does not want, may have been passed over since; that nothing was is not told either. */
const sendPosition = ({types, watcher, follower}: OpenWatch): void => {
  if (types.some(isMailType)) watcher.position(follower.position());
};

const isVisible = ({scope, reach, boundIds}: Access, {event, domainId}: BusEvent): boolean => {
  if (!permissionsOf(scope, reach).includes(permissionFor[event.type])) return false;
  if (domainId === undefined || isWithinAccess(reach, domainId)) return true;
  // A deleted domain is out of reach already. Its id is never used again.
  return event.type === 'domain' && event.change === 'deleted' && boundIds.includes(domainId);
};

const busy = (why: string): Fault =>
  new Fault('unavailable', `${why}; try again later or on another node`, {retryAfterSeconds: 5});
