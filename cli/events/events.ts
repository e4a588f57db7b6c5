import {type Command, InvalidArgumentError} from 'commander';
import type {EventType} from '../../shared/event-type.ts';
import {eventTypes} from '../../shared/event-type.ts';
import {followEvents} from '../client/follow-events.ts';
import {durationMs} from '../command-line/moment.ts';
import {countOfAtLeastOne} from '../command-line/option-values.ts';
import {createStreamPrinter} from '../output/stream-printer.ts';
import {createContact, keepWatching} from '../output/watching.ts';
import type {Session} from '../session.ts';
import {clusterEvents} from './event-columns.ts';

interface EventFlags {
  type?: EventType[];
  limit?: number;
  for?: number;
}

export const addEventsCommand = (program: Command, session: Session): void => {
  session
    .prints(program.command('events'), clusterEvents)
    .description('show what happens in the cluster, as it happens, until Ctrl-C')
    .option('--type <types>', `only these, with commas between them: ${eventTypes.join(', ')}`, typesOf)
    .option('--limit <number>', 'stop after this many events; with --for, the exit status is 3 if fewer came', countOfAtLeastOne)
    .option('--for <duration>', 'end after this time, such as 30s or 10m', durationMs)
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
  return keepWatching(session.terminal, end, async ({signal, stop}) => {
    let shown = 0;
    await followEvents(await session.clientFor(await session.connection()), {
      types,
      signal,
      onConnected: contact.found,
      onDisconnected: ({error}) => contact.lost(error),
      async onEvent(event) {
        await events.print(event);
        shown += 1;
        if (shown === end.limit) stop();
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
