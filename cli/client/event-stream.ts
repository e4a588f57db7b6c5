// Events of a streamed answer.
import type {IncomingMessage} from 'node:http';
import type {StreamEvent} from '../../shared/cluster-event.ts';
import {createEventParser} from './event-parser.ts';
import {chunksOf} from './exchange.ts';

/** Nodes before 0.5 ping every 15 s and do not send the interval. */
const defaultSilenceMs = 45_000;

/** One ping may be late or lost: two intervals, and a margin for latency. */
const silenceMsOf = ({headers}: IncomingMessage): number => {
  const seconds = Number(headers['x-ping-interval']);
  return seconds >= 1 && seconds <= 15 ? (2 * seconds + 2) * 1000 : defaultSilenceMs;
};

/** Where a stream goes on when it is opened again. */
export interface StreamPlace {
  /** The last id; undefined when none has come, as from a node of 0.8. */
  id: string | undefined;
}

/** The ids of 0.8, after which no node goes on. */
const earlierId = /-[0-9a-z]+-\d+$/;

/** Ends when the connection does, and when `signal`, that of the request, aborts. Throws the error of Node when the connection breaks. */
export async function* eventsOf(response: IncomingMessage, signal: AbortSignal, place: StreamPlace): AsyncIterable<StreamEvent> {
  const parser = createEventParser();
  try {
    for await (const chunk of chunksOf(response, silenceMsOf(response))) {
      for (const {event, id} of parser.push(chunk)) {
        if (signal.aborted) return;
        if (id !== undefined && !earlierId.test(id)) place.id = id;
        if (event) yield event;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
