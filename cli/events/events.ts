// Command `events`, and the columns of events.

import {type Command, InvalidArgumentError} from 'commander';
import type {StreamEvent} from '../../shared/cluster-event.ts';
import {eventTypes, isMailType, loggedTypes, type StreamType, streamTypes} from '../../shared/event-type.ts';
import {hasOwn} from '../../shared/has-own.ts';
import type {StreamPlace} from '../client/event-stream.ts';
import {followEvents} from '../client/follow-events.ts';
import {pastMoment} from '../command-line/moment.ts';
import {actorText, firstOf, senderText, timeOfDay, timeText} from '../output/cell-text.ts';
import {healthTones} from '../output/column.ts';
import {createStreamPrinter, type StreamColumn, type Streamed} from '../output/stream-printer.ts';
import {addEndOptions, createContact, keepWatching, type WatchEnd} from '../output/watching.ts';
import {mailFields, mailId} from '../quarantine/held-mail-columns.ts';
import type {Session} from '../session.ts';
import {mailEventNames} from '../trace/event-fields.ts';

const columns: StreamColumn<StreamEvent>[] = [
  {title: 'AT', cell: event => timeText(event.at), width: 20, brief: event => timeOfDay(event.at), briefWidth: 9},
  {title: 'NODE', cell: event => event.node_id, width: 10, dropRank: 1},
  {
    title: 'EVENT',
    cell: event => event.type,
    width: 9,
    tone: event => (event.type === 'health' ? healthTones[event.to] : event.type === 'gap' ? 'warn' : undefined),
  },
  {title: 'ABOUT', cell: event => aboutText(event), width: 40, isFlexible: true},
];

/** The members of all events, then those of some. */
const clusterEvents: Streamed<StreamEvent> = {
  fields: [
    ...new Set([
      ...['type', 'at', 'node_id', ...mailFields],
      ...['state', 'acted_at', 'acted_by_key_id', 'id', 'name', 'change', 'from', 'to', ...mailEventNames],
    ]),
  ],
  nameOf: event => {
    if (hasOwn(event, 'queue_id')) return event.queue_id === null ? event.node_id : `${event.node_id}/${event.queue_id}`;
    if (event.type === 'health' || event.type === 'gap') return event.node_id;
    return event.type === 'domain' ? event.name : String(event.id);
  },
  columns,
};

interface EventFlags extends WatchEnd {
  type?: StreamType[];
  after?: string;
}

export const addEventsCommand = (program: Command, session: Session): void => {
  const events = session
    .prints(program.command('events'), clusterEvents)
    .description('show what happens in the cluster, as it happens, until Ctrl-C')
    .option(
      '--type <types>',
      `only these, with commas between them: ${eventTypes.join(', ')}; or, from the event log, ${loggedTypes.join(', ')}`,
      typesOf,
    )
    .option(
      '--after <id|time>',
      'first what happened to mail since then: a time such as 2h or 12:30, or where an earlier command ended',
      placeOf,
    );
  addEndOptions(events, 'events')
    .addHelpText('after', help)
    .action((flags: EventFlags) => showEvents(session, flags));
};

const help = `
Events begin when this command connects, or at --after: the event log has those of mail, and events.keep_days says how long. After a broken
link those of mail that were missed follow; those of domains, keys and health are not repeated. "gap" means that some of a node may
be missing. In a pipe each event is a JSON object on a line.

Examples:
  mfctl events --type health,domain
  mfctl events --type held --limit 1 --for 10m
  mfctl events --after 2h --type relayed,rejected,held
  mfctl events -o ndjson | grep '"type":"released"'`;

const showEvents = async (session: Session, {type: types, after, ...end}: EventFlags): Promise<void> => {
  const events = createStreamPrinter(session, clusterEvents);
  const printer = session.printer();
  const place: StreamPlace = {id: undefined};
  const contact = createContact(printer, () => missedText(types ?? eventTypes, place));
  try {
    await keepWatching(session.terminal, end, async ({signal, countLine}) => {
      await followEvents(await session.clientFor(await session.connection()), {
        ...{types, after, place, signal},
        onConnected: contact.found,
        onDisconnected: ({error}) => contact.lost(error),
        async onEvent(event) {
          await events.print(event);
          if (event.type !== 'gap') countLine();
        },
      });
    });
  } finally {
    if (after !== undefined && place.id !== undefined) printer.note(`to go on from here: --after ${place.id}`);
  }
};

/** Only events of mail have an id, and those of nodes of 0.8 have one that leads nowhere. */
const missedText = (types: readonly StreamType[], {id}: StreamPlace): string => {
  if (id === undefined || !types.some(isMailType)) return 'what happened in between is not shown';
  return types.every(isMailType)
    ? 'what happened in between follows'
    : 'what happened to mail in between follows, the rest is not shown';
};

const typesOf = (text: string): StreamType[] => {
  const asked = text.split(',').map(name => name.trim());
  const known = streamTypes.filter(name => asked.includes(name));
  if (asked.some(name => !known.includes(name as StreamType)))
    throw new InvalidArgumentError(`Must be some of ${streamTypes.join(', ')}, with commas between them.`);
  return known;
};

/** An id is longer than any time. */
const placeOf = (text: string): string => (/^[\w-]{24,}$/.test(text) ? text : pastMoment(text));

/** Text of a mail comes last, where it cannot be mistaken for anything else. */
const aboutText = (event: StreamEvent): string => {
  switch (event.type) {
    case 'held':
      return `${mailId(event)} ${event.score} ${event.reason} from ${senderText(event.sender)} to ${firstOf(event.recipients)}: ${event.subject}`;
    case 'released':
    case 'discarded':
      return `${mailId(event)} ${actorText(event)}`;
    case 'domain':
    case 'key':
      return `${event.change} ${event.id} ${event.name}`;
    case 'health':
      return `${event.from} -> ${event.to}`;
    case 'gap':
      return `events of mail on ${event.node_id} may be missing here`;
    default: {
      const {node_id, queue_id, sender, recipients, reply, detail} = event;
      const mail = queue_id === null ? '-' : `${node_id}/${queue_id}`;
      return `${mail} from ${senderText(sender)} to ${firstOf(recipients)}: ${reply ?? detail}`;
    }
  }
};
