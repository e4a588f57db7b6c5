import {readFile} from 'node:fs/promises';
import type {ServerResponse} from 'node:http';
import test, {type ExecutionContext} from 'ava';
import {createClient} from '../../../cli/client/client.ts';
import {CliError} from '../../../cli/errors.ts';
import type {StreamEvent} from '../../../shared/cluster-event.ts';
import {discardedEvent, healthEvent, heldEvent} from '../../helpers/cli/sample-records.ts';
import {type Reply, startApi} from '../../helpers/cli/scripted-api.ts';

const headers = {'content-type': 'text/event-stream; charset=utf-8'};
const framed = (...events: StreamEvent[]) => events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('');

const startStreaming = async (t: ExecutionContext, answer: Reply) => {
  const api = await startApi(t, {'GET /events': answer});
  const ca = await readFile(api.env.MFCTL_CACERT, 'utf8');
  const connection = {baseUrl: new URL(`${api.url}/api/v1/`), apiKey: 'mfk_test', ca};
  const lines: string[] = [];
  return {...api, ca, lines, client: await createClient({connection, version: '1', log: line => lines.push(line)})};
};

/** A node that sends one mail event and keeps the stream open; `closed` resolves when the connection is closed. */
const startEndless = async (t: ExecutionContext) => {
  let isClosed = () => {};
  const closed = new Promise<void>(resolve => {
    isClosed = resolve;
  });
  const {client} = await startStreaming(t, {
    headers,
    stream: response => {
      response.once('close', isClosed);
      response.write(framed(heldEvent));
    },
  });
  return {client, closed};
};

const failureOf = async (t: ExecutionContext, work: Promise<unknown>): Promise<CliError> => {
  const error = await t.throwsAsync(work);
  if (!(error instanceof CliError)) throw error;
  return error;
};

const all = async (events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> => {
  const found: StreamEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
};

const never = () => new AbortController().signal;

test('events arrive as they are sent, and end when the node ends the connection', async t => {
  let response: ServerResponse | undefined;
  const {client, requests, lines} = await startStreaming(t, {
    headers,
    stream: opened => {
      response = opened;
      opened.write(`retry: 2000\n: hello\n\n${framed(heldEvent)}`);
    },
  });

  const events = (await client.events({types: ['held', 'health']}, never()))[Symbol.asyncIterator]();
  const first = await events.next();
  response?.end(framed(healthEvent));

  t.deepEqual(first.value, heldEvent);
  t.deepEqual((await events.next()).value, healthEvent);
  t.true((await events.next()).done);
  t.is(requests[0]?.query.get('type'), 'held,health');
  t.is(requests[0]?.headers.accept, 'text/event-stream');
  t.is(requests[0]?.headers['x-api-key'], 'mfk_test');
  t.regex(lines.join(), /^GET \/api\/v1\/events\?type=\S+ 200 /);
});

test('no types ask for all', async t => {
  const {client, requests} = await startStreaming(t, {headers, raw: framed(discardedEvent)});

  t.deepEqual(await all(await client.events({}, never())), [discardedEvent]);
  t.is(requests[0]?.query.toString(), '');
});

test('an abort ends the reading without an error and closes the connection', async t => {
  const {client, closed} = await startEndless(t);
  const abort = new AbortController();

  const seen: StreamEvent[] = [];
  for await (const event of await client.events({}, abort.signal)) {
    seen.push(event);
    setImmediate(() => abort.abort());
  }

  await closed;
  t.is(seen.length, 1);
  t.deepEqual(await all(await client.events({}, abort.signal)), []);
});

test('an abort before the node has answered is no error either', async t => {
  const {client} = await startStreaming(t, {headers, stream: () => abort.abort()});
  const abort = new AbortController();

  t.deepEqual(await all(await client.events({}, abort.signal)), []);
});

test('a node that refuses says why, and how long to wait', async t => {
  const error = {code: 'rate_limited', detail: 'watches too often'};
  const {client} = await startStreaming(t, {status: 429, headers: {'retry-after': '5'}, error});

  const failure = await failureOf(t, client.events({}, never()));

  t.like(failure, {code: 'rate_limited', detail: 'watches too often', exitCode: 7, retryAfterSeconds: 5, requestId: 'r-1'});
});

test('an answer that is no event stream is refused', async t => {
  const {client} = await startStreaming(t, {headers: {'content-type': 'text/html'}, raw: '<html>'});

  t.is((await failureOf(t, client.events({}, never()))).code, 'unexpected_answer');
});

test('a connection that breaks, and a node that is not there, are failures of the connection', async t => {
  const {client, ca} = await startStreaming(t, {
    headers,
    stream: response => response.write(framed(heldEvent), () => response.destroy()),
  });
  const connection = {baseUrl: new URL('https://127.0.0.1:1/api/v1/'), apiKey: undefined, ca};
  const absent = await createClient({connection, version: '1', log: () => {}});

  const events = await client.events({}, never());

  t.is((await failureOf(t, all(events))).exitCode, 7);
  t.is((await failureOf(t, absent.events({}, never()))).code, 'unreachable');
});

test('a connection that is silent for too long is broken, and one that pings is not', async t => {
  let pings = 0;
  const {client} = await startStreaming(t, {
    // The limit is two intervals and two seconds.
    headers: {...headers, 'x-ping-interval': '1'},
    stream: response => {
      response.flushHeaders();
      const timer = setInterval(() => {
        response.write(': ping\n\n');
        pings += 1;
        if (pings === 10) clearInterval(timer);
      }, 500);
    },
  });

  const failure = await failureOf(t, all(await client.events({}, never())));

  t.is(failure.code, 'timeout');
  t.is(failure.exitCode, 7);
  t.is(pings, 10);
});

test('who reads slowly loses nothing of a line that stands', async t => {
  const {client} = await startStreaming(t, {
    headers: {...headers, 'x-ping-interval': '1'},
    stream: response => {
      response.write(framed(heldEvent));
      setTimeout(() => response.end(framed(healthEvent)), 1000);
    },
  });

  const seen: string[] = [];
  for await (const {type} of await client.events({}, never())) {
    seen.push(type);
    if (seen.length === 1) await new Promise(resolve => setTimeout(resolve, 5000));
  }

  t.deepEqual(seen, ['held', 'health']);
});

test('who stops reading closes the connection', async t => {
  const {client, closed} = await startEndless(t);

  for await (const _event of await client.events({}, never())) break;

  await closed;
  t.pass();
});
