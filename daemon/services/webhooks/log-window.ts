// The entries of a log that are sent to a webhook next, in the order of the log: at most two pages, which strangers cannot make large.
import type {MailEvent} from '../../../shared/mail-event.ts';
import {mailEvents} from '../../../shared/mail-event-name.ts';
import type {EventChoice} from '../events/mail-event.ts';
import {shownEvents} from '../events/trace.ts';
import {allDomains, type StoredWebhook} from '../records.ts';
import type {Progress} from './progress.ts';
import type {RunnerNeeds} from './runner-needs.ts';
import type {PostResult} from './webhook-transport.ts';

export interface Waiting {
  number: number;
  /** The place after it. */
  place: string;
  event: MailEvent;
  /** `done`: it was taken, or is a delivery of its own. */
  state: 'new' | 'started' | 'done';
  failure?: PostResult | undefined;
}

export interface LogWindow {
  /** The first that is not done. */
  head(): Waiting | undefined;
  /** Those that are neither done nor under way. */
  open(): Waiting[];
  /** Moves the progress on. */
  done(entry: Waiting): void;
  /** Reads another page; resolves with whether there is more. */
  read(): Promise<boolean>;
}

const entriesAtOnce = 200;
/** As JSON; 200 plain entries have fewer. */
const charsAtOnce = 250_000;

export const createLogWindow = ({webhook, loggedBy, store}: RunnerNeeds, progress: Progress): LogWindow => {
  const choice = choiceOf(webhook, loggedBy);
  let entries: Waiting[] = [];
  /** Where reading goes on, and the greatest number up to there, while there are entries. */
  let end: {place: string; number: number} | undefined;

  const advance = (): void => {
    for (let head = entries[0]; head?.state === 'done'; head = entries[0]) {
      progress.set({place: head.place, number: Math.max(head.number, progress.now().number)});
      entries.shift();
    }
    if (entries.length > 0 || !end) return;
    progress.set(end);
    end = undefined;
  };

  return {
    head: () => entries[0],
    open: () => entries.filter(({state}) => state === 'new'),
    done(entry) {
      entry.state = 'done';
      advance();
    },
    async read() {
      const page = await store.events.follow(end?.place ?? progress.now().place, choice);
      if (page.isGap) {
        entries = [];
        end = undefined;
        await progress.skipGone();
        return true;
      }
      const shown = await shownEvents(
        {store, nodeId: loggedBy},
        page.entries.map(({entry}) => entry),
      );
      const fitting = page.entries.slice(0, countFitting(shown));
      for (const [at, {place, entry}] of fitting.entries()) {
        const event = shown[at];
        if (event && entry.number > progress.now().from) entries.push({number: entry.number, place, event, state: 'new'});
      }
      const lastFitting = fitting.at(-1);
      const isCut = fitting.length < page.entries.length;
      const read = isCut && lastFitting ? {place: lastFitting.place, last: lastFitting.entry.number} : page;
      if (page.hasRead) end = {place: read.place, number: Math.max(read.last ?? 0, end?.number ?? progress.now().number)};
      advance();
      return page.hasMore || isCut;
    },
  };
};

/** One at least. */
const countFitting = (events: readonly MailEvent[]): number => {
  let room = charsAtOnce;
  const first = events.findIndex((event, at) => {
    room -= JSON.stringify(event).length;
    return room < 0 && at > 0;
  });
  return first < 0 ? events.length : first;
};

const choiceOf = ({events, domain_id}: StoredWebhook, loggedBy: string): EventChoice => ({
  events: mailEvents.filter(name => events?.includes(name) ?? true),
  reach: domain_id === allDomains ? {kind: 'all'} : {kind: 'domain', domainId: domain_id},
  loggedBy,
  limit: entriesAtOnce,
});
