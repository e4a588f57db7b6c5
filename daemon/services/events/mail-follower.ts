// Follower of the event logs of all nodes, for one watch: it reads each of them from its place, in pages, and goes on as they grow. Signals
// only wake it, so it does not matter when one is lost, or comes twice.
import {setTimeout as delay} from 'node:timers/promises';
import {loggedTypes} from '../../../shared/event-type.ts';
import {Fault, type FaultCode} from '../../../shared/fault.ts';
import type {MailEventName} from '../../../shared/mail-event-name.ts';
import type {Actor} from '../actor.ts';
import {placeAt} from './mail-event.ts';
import type {MailSource, MailStreamEvent, SourcePage} from './mail-source.ts';
import {readPosition, writePosition} from './stream-position.ts';

export interface MailFollower {
  /** Resolves when the place of this node is known, or cannot be read: what happens from now on comes. */
  begun: Promise<unknown>;
  /** Resolves when each node was asked once. */
  asked: Promise<unknown>;
  /** The log of this node may have grown. */
  wake(name: string): void;
  /** Resolves when all that the logs were woken for has been sent, or soon; undefined when it has. */
  settled(): Promise<unknown> | undefined;
  /** An event of a node without a log that can be read has been sent: it is not repeated when the node has one. */
  passed(name: string): void;
  /** Follows nodes that have come, and no longer those that have gone. Call it regularly. */
  refresh(): void;
  /** The id of all that was sent. */
  position(): string;
  stop(): void;
}

export interface MailFollowerNeeds {
  /** The logs of all current nodes, that of this node first. */
  sources(): readonly MailSource[];
  /** Where to go on: the id of an event, or a time. Undefined: from now on. */
  after: string | undefined;
  types: readonly MailEventName[];
  /** The key as it is now. Rejects without access. */
  actor(): Actor;
  /** Resolves when the client can take more. */
  ready(): Promise<void>;
  onEvent(event: MailStreamEvent, id: string): void;
  /** Events of this node may be missing. */
  onGap(name: string, id: string): void;
  /** Called again and again while the log of this node cannot be read, for another reason than that the node or the access is away. */
  onFailure(name: string, error: unknown): void;
  now: () => number;
}

const waits = {firstMs: 25, mostMs: 1000};
const failures = {firstMs: 250, mostMs: 5000};
/** In a row, before it is a failure to be told: a store is interrupted now and then. */
const fewFailures = 3;
/** The node is away, runs 0.8, or the key is not known there, or no longer. */
const usualFaults: ReadonlySet<FaultCode> = new Set([
  'node_unreachable',
  'not_found',
  'unknown_node',
  'key_invalid',
  'key_revoked',
  'key_expired',
  'insufficient_scope',
]);
/**
 * Between two readings without a signal. There are none for what is in the log only. More often than pings: each of them has a place that
 * was written anew, whether or not the log has grown.
 */
const idleMs = {signalled: 4000, logged: 1000};

export const startMailFollower = (needs: MailFollowerNeeds): MailFollower => {
  const {sources, types, onGap, onFailure, now} = needs;
  const {places, othersAt, isDamaged} = startOf(needs);
  const read = createReading(needs, places);
  const loops = new Map<string, Loop>();
  const pauseMs = types.some(type => (loggedTypes as readonly string[]).includes(type)) ? idleMs.logged : idleMs.signalled;
  let isStopped = false;
  /** A node that comes later has logged nothing before. */
  let beginsAt = now;

  /** `isFromEnd`: the first reading finds the end of the log, more exactly than the time does. */
  const follow = (isFromEnd: boolean): void => {
    const names = types.length === 0 || isStopped ? [] : sources().map(({name}) => name);
    for (const [name, loop] of loops)
      if (!names.includes(name)) {
        loop.end();
        loops.delete(name);
        places.delete(name);
      }
    for (const name of names) {
      if (loops.has(name)) continue;
      if (!places.has(name)) places.set(name, othersAt ?? placeAt(beginsAt()));
      const loop = createLoop();
      loops.set(name, loop);
      void run(loop, {
        pauseMs,
        read: async isFirst => read(name, loop, isFirst && isFromEnd),
        onFailure: error => onFailure(name, error),
      });
    }
  };

  follow(othersAt === undefined);
  beginsAt = () => 0;
  const [own, ...others] = [...loops.values()].map(({firstAnswer}) => firstAnswer);
  const begun = (own ?? Promise.resolve()).then(() => {
    if (isDamaged && !isStopped) onGap('', writePosition(places));
  });
  return {
    begun,
    asked: Promise.all([begun, ...others]),
    wake: name => (loops.get(name) ?? loops.get(''))?.wake(),
    settled() {
      const due = [...loops.values()].flatMap(loop => loop.due() ?? []);
      return due.length === 0 ? undefined : Promise.race([Promise.all(due), delay(settleMs, undefined, {ref: false})]);
    },
    passed(name) {
      if (loops.has(name)) places.set(name, placeAt(now()));
    },
    refresh: () => follow(false),
    position: () => writePosition(places),
    stop() {
      isStopped = true;
      follow(false);
    },
  };
};

/** Reads one page of one log and sends it. */
const createReading = ({sources, types, actor, ready, onEvent, onGap}: MailFollowerNeeds, places: Map<string, string>) => {
  const send = async (name: string, page: SourcePage, loop: Loop): Promise<void> => {
    if (page.is_gap) {
      places.set(name, page.place);
      onGap(name, writePosition(places));
    }
    for (const {place, event} of page.events) {
      // What another node says is a claim.
      if (!types.includes(event.type)) continue;
      await ready();
      if (loop.isEnded()) return;
      places.set(name, place);
      onEvent(event, writePosition(places));
    }
    places.set(name, page.place);
  };
  return async (name: string, loop: Loop, isFromEnd: boolean): Promise<SourcePage> => {
    const source = sources().find(one => one.name === name);
    if (!source) throw new Fault('unknown_node', `there is no node ${name}`);
    const page = await source.after(isFromEnd ? undefined : places.get(name), types, actor());
    // Not after it was sent: the client takes nothing before the answer has begun, and that waits for this.
    loop.hasAnswered();
    if (!loop.isEnded()) await send(name, page, loop);
    return page;
  };
};

/** A log may take long: it is that of a node that is away, or waits for a transaction. */
const settleMs = 250;
/** After a page of which the key may see nothing. */
const passingMs = 5;
/** What comes more often than this is read together. */
const leastMs = 50;

interface Following {
  pauseMs: number;
  read(isFirst: boolean): Promise<SourcePage>;
  onFailure(error: unknown): void;
}

const run = async (loop: Loop, {pauseMs, read, onFailure}: Following): Promise<void> => {
  let failed = 0;
  let waited = 0;
  for (let isFirst = true; !loop.isEnded(); isFirst = false) {
    let waitMs = pauseMs;
    const begunAt = performance.now();
    try {
      const page = await read(isFirst);
      failed = 0;
      waited = page.is_waiting ? waited + 1 : 0;
      if (waited > 0) waitMs = growing(waits, waited);
      if (page.has_more) waitMs = page.events.length > 0 ? 0 : passingMs;
    } catch (error) {
      failed += 1;
      waitMs = growing(failures, failed);
      if (failed >= fewFailures && !(error instanceof Fault && usualFaults.has(error.code))) onFailure(error);
    }
    loop.hasRead();
    if (waitMs > 0) await loop.pause(waitMs, Math.min(waitMs, leastMs - (performance.now() - begunAt)));
  }
};

interface Start {
  places: Map<string, string>;
  /** The place in a log that is not in `places`. Undefined: its end. */
  othersAt: string | undefined;
  isDamaged: boolean;
}

const startOf = ({after, sources, now}: MailFollowerNeeds): Start => {
  if (after === undefined) return {places: new Map(), othersAt: undefined, isDamaged: false};
  const time = timeIn(after);
  if (time !== undefined) return {places: new Map(), othersAt: placeAt(Math.min(time, now())), isDamaged: false};
  const known = new Set(sources().map(({name}) => name));
  const places = new Map([...(readPosition(after) ?? [])].filter(([name]) => known.has(name)));
  // All that a node has logged that came later.
  return places.size === 0 ? {places, othersAt: undefined, isDamaged: true} : {places, othersAt: placeAt(0), isDamaged: false};
};

/** Ids begin otherwise: they are base64url of a list. */
const timeIn = (after: string): number | undefined => {
  const time = /^\d{4}-\d\d-\d\dT/.test(after) ? Date.parse(after) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
};

const growing = ({firstMs, mostMs}: {firstMs: number; mostMs: number}, count: number): number =>
  Math.min(mostMs, firstMs * 2 ** (count - 1));

type Loop = ReturnType<typeof createLoop>;

const createLoop = () => {
  const ended = new AbortController();
  let called = new AbortController();
  const first = createEnd();
  let due: ReturnType<typeof createEnd> | undefined;
  return {
    firstAnswer: first.reached,
    isEnded: () => ended.signal.aborted,
    /** Resolves when what it was woken for has been read; undefined when it has. */
    due: () => due?.reached,
    wake() {
      due ??= createEnd();
      called.abort();
    },
    hasAnswered: first.reach,
    hasRead() {
      first.reach();
      if (called.signal.aborted) return;
      due?.reach();
      due = undefined;
    },
    end() {
      ended.abort();
      called.abort();
      first.reach();
      due?.reach();
    },
    /** Resolves after `ms`, or when woken, also since the last pause, but not before `leastMs`. */
    async pause(ms: number, leastMs: number): Promise<void> {
      await delay(ms, undefined, {signal: called.signal, ref: false}).catch(() => {});
      if (leastMs > 0) await delay(leastMs, undefined, {signal: ended.signal, ref: false}).catch(() => {});
      if (!ended.signal.aborted) called = new AbortController();
    },
  };
};

const createEnd = () => {
  let reach = (): void => {};
  const reached = new Promise<void>(resolve => {
    reach = resolve;
  });
  return {reached, reach: () => reach()};
};
