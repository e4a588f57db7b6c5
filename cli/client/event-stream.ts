// Events of a streamed answer.
import type {IncomingMessage} from 'node:http';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import {createEventParser} from './event-parser.ts';
import {chunksOf} from './exchange.ts';

/** Nodes before 0.5 ping every 15 s and do not send the interval. */
const defaultSilenceMs = 45_000;

/** One ping may be late or lost: two intervals, and a margin for latency. */
const silenceMsOf = ({headers}: IncomingMessage): number => {
  const seconds = Number(headers['x-ping-interval']);
  return seconds >= 1 && seconds <= 15 ? (2 * seconds + 2) * 1000 : defaultSilenceMs;
};

/** Ends when the connection does, and when `signal`, that of the request, aborts. Throws the error of Node when the connection breaks. */
export async function* eventsOf(response: IncomingMessage, signal: AbortSignal): AsyncIterable<ClusterEvent> {
  const parser = createEventParser();
  try {
    for await (const chunk of chunksOf(response, silenceMsOf(response))) {
      for (const event of parser.push(chunk)) {
        if (signal.aborted) return;
        yield event;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
