// Event log of one node as events of a stream, to be followed from a place.
import type {StreamEvent} from '../../../shared/cluster-event.ts';
import {type LoggedType, permissionFor} from '../../../shared/event-type.ts';
import type {HeldMail} from '../../../shared/held-mail.ts';
import type {MailEvent} from '../../../shared/mail-event.ts';
import type {MailEventName} from '../../../shared/mail-event-name.ts';
import {permissionsOf} from '../../../shared/scopes.ts';
import type {Actor} from '../actor.ts';
import type {Store} from '../ports.ts';
import type {StoredMailEvent} from './mail-event.ts';
import {shownEvents} from './trace.ts';

export type MailStreamEvent = Extract<StreamEvent, {type: MailEventName}>;

export interface SourcePage {
  events: {place: string; event: MailStreamEvent}[];
  /** See `EventPage`. */
  place: string;
  is_gap: boolean;
  has_more: boolean;
  is_waiting: boolean;
}

export interface MailSource {
  /** The node; empty for the log that all nodes share. */
  readonly name: string;
  /** The events that the caller may see. Without a place there are none, and that of the page is the end. */
  after(place: string | undefined, types: readonly MailEventName[], actor: Actor): Promise<SourcePage>;
}

interface Needs {
  store: Pick<Store, 'events' | 'config'>;
  nodeId: string;
  name: string;
  /** The rows of mail of a node. */
  findHeld(nodeId: string, queueIds: readonly string[]): Promise<HeldMail[]>;
}

/** Entries that are read at once. */
export const pageSize = 200;
export const createMailSource = ({store, nodeId, name, findHeld}: Needs): MailSource => {
  /** The mail of entries that do not have all of it, by their ids. */
  const rowsFor = async (entries: readonly StoredMailEvent[]): Promise<Map<string, HeldMail>> => {
    const wanted = entries.filter(isShortened).map(({node_id = nodeId, queue_id}) => ({node_id, queue_id: queue_id ?? ''}));
    const rows: HeldMail[] = [];
    for (const owner of new Set(wanted.map(({node_id}) => node_id)))
      rows.push(
        ...(await findHeld(
          owner,
          wanted.flatMap(({node_id, queue_id}) => (node_id === owner ? [queue_id] : [])),
        )),
      );
    return new Map(rows.map(row => [`${row.node_id}/${row.queue_id}`, row]));
  };

  return {
    name,
    async after(place, types, {scope, reach}) {
      const events = types.filter(type => permissionsOf(scope, reach).includes(permissionFor[type]));
      const page = await store.events.follow(place, {events, reach, limit: pageSize});
      const entries = page.entries.map(({entry}) => entry);
      const [rows, shown] = [await rowsFor(entries), await shownEvents({store, nodeId}, entries)];
      return {
        events: page.entries.flatMap(({place: at, entry}, index) => {
          const event = shown[index];
          return event && isShown(event)
            ? [{place: at, event: toStreamEvent(event, rows.get(`${event.node_id}/${entry.queue_id}`))}]
            : [];
        }),
        place: page.place,
        is_gap: page.isGap,
        has_more: page.hasMore,
        is_waiting: page.isWaiting,
      };
    },
  };
};

/** Clients of `released` and `discarded` take a mail for ended after one. */
const isShown = ({recipients_left}: MailEvent): boolean => recipients_left === null;

/** An entry has not all of a thousand recipients, of a long subject or of many symbols; `detail` says that it is not about the arrival. */
const isShortened = ({event, recipients, recipient_count, subject, symbols, detail}: StoredMailEvent): boolean =>
  event === 'held' &&
  (recipients.length < recipient_count || !isWhole(subject) || !isWhole(symbols.at(-1) ?? '') || detail !== '');

const isWhole = (text: string | null): boolean => text !== null && !text.endsWith('…');

const toStreamEvent = (entry: MailEvent, row: HeldMail | undefined): MailStreamEvent => {
  const {event, at, node_id, queue_id} = entry;
  switch (event) {
    case 'held':
      return {type: event, at, ...(row ? row : heldMail(entry))};
    case 'released':
    case 'discarded': {
      const acted = {node_id, queue_id: queue_id ?? '', acted_at: at, acted_by_key_id: entry.key_id, already: false};
      return {type: event, at, state: event, ...acted};
    }
    default:
      return {type: event satisfies LoggedType, ...entry};
  }
};

/** As it was in the list. */
const heldMail = ({node_id, queue_id, at, sender, from, recipients, ...rest}: MailEvent): HeldMail => ({
  node_id,
  queue_id: queue_id ?? '',
  sender,
  from,
  recipients,
  subject: rest.subject ?? '',
  score: rest.score ?? 0,
  symbols: rest.symbols,
  reason: rest.reason ?? 'spam',
  size_bytes: rest.size_bytes ?? 0,
  arrived_at: at,
  release_requested: false,
});
