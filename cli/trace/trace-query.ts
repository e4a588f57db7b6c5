// Query for entries of the event log, from flags or from the line of the dashboard, as parameters of the API.
import {type Command, InvalidArgumentError} from 'commander';
import {mailEvents} from '../../shared/mail-event-name.ts';
import type {Query} from '../client/client.ts';
import {addMailOptions, parametersOf} from '../quarantine/hold-query.ts';
import {eventsFault, type LineQuery} from '../quarantine/query-line.ts';

/** As typed. */
export type TraceQuery = Omit<LineQuery, 'least' | 'most' | 'reason'>;

/** Durations count back from `nowMs`. */
export const traceParameters = ({messageId, client, event, ...query}: TraceQuery, nowMs: number): Query => ({
  ...parametersOf(query, nowMs),
  message_id: messageId,
  client,
  event,
});

export const addTraceOptions = (command: Command): Command =>
  addMailOptions(command)
    .option('--message-id <id>', 'with this Message-ID, with or without its brackets')
    .option('--client <ip>', 'that came from this IP address')
    .option('--node <node>', 'that came to this node')
    .option('--event <events>', `what happened, with commas between: ${mailEvents.join(', ')}`, eventNames);

/** For an option with names of events. */
export const eventNames = (text: string): string => {
  const fault = eventsFault(text);
  if (fault === undefined) return text;
  throw new InvalidArgumentError(`M${fault.slice(1)}.`);
};
