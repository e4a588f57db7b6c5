import {once} from 'node:events';
import {createServer, type IncomingMessage, request} from 'node:http';
import {pipeline} from 'node:stream';
import {text} from 'node:stream/consumers';
import test, {type ExecutionContext} from 'ava';
import {createTextStream, type TextStream} from '../../../daemon/http/answer.ts';
import {listening} from '../../helpers/listening.ts';

/** One answer over real HTTP, and its reader. */
const answer = async (t: ExecutionContext): Promise<{stream: TextStream; response: IncomingMessage}> => {
  const stream = createTextStream();
  const server = createServer((_request, response) => void pipeline(stream.body, response, () => {}));
  const sent = request({port: await listening(t, server), agent: false});
  sent.end();
  stream.send('first\n');
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return {stream, response};
};

test('text comes as it is sent, and the answer ends when it is ended', async t => {
  const {stream, response} = await answer(t);
  stream.send('second ä\n');
  stream.end();
  stream.send('too late\n');

  t.is(await text(response), 'first\nsecond ä\n');
});

test('a reader who does not read is cut off, and the stream says so once; what is kept for it is bounded', async t => {
  const {stream, response} = await answer(t);
  response.pause();
  let closed = 0;
  stream.onClose(() => {
    closed += 1;
  });

  // The buffers of the operating system have no limit set here.
  let most = 0;
  for (let sent = 0; closed === 0 && sent < 100_000; sent += 1) {
    stream.send(`${'x'.repeat(10_000)}\n`);
    most = Math.max(most, stream.body.readableLength);
    if (sent % 10 === 0) await new Promise(resolve => setImmediate(resolve));
  }

  t.is(closed, 1);
  t.true(most < 1024 * 1024 + 20_000, `${most} bytes`);
  response.resume();
  await t.throwsAsync(text(response));
});

test('a reader who goes away is noticed', async t => {
  const {stream, response} = await answer(t);

  const gone = new Promise<void>(resolve => stream.onClose(resolve));
  response.destroy();
  await gone;

  t.notThrows(() => stream.send('for nobody'));
});

test('what is sent when the reader is ready waits for a reader who stops, and goes on with him', async t => {
  const {stream, response} = await answer(t);
  response.pause();
  let sent = 0;
  const sending = (async () => {
    for (; sent < 3000; sent += 1) {
      await Promise.all([stream.ready(), stream.ready()]);
      stream.send(`${'x'.repeat(10_000)}\n`);
    }
    stream.end();
  })();
  let before = -1;
  while (before !== sent) {
    before = sent;
    await new Promise(resolve => setTimeout(resolve, 200));
  }

  t.true(sent < 3000);
  t.true(stream.body.readableLength < 80_000, `${stream.body.readableLength} bytes`);
  const received = await text(response);
  await sending;
  t.is(received.length, 'first\n'.length + 3000 * 10_001);
});

test('who waits for a reader who goes away does not wait for ever', async t => {
  const {stream, response} = await answer(t);
  response.pause();
  for (let n = 0; n < 60; n += 1) stream.send('x'.repeat(10_000));
  const ready = stream.ready();

  response.destroy();

  await t.notThrowsAsync(ready);
});
