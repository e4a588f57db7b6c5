// Watch of new held mail under any filter: events trigger a reading, and the list decides what matches.
import {setTimeout as sleep} from 'node:timers/promises';
import type {ClusterEvent, StreamEvent} from '../../shared/cluster-event.ts';
import type {EventType} from '../../shared/event-type.ts';
import type {HeldMail} from '../../shared/held-mail.ts';
import type {Client, Query} from '../client/client.ts';
import {followEvents} from '../client/follow-events.ts';
import {CliError, onlyCliError} from '../errors.ts';
import {mailId} from './held-mail-columns.ts';
import {createHeldMailReader} from './held-mail-reader.ts';

export type ActedEvent = Extract<ClusterEvent, {type: 'released' | 'discarded'}>;

interface HeldMailWatch {
  /** Filters of the list. */
  query: Query;
  /** How many of the mails that are already held are shown first. */
  firstCount: number;
  signal: AbortSignal;
  /** One after the other, the oldest first. */
  onHeld(mail: HeldMail): Promise<void>;
  /** A mail that was shown has been released or discarded. */
  onActed(event: ActedEvent): Promise<void>;
  /** The list was read, without the mail of these nodes. */
  onAnswer(unreachableNodes: readonly string[]): void;
  /** The list could not be read; another attempt follows. An error that is thrown here ends the watch. */
  onFailure(error: CliError): void;
  /** Whether events are received. Without them the list is polled every few seconds, and actions are not reported. */
  onEvents(state: EventState): void;
}

export type EventState = {areFollowed: true} | {areFollowed: false; error: CliError | undefined};

/** The shortest time between two requests, so that a burst of mail is read together. */
const minMs = 1000;
/** Between two requests without events. */
const pollMs = 5000;
/** Between two requests with events, as some may be missed. */
const rereadMs = 60_000;
const types: readonly EventType[] = ['held', 'released', 'discarded'];
const keptIds = 100_000;
/** Most actions concern mail that does not match. */
const keptEarly = 1000;

/** Resolves when `signal` aborts; rejects with any error that a listener throws. */
export const watchHeldMail = async (client: Pick<Client, 'quarantine' | 'events'>, watch: HeldMailWatch): Promise<void> => {
  // When one of the two loops fails, the other must end.
  const end = new AbortController();
  const signal = AbortSignal.any([watch.signal, end.signal]);
  const pause = createPause(signal);
  const reader = createHeldMailReader(client, {query: watch.query, signal});
  const acts = createActs(watch);
  let areFollowed = false;

  const onState = (state: EventState): void => {
    areFollowed = state.areFollowed;
    watch.onEvents(state);
    reader.missSomething();
    pause.end();
  };
  const onEvent = (event: StreamEvent): void | Promise<void> => {
    if (event.type === 'held') reader.expect(event);
    else if (event.type === 'gap') reader.missSomething();
    else return acts.receive(event);
    pause.end();
  };

  const read = async (): Promise<void> => {
    let hasBegun = false;
    while (!signal.aborted) {
      const answer = await (hasBegun ? reader.next() : reader.first(watch.firstCount)).catch(onlyCliError);
      let waitMs = minMs;
      if (answer instanceof CliError) {
        watch.onFailure(answer);
        waitMs = Math.max(waitMs, Math.min((answer.retryAfterSeconds ?? 0) * 1000, rereadMs));
      } else {
        hasBegun = true;
        watch.onAnswer(answer.unreachableNodes);
        for (const mail of answer.mails) await acts.show(mail);
      }
      await sleep(waitMs, undefined, {signal});
      const isCalled = await pause.wait(areFollowed && hasBegun ? rereadMs : pollMs);
      if (!isCalled) reader.missSomething();
    }
  };

  try {
    await Promise.all([follow(client, {signal, onState, onEvent}), read()]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    end.abort();
  }
};

interface Following {
  signal: AbortSignal;
  onState(state: EventState): void;
  onEvent(event: StreamEvent): void | Promise<void>;
}

/** Resolves when events are not available: a key that may read the list continues with polling. */
const follow = async (client: Pick<Client, 'events'>, {signal, onState, onEvent}: Following): Promise<void> => {
  const following = followEvents(client, {
    types,
    signal,
    onConnected: () => onState({areFollowed: true}),
    onDisconnected: ({error}) => onState({areFollowed: false, error}),
    onEvent,
  });
  await following.catch(error => {
    if (!(error instanceof CliError)) throw error;
    onState({areFollowed: false, error});
  });
};

/** Reports actions on mail that was shown, also when their event arrived before the mail was. */
const createActs = ({onHeld, onActed}: Pick<HeldMailWatch, 'onHeld' | 'onActed'>) => {
  const shown = new Set<string>();
  const early = new Map<string, ActedEvent>();
  return {
    async show(mail: HeldMail): Promise<void> {
      await onHeld(mail);
      shown.add(mailId(mail));
      if (shown.size > keptIds) shown.delete(shown.keys().next().value ?? '');
      const act = early.get(mailId(mail));
      if (act) await onActed(act);
    },
    async receive(event: StreamEvent): Promise<void> {
      if (event.type !== 'released' && event.type !== 'discarded') return;
      if (shown.has(mailId(event))) return onActed(event);
      early.set(mailId(event), event);
      if (early.size > keptEarly) early.delete(early.keys().next().value ?? '');
    },
  };
};

/** A wait that `end` cuts short, also before it begins; so does the signal, which must abort in the end. */
const createPause = (signal: AbortSignal) => {
  let ending = new AbortController();
  const end = (): void => ending.abort();
  signal.addEventListener('abort', end, {once: true});
  return {
    end,
    /** Resolves after `ms`, or at once when it was ended since the last wait. True when it was ended. */
    async wait(ms: number): Promise<boolean> {
      await sleep(ms, undefined, {signal: ending.signal}).catch(() => undefined);
      const wasEnded = ending.signal.aborted;
      ending = new AbortController();
      return wasEnded;
    },
  };
};
