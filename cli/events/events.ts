// Command `events`, and the columns of events.

import {type Command, InvalidArgumentError} from 'commander';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import {type EventType, eventTypes} from '../../shared/event-type.ts';
import {hasOwn} from '../../shared/has-own.ts';
import {followEvents} from '../client/follow-events.ts';
import {actorText, firstOf, senderText, timeOfDay, timeText} from '../output/cell-text.ts';
import {healthTones} from '../output/column.ts';
import {createStreamPrinter, type StreamColumn, type Streamed} from '../output/stream-printer.ts';
import {addEndOptions, createContact, keepWatching, type WatchEnd} from '../output/watching.ts';
import {mailFields, mailId} from '../quarantine/held-mail-columns.ts';
import type {Session} from '../session.ts';

const columns: StreamColumn<ClusterEvent>[] = [
  {title: 'AT', cell: event => timeText(event.at), width: 20, brief: event => timeOfDay(event.at), briefWidth: 9},
  {title: 'NODE', cell: event => event.node_id, width: 10, dropRank: 1},
  {
    title: 'EVENT',
    cell: event => event.type,
    width: 9,
    tone: event => (event.type === 'health' ? healthTones[event.to] : undefined),
  },
  {title: 'ABOUT', cell: event => aboutText(event), width: 40, isFlexible: true},
];

/** The members of all events, then those of some. */
const clusterEvents: Streamed<ClusterEvent> = {
  fields: [
    ...['type', 'at', 'node_id', ...mailFields.filter(field => field !== 'node_id')],
    ...['state', 'acted_at', 'acted_by_key_id', 'id', 'name', 'change', 'from', 'to'],
  ],
  nameOf: event => {
    if (hasOwn(event, 'queue_id')) return mailId(event);
    if (event.type === 'health') return event.node_id;
    return event.type === 'domain' ? event.name : String(event.id);
  },
  columns,
};

interface EventFlags extends WatchEnd {
  type?: EventType[];
}

export const addEventsCommand = (program: Command, session: Session): void => {
  const events = session
    .prints(program.command('events'), clusterEvents)
    .description('show what happens in the cluster, as it happens, until Ctrl-C')
    .option('--type <types>', `only these, with commas between them: ${eventTypes.join(', ')}`, typesOf);
  addEndOptions(events, 'events')
    .addHelpText('after', help)
    .action((flags: EventFlags) => showEvents(session, flags));
};

const help = `
Past events are not shown: events begin when this command connects. In a pipe each one is a JSON object on a line.

Examples:
  mfctl events --type health,domain
  mfctl events --type held --limit 1 --for 10m
  mfctl events -o ndjson | grep '"type":"released"'`;

const showEvents = (session: Session, {type: types, ...end}: EventFlags): Promise<void> => {
  const events = createStreamPrinter(session, clusterEvents);
  const contact = createContact(session.printer(), 'what happened in between is not shown');
  return keepWatching(session.terminal, end, async ({signal, countLine}) => {
    await followEvents(await session.clientFor(await session.connection()), {
      types,
      signal,
      onConnected: contact.found,
      onDisconnected: ({error}) => contact.lost(error),
      async onEvent(event) {
        await events.print(event);
        countLine();
      },
    });
  });
};

const typesOf = (text: string): EventType[] => {
  const asked = text.split(',').map(name => name.trim());
  const known = eventTypes.filter(name => asked.includes(name));
  if (asked.some(name => !known.includes(name as EventType)))
    throw new InvalidArgumentError(`Must be some of ${eventTypes.join(', ')}, with commas between them.`);
  return known;
};

/** Text of a mail comes last, where it cannot be mistaken for anything else. */
const aboutText = (event: ClusterEvent): string => {
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
    default:
      event satisfies never;
      return '';
  }
};
