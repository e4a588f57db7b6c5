import test from 'ava';
import {endingTransport} from '../../../cli/client/ending-transport.ts';
import type {Answer, Request, Transport} from '../../../cli/client/transport.ts';

const answer = {data: undefined, etag: undefined, totalCount: undefined, unreachableNodes: []};

const transportOver = (send: (request: Request) => Promise<unknown>): Transport =>
  ({send: async <T>(request: Request) => (await send(request)) as Answer<T>}) as Transport;

test('a read is given up soon, a change has its time, and a request that says how long it may take has that', async t => {
  const asked: Request[] = [];
  const send = async (request: Request) => {
    asked.push(request);
    return answer;
  };
  const transport = endingTransport(transportOver(send), {end: new AbortController().signal, readSilenceMs: 10_000});

  await transport.send({path: 'cluster/status'});
  await transport.send({method: 'POST', path: 'mail/quarantine/mx1/A/release'});
  await transport.send({path: 'cluster/drift', silenceMs: 60_000});

  t.deepEqual(
    asked.map(({silenceMs}) => silenceMs),
    [10_000, undefined, 60_000],
  );
});

test('the end aborts what is under way and what is asked later, and the request’s own signal aborts it alone', async t => {
  const end = new AbortController();
  const own = new AbortController();
  const send = ({signal}: Request) =>
    new Promise((_, reject) => {
      if (signal?.aborted) reject(signal.reason);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const transport = endingTransport(transportOver(send), {end: end.signal});

  const withOwn = transport.send({path: 'domains', signal: own.signal});
  const underWay = transport.send({path: 'domains'});
  own.abort(new Error('not wanted any more'));
  await t.throwsAsync(withOwn, {message: 'not wanted any more'});
  end.abort(new Error('the dashboard has been left'));

  await t.throwsAsync(underWay, {message: 'the dashboard has been left'});
  await t.throwsAsync(transport.send({path: 'domains'}), {message: 'the dashboard has been left'});
});
