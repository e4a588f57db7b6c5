// Parser of server-sent events (WHATWG HTML, section 9.2) as GET /events writes them. All that matters is in the id and in the JSON of
// `data`, so names and retry times are skipped.

import type {StreamEvent} from '../../shared/cluster-event.ts';
import {type EventType, isEventType, loggedTypes} from '../../shared/event-type.ts';
import {hasOwn} from '../../shared/has-own.ts';

interface EventParser {
  /** Returns the events that this chunk completes, wherever it was cut. Skips what is not an event or too long. */
  push(chunk: Uint8Array): Parsed[];
}

/** An event, an id to go on from, or both. */
interface Parsed {
  event?: StreamEvent;
  id?: string;
}

/** It is sent back in a header. That of a node in a cluster of a hundred needs a tenth of this. */
const idPattern = /^[!-~]{1,16000}$/;

/** A held mail with a thousand long recipients is a third of this. */
const maxEventChars = 1024 * 1024;

export const createEventParser = (): EventParser => {
  const decoder = new TextDecoder();
  let unfinished = '';
  let data: string[] = [];
  let chars = 0;
  let id: string | undefined;

  const takeData = (text: string): void => {
    // Line ends count too: there may be any number of empty lines.
    chars += text.length + 1;
    if (chars <= maxEventChars) data.push(text);
  };
  const endEvent = (): Parsed[] => {
    const event = chars > maxEventChars || data.length === 0 ? undefined : asEvent(data.join('\n'));
    const parsed = {...(event && {event}), ...(id !== undefined && {id})};
    data = [];
    chars = 0;
    id = undefined;
    return event || parsed.id !== undefined ? [parsed] : [];
  };
  const take = (line: string): Parsed[] => {
    if (line === '') return endEvent();
    if (line.startsWith('data:')) takeData(line.slice(line[5] === ' ' ? 6 : 5));
    else if (line.startsWith('id:')) {
      const given = line.slice(line[3] === ' ' ? 4 : 3);
      if (idPattern.test(given)) id = given;
    }
    return [];
  };

  return {
    push(chunk) {
      // A carriage return at the end may be the first half of a line end.
      const lines = (unfinished + decoder.decode(chunk, {stream: true})).split(/\r\n|\n|\r(?!$)/);
      unfinished = lines.pop() ?? '';
      const events = lines.flatMap(take);
      if (unfinished.length > maxEventChars) {
        chars += unfinished.length;
        // What follows on this line is a comment now.
        unfinished = ':';
      }
      return events;
    },
  };
};

type Kind = 'string' | 'number' | 'strings';

const base: Record<string, Kind> = {at: 'string', node_id: 'string'};
const acted: Record<string, Kind> = {...base, queue_id: 'string', state: 'string', acted_at: 'string'};
const changed: Record<string, Kind> = {...base, id: 'number', name: 'string', change: 'string'};

/** The members that an event needs to be shown; loading the schemas would take longer than the rest of the program. */
const members: Record<EventType | 'gap', Record<string, Kind>> = {
  held: {
    ...base,
    queue_id: 'string',
    sender: 'string',
    recipients: 'strings',
    subject: 'string',
    symbols: 'strings',
    reason: 'string',
    arrived_at: 'string',
    score: 'number',
    size_bytes: 'number',
  },
  released: acted,
  discarded: acted,
  domain: changed,
  key: changed,
  health: {...base, from: 'string', to: 'string'},
  gap: base,
};
const logged: Record<string, Kind> = {...base, event: 'string', sender: 'string', recipients: 'strings', detail: 'string'};

const membersOf = (type: string): Record<string, Kind> | undefined => {
  if (type === 'gap' || isEventType(type)) return members[type];
  return (loggedTypes as readonly string[]).includes(type) ? logged : undefined;
};

const asEvent = (text: string): StreamEvent | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** A newer node may send events that this program does not know. */
const isEvent = (value: unknown): value is StreamEvent => {
  const needed = typeof value === 'object' && value !== null && hasOwn(value, 'type') ? membersOf(String(value.type)) : undefined;
  return (
    needed !== undefined &&
    Object.entries(needed).every(([name, kind]) => isOfKind((value as Record<string, unknown>)[name], kind))
  );
};

const isOfKind = (value: unknown, kind: Kind): boolean =>
  kind === 'strings' ? Array.isArray(value) && value.every(entry => typeof entry === 'string') : typeof value === kind;
