// Connection of the dashboard: whether events arrive, polling answers, or the node cannot be reached.
import type {ClusterEvent} from '../../../shared/cluster-event.ts';
import type {EventType} from '../../../shared/event-type.ts';
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
  /** Of the last answer of any kind. */
  heardAtMs: number | undefined;
  /** Why it is not live. */
  reason: string | undefined;
  /** `mx2:8443 in place of mx1:8443`, when the first node of the context does not answer. */
  detour?: string | undefined;
}

export interface Live extends Watched<LiveState> {
  /** Events of these types; and once after each reconnection with undefined, as what happened meanwhile is not told. */
  on(types: readonly EventType[], listener: (event: ClusterEvent | undefined) => void): () => void;
  /** What became of a request. */
  answered(): void;
  failed(failure: CliError): void;
  stop(): void;
}

/** The node that is asked in place of the first one of the context, as `LiveState.detour`. */
export interface Route extends Watched<string | undefined> {
  move(move: Move): void;
}

export const createRoute = ({host: first}: URL): Route => {
  const {get, subscribe, set} = createValue<string | undefined>(undefined);
  return {get, subscribe, move: ({to}) => set(to === first ? undefined : `${to} in place of ${first}`)};
};

/** That something was heard once more is no news: a burst of events must not draw a screen for each of them. */
const newsEveryMs = 250;

export const startLive = (client: Pick<Client, 'events'>, now: () => number, route?: Route): Live => {
  const ended = new AbortController();
  const receivers = new Set<{types: readonly EventType[]; receive(event: ClusterEvent | undefined): void}>();
  const state = createLiveState(now, route);

  void followEvents(client, {
    signal: ended.signal,
    onEvent: event => {
      state.answered();
      for (const {types, receive} of receivers) if (types.includes(event.type)) receive(event);
    },
    onConnected: () => {
      const isReopened = state.opened();
      if (isReopened) for (const {receive} of receivers) receive(undefined);
    },
    onDisconnected: ({error}) => state.closed(error),
    // A key that may receive no events, or a node that has none: polling goes on.
  }).catch(error => state.closed(asCliError(error)));

  return {
    get: state.get,
    subscribe: state.subscribe,
    on: (types, receive) => {
      const receiver = {types, receive};
      receivers.add(receiver);
      return () => receivers.delete(receiver);
    },
    answered: state.answered,
    failed: state.failed,
    stop: () => ended.abort(),
  };
};

const createLiveState = (now: () => number, route: Route | undefined) => {
  let isOpen = false;
  let wasOpen = false;
  let failure: CliError | undefined;
  /** Of the last request: whether it had no answer. */
  let isUnanswered = false;
  const {get, subscribe, set} = createValue<LiveState>({
    connection: 'connecting',
    heardAtMs: undefined,
    reason: undefined,
    detour: route?.get(),
  });

  const connectionState = (heardAtMs: number | undefined): ConnectionState => {
    if (isOpen) return 'live';
    if (failure?.exitCode === exitCodes.unreachable && isUnanswered) return 'offline';
    return heardAtMs === undefined && !wasOpen ? 'connecting' : 'polling';
  };
  const update = (heardAtMs = get().heardAtMs): void => {
    const state = get();
    const connection = connectionState(heardAtMs);
    const reason = connection === 'offline' || connection === 'polling' ? failure?.detail : undefined;
    const detour = route?.get();
    const isOther = connection !== state.connection || reason !== state.reason || detour !== state.detour;
    if (!isOther && heardAtMs !== undefined && heardAtMs - (state.heardAtMs ?? 0) < newsEveryMs) return;
    set({connection, heardAtMs, reason, detour});
  };
  route?.subscribe(() => update());

  return {
    get,
    subscribe,
    /** Returns whether events arrived before, too. */
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
      // A line that was cut says nothing, and neither would a request.
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
