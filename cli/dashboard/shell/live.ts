// Connection of the dashboard: whether events arrive, polling answers, or the node cannot be reached.
import type {ClusterEvent, StreamEvent} from '../../../shared/cluster-event.ts';
import {type EventType, isEventType} from '../../../shared/event-type.ts';
import type {Move} from '../../client/addresses.ts';
import type {Client} from '../../client/client.ts';
import {followEvents} from '../../client/follow-events.ts';
import {asCliError, type CliError, exitCodes} from '../../errors.ts';
import {createValue, type Watched} from './store.ts';

/**
 * connecting → live ⇄ polling ⇄ offline. Live: events arrive. Polling: they do not, and requests are answered. Offline: neither.
 */
export type ConnectionState = 'connecting' | 'live' | 'polling' | 'offline';

export interface LiveState {
  connection: ConnectionState;
  /** The time of the last answer or event. */
  receivedAtMs: number | undefined;
  /** Why it is not live. */
  reason: string | undefined;
  /** `mx2:8443 in place of mx1:8443`, when the first node of the context does not answer. */
  detour?: string | undefined;
}

export interface Live extends Watched<LiveState> {
  /** Calls the listener with events of these types, and with undefined when some may have been missed: see `Missed`. */
  on(types: readonly EventType[], listener: (event: ClusterEvent | undefined) => void): () => void;
  /** Calls the listener before those of `on` are called with undefined. */
  onMissed(listener: (missed: Missed) => void): () => void;
  /** The result of a request. */
  answered(): void;
  failed(failure: CliError): void;
  stop(): void;
}

/** After a reconnection, with whether the events of mail in between follow; or in the stream, of mail of a node. */
export type Missed = {kind: 'reconnected'; isResumed: boolean} | {kind: 'gap'; node: string};

type Route = ReturnType<typeof createRoute>;

/** The node that is used in place of the first one of the context, as `LiveState.detour`. */
export const createRoute = ({host: first}: URL) => {
  const {get, subscribe, set} = createValue<string | undefined>(undefined);
  return {get, subscribe, move: ({to}: Move): void => set(to === first ? undefined : `${to} in place of ${first}`)};
};

/** The shortest interval between updates of the time alone: a burst of events must not draw the screen for each of them. */
const newsEveryMs = 250;

export const startLive = (client: Pick<Client, 'events'>, now: () => number, route?: Route): Live => {
  const ended = new AbortController();
  const receivers = new Set<{types: readonly EventType[]; receive(event: ClusterEvent | undefined): void}>();
  const watchers = new Set<(missed: Missed) => void>();
  const state = createLiveState(now, route);
  const miss = (missed: Missed): void => {
    for (const watch of watchers) watch(missed);
    for (const {receive} of receivers) receive(undefined);
  };

  void followEvents(client, {
    signal: ended.signal,
    onEvent: event => {
      state.answered();
      if (event.type === 'gap') miss({kind: 'gap', node: event.node_id});
      else if (isUsual(event)) for (const {types, receive} of receivers) if (types.includes(event.type)) receive(event);
    },
    onConnected: ({isResumed}) => {
      const isReopened = state.opened();
      if (isReopened) miss({kind: 'reconnected', isResumed});
    },
    onDisconnected: ({error}) => state.closed(error),
    // The key may not receive events, or the node has none: polling goes on.
  }).catch(error => state.closed(asCliError(error)));

  return {
    get: state.get,
    subscribe: state.subscribe,
    on: (types, receive) => {
      const receiver = {types, receive};
      receivers.add(receiver);
      return () => receivers.delete(receiver);
    },
    onMissed: listener => {
      watchers.add(listener);
      return () => watchers.delete(listener);
    },
    answered: state.answered,
    failed: state.failed,
    stop: () => ended.abort(),
  };
};

const isUsual = (event: StreamEvent): event is ClusterEvent => isEventType(event.type);

const createLiveState = (now: () => number, route: Route | undefined) => {
  let isOpen = false;
  let wasOpen = false;
  let failure: CliError | undefined;
  /** Whether the last request had no answer. */
  let isUnanswered = false;
  const {get, subscribe, set} = createValue<LiveState>({
    connection: 'connecting',
    receivedAtMs: undefined,
    reason: undefined,
    detour: route?.get(),
  });

  const connectionState = (receivedAtMs: number | undefined): ConnectionState => {
    if (isOpen) return 'live';
    if (failure?.exitCode === exitCodes.unreachable && isUnanswered) return 'offline';
    return receivedAtMs === undefined && !wasOpen ? 'connecting' : 'polling';
  };
  const update = (receivedAtMs = get().receivedAtMs): void => {
    const state = get();
    const connection = connectionState(receivedAtMs);
    const reason = connection === 'offline' || connection === 'polling' ? failure?.detail : undefined;
    const detour = route?.get();
    const isOther = connection !== state.connection || reason !== state.reason || detour !== state.detour;
    if (!isOther && receivedAtMs !== undefined && receivedAtMs - (state.receivedAtMs ?? 0) < newsEveryMs) return;
    set({connection, receivedAtMs, reason, detour});
  };
  route?.subscribe(() => update());

  return {
    get,
    subscribe,
    /** Returns whether the stream was open before. */
    opened: (): boolean => {
      const isReopened = wasOpen;
      isOpen = true;
      wasOpen = true;
      isUnanswered = false;
      update(now());
      return isReopened;
    },
    closed: (error: CliError | undefined): void => {
      isOpen = false;
      failure = error;
      // After a silent stream a request would get no answer either.
      if (error?.code === 'timeout') isUnanswered = true;
      update();
    },
    answered: (): void => {
      isUnanswered = false;
      update(now());
    },
    failed: (error: CliError): void => {
      failure = error;
      isUnanswered = error.exitCode === exitCodes.unreachable;
      update();
    },
  };
};
