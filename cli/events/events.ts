import {type Command, InvalidArgumentError} from 'commander';
import type {EventType} from '../../shared/event-type.ts';
import {eventTypes} from '../../shared/event-type.ts';
import {followEvents} from '../client/follow-events.ts';
import {createStreamPrinter} from '../output/stream-printer.ts';
import {addEndOptions, createContact, keepWatching, type WatchEnd} from '../output/watching.ts';
import type {Session} from '../session.ts';
import {clusterEvents} from './event-columns.ts';

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
