// One connection to GET /events.
import {once} from 'node:events';
import type {Got, Request, Response} from 'got';
import type {ClusterEvent} from '../../shared/cluster-event.ts';
import {CliError} from '../errors.ts';
import {createEventParser} from './event-parser.ts';
import {answerFailure, connectionFailure} from './request-failure.ts';

export interface EventStreamNeeds {
  http: Got;
  url: URL;
  signal: AbortSignal;
  onResponse(response: Response): void;
}

/** The node answers at once; it is what happens after that which takes its time. */
const answerMs = 10_000;
/** Nodes before 0.5 ping every 15 s, and do not say so. */
const unsaidSilenceMs = 45_000;

/** One ping may be late, or lost with a moment of the line: two intervals and something for the way. */
const silenceMsOf = ({headers}: Pick<Response, 'headers'>): number => {
  const seconds = Number(headers['x-ping-interval']);
  return seconds >= 1 && seconds <= 15 ? (2 * seconds + 2) * 1000 : unsaidSilenceMs;
};

/**
 * Resolves once the node has begun to answer: what happens from then on is told. Ends when the connection does, and silently
 * when `signal` aborts. Rejects, or throws while it is read, with a CliError when the node refuses or the connection breaks.
 */
export const openEventStream = async ({
  http,
  url,
  signal,
  onResponse,
}: EventStreamNeeds): Promise<AsyncIterable<ClusterEvent>> => {
  if (signal.aborted) return nothing();
  const stream = http.stream(url, {headers: {accept: 'text/event-stream'}, timeout: {response: answerMs}});
  const abort = () => void stream.destroy();
  signal.addEventListener('abort', abort);
  stream.once('close', () => signal.removeEventListener('abort', abort));
  // What breaks while nobody reads is thrown by the next read.
  stream.on('error', () => undefined);

  let silenceMs = unsaidSilenceMs;
  try {
    const [response] = (await once(stream, 'response', {signal})) as [Response];
    onResponse(response);
    silenceMs = silenceMsOf(response);
    const {statusCode: status, headers} = response;
    if (status < 200 || status > 299) throw answerFailure({status, headers, body: await bodyOf(stream), url});
    if (!headers['content-type']?.startsWith('text/event-stream')) throw noEvents(url);
  } catch (error) {
    stream.destroy();
    if (signal.aborted) return nothing();
    throw error instanceof CliError ? error : connectionFailure(error, url);
  }
  return eventsOf(whileHeard(stream, silenceMs), url, signal);
};

async function* eventsOf(stream: AsyncIterable<Buffer>, url: URL, signal: AbortSignal): AsyncIterable<ClusterEvent> {
  const parser = createEventParser();
  try {
    for await (const chunk of stream) {
      for (const event of parser.push(chunk)) {
        if (signal.aborted) return;
        yield event;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw connectionFailure(error, url);
  }
}

/** Fails with `ETIMEDOUT` when nothing comes for so long. The time that somebody takes to deal with what has come does not count. */
async function* whileHeard(stream: Request, silenceMs: number): AsyncIterable<Buffer> {
  const chunks = stream[Symbol.asyncIterator]();
  const tooLate = () => stream.destroy(Object.assign(new Error('silent'), {code: 'ETIMEDOUT'}));
  try {
    for (;;) {
      const timer = setTimeout(tooLate, silenceMs);
      const {done, value} = await chunks.next().finally(() => clearTimeout(timer));
      if (done) return;
      yield value as Buffer;
    }
  } finally {
    stream.destroy();
  }
}

async function* nothing(): AsyncIterable<never> {}

const maxBodyBytes = 64 * 1024;

/** Of an answer that says what is wrong; as much of it as anybody wants to read. */
export const bodyOf = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBodyBytes) break;
  }
  return Buffer.concat(chunks);
};

const noEvents = (url: URL): CliError =>
  new CliError('unexpected_answer', `${url.origin} answered, but not as mfd does`, {
    hint: 'check the address: mfctl context list',
  });
