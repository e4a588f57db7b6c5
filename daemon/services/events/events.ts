// Who watches what happens in the cluster, and what of it each may see.
import {type EventType, eventTypes, permissionFor} from '../../../shared/event-type.ts';
import {Fault} from '../../../shared/fault.ts';
import {type AccessScope, isWithinAccess, permissionsOf, type Scope, scopesWith} from '../../../shared/scopes.ts';
import {createAdmission} from '../access/admission.ts';
import type {KeyDirectory} from '../access/key-directory.ts';
import type {DomainDirectory} from '../domains/domain-directory.ts';
import type {Actor, ConfigStore} from '../ports.ts';
import type {BusEvent} from './event-bus.ts';

/** Where events go. None of these may throw. */
interface Watcher {
  event(event: BusEvent): void;
  /** Nothing has happened for a while. */
  ping(): void;
  /** Nothing more will come. */
  end(): void;
}

interface Watch {
  /** Nodes whose mail is not heard of yet, once all have been tried. */
  silent: Promise<string[]>;
  close(): void;
}

export interface Events {
  /**
   * Tells `watcher` of all that its key may see, now and as long as it may. Undefined `types` are all of those. A Fault
   * `insufficient_scope` for types it can never see, `rate_limited` and `unavailable` when too many watch already.
   */
  watch(actor: Actor & {keyId: number}, types: readonly EventType[] | undefined, watcher: Watcher): Watch;
  /** Something has happened, here or on another node. */
  receive(event: BusEvent): void;
  /** Ends every watch, and takes no more. */
  close(): void;
}

interface Needs {
  keys: KeyDirectory;
  domains: DomainDirectory;
  configuration: ConfigStore;
  /** Called when somebody begins to watch: listens to the other nodes until told to stop. */
  listenElsewhere(onEvent: (event: BusEvent) => void): {silent: Promise<string[]>; stop(): void};
  now: () => number;
  limits?: typeof usualLimits;
}

const usualLimits = {perKey: 20, perNode: 500};
const checkMs = 1000;
/** Whoever watches notices by these that the line still stands. */
export const pingSeconds = 5;

interface Open {
  keyId: number;
  types: readonly EventType[];
  watcher: Watcher;
}

export const createEvents = ({keys, domains, configuration, listenElsewhere, now, limits = usualLimits}: Needs): Events => {
  const {requireActive, accessOf} = createAdmission({domains, now});
  const open = new Set<Open>();
  let elsewhere: ReturnType<typeof listenElsewhere> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let checks = 0;
  let isClosed = false;

  /** What the key may see at this moment; undefined when that is nothing any more. */
  const sightOf = (keyId: number): {scope: Scope; reach: AccessScope} | undefined => {
    const key = keys.findById(keyId);
    if (!key) return undefined;
    try {
      requireActive(key);
    } catch {
      return undefined;
    }
    const reach = accessOf(key);
    return reach.kind === 'none' ? undefined : {scope: key.scope, reach};
  };
  const forget = (one: Open) => {
    open.delete(one);
    if (open.size > 0) return;
    clearInterval(timer);
    elsewhere?.stop();
    elsewhere = undefined;
  };
  const end = (one: Open) => {
    forget(one);
    one.watcher.end();
  };
  const endUnfit = () => {
    for (const one of [...open]) if (!sightOf(one.keyId)) end(one);
  };
  const check = () => {
    checks += 1;
    endUnfit();
    if (checks % ((pingSeconds * 1000) / checkMs) === 0) for (const {watcher} of open) watcher.ping();
  };
  const receive: Events['receive'] = heldEvent => {
    const {event, domainId} = heldEvent;
    for (const one of [...open]) {
      if (!one.types.includes(event.type)) continue;
      const sight = sightOf(one.keyId);
      if (!sight) end(one);
      else if (isVisible(sight, event.type, domainId)) one.watcher.event(heldEvent);
    }
  };
  configuration.onChange(async () => endUnfit());

  return {
    watch({keyId, scope, reach}, types, watcher) {
      const permitted = eventTypes.filter(type => permissionsOf(scope, reach).includes(permissionFor[type]));
      const refused = types?.find(type => !permitted.includes(type));
      if (refused)
        throw new Fault('insufficient_scope', `the scope ${scope} does not permit events of type ${refused}; leave it out`, {
          requiredScopes: scopesWith(permissionFor[refused]),
        });
      if (isClosed) throw busy('the node is stopping');
      if ([...open].filter(one => one.keyId === keyId).length >= limits.perKey)
        throw new Fault('rate_limited', `the key watches events ${limits.perKey} times already; end one of these first`, {
          retryAfterSeconds: 5,
        });
      if (open.size >= limits.perNode) throw busy('events are watched too often here');

      const one = {keyId, types: types ?? permitted, watcher};
      if (open.size === 0) timer = setInterval(check, checkMs).unref();
      open.add(one);
      elsewhere ??= listenElsewhere(receive);
      return {silent: elsewhere.silent, close: () => void (open.has(one) && forget(one))};
    },

    receive,
    close() {
      isClosed = true;
      for (const one of [...open]) end(one);
    },
  };
};

const isVisible = ({scope, reach}: {scope: Scope; reach: AccessScope}, type: EventType, domainId: number | undefined): boolean =>
  permissionsOf(scope, reach).includes(permissionFor[type]) && (domainId === undefined || isWithinAccess(reach, domainId));

const busy = (why: string): Fault =>
  new Fault('unavailable', `${why}; try again later or on another node`, {retryAfterSeconds: 5});
