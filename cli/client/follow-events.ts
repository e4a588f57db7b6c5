// Event stream that reconnects until it is stopped.
import {setTimeout as sleep} from 'node:timers/promises';
import type {StreamEvent} from '../../shared/cluster-event.ts';
import type {StreamType} from '../../shared/event-type.ts';
import {CliError, exitCodes} from '../errors.ts';
import type {Client} from './client.ts';
import type {StreamPlace} from './event-stream.ts';
import type {EventsWish} from './transport.ts';

interface Disconnection {
  /** Undefined when the node ended the connection in order: it is shutting down, or the key may see no more events. */
  error: CliError | undefined;
  retryInMs: number;
}

interface EventFollower {
  /** Undefined follows the usual ones that the key may see. */
  types?: readonly StreamType[] | undefined;
  /** The id of an event, or a time: what happened to mail since comes first. */
  after?: string | undefined;
  /** Gets the last id. */
  place?: StreamPlace | undefined;
  signal: AbortSignal;
  /** The next event waits until this is done. */
  onEvent(event: StreamEvent): void | Promise<void>;
  /**
   * Events arrive from now on; those of this connection wait until it is done. What happened before is lost, so this is the moment to read
   * the list again. `isResumed`: events of mail since the last connection follow, all others are lost.
   */
  onConnected?(how: {isResumed: boolean}): void | Promise<void>;
  /** There is no connection, or none yet; another attempt follows. An error that is thrown here ends the stream. */
  onDisconnected?(disconnection: Disconnection): void | Promise<void>;
}

/** Time and chance, which tests replace. */
export interface Pace {
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** As Math.random. */
  random(): number;
  now(): number;
}

const firstDelayMs = 1000;
const maxDelayMs = 30_000;
/** The longest Retry-After that is respected. */
const maxWaitMs = 5 * 60_000;

/**
 * Resolves when `signal` aborts. Rejects with a CliError when a retry cannot help: the key may not read events, or the
 * node has none; and with any error that a listener throws.
 */
export const followEvents = async (
  client: Pick<Client, 'events'>,
  {types = [], after, place = {id: undefined}, signal, onEvent, onConnected, onDisconnected}: EventFollower,
  pace: Pace = defaultPace,
): Promise<void> => {
  let failures = 0;
  while (!signal.aborted) {
    let connectedAt = Number.POSITIVE_INFINITY;
    let error: CliError | undefined;
    const isResumed = place.id !== undefined;
    for await (const news of oneConnection(client, {types, after, place}, signal)) {
      if (signal.aborted) return;
      if (news.kind === 'event') await onEvent(news.event);
      else if (news.kind === 'broken') error = news.error;
      else {
        connectedAt = pace.now();
        await onConnected?.({isResumed});
      }
    }
    if (signal.aborted) return;
    if (error && isHopeless(error)) throw error;

    // The delay also grows for a node that accepts connections and ends them at once.
    if (pace.now() - connectedAt >= maxDelayMs) failures = 0;
    const retryInMs = delayMs(failures, error, pace.random());
    failures += 1;
    await onDisconnected?.({error, retryInMs});
    await pace.sleep(retryInMs, signal);
  }
};

type News = {kind: 'connected'} | {kind: 'event'; event: StreamEvent} | {kind: 'broken'; error: CliError};

/** An error of the connection becomes its last item; errors of listeners do not pass through here. */
async function* oneConnection(client: Pick<Client, 'events'>, wish: EventsWish, signal: AbortSignal): AsyncIterable<News> {
  try {
    const events = await client.events(wish, signal);
    yield {kind: 'connected'};
    for await (const event of events) yield {kind: 'event', event};
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    yield {kind: 'broken', error};
  }
}

/** A retry cannot help. */
export const isHopeless = ({exitCode}: CliError): boolean =>
  exitCode === exitCodes.usage || exitCode === exitCodes.notAuthorised || exitCode === exitCodes.notFound;

/** 1 to 2 s, 2 to 4, … up to 30 s, at random, so that not all clients reconnect at once after the restart of a node. */
const delayMs = (failures: number, error: CliError | undefined, random: number): number => {
  const minMs = Math.min(maxDelayMs / 2, firstDelayMs * 2 ** failures);
  const delay = Math.round(minMs * (1 + random));
  return error?.retryAfterSeconds === undefined ? delay : Math.min(maxWaitMs, Math.max(delay, error.retryAfterSeconds * 1000));
};

const defaultPace: Pace = {
  now: Date.now,
  random: Math.random,
  sleep: (ms, signal) => sleep(ms, undefined, {signal}).catch(() => undefined),
};
