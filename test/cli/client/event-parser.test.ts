import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import test from 'ava';
import {createEventParser} from '../../../cli/client/event-parser.ts';
import type {StreamEvent} from '../../../shared/cluster-event.ts';
import {discardedEvent, healthEvent, heldEvent} from '../../helpers/cli/sample-records.ts';

const framed = (event: object, lineEnd = '\n') =>
  [`id: x-1`, 'event: held', `data: ${JSON.stringify(event)}`, '', ''].join(lineEnd);

const eventsIn = (parsed: {event?: StreamEvent}[]): StreamEvent[] => parsed.flatMap(({event}) => event ?? []);

const parse = (...texts: string[]): StreamEvent[] => {
  const parser = createEventParser();
  return eventsIn(texts.flatMap(text => parser.push(Buffer.from(text))));
};

test('events are the same however their bytes are cut and their lines end', t => {
  const events = [{...heldEvent, subject: 'Grüße 🎉'}, discardedEvent, healthEvent];

  for (const lineEnd of ['\n', '\r\n', '\r']) {
    const bytes = Buffer.from(events.map(event => framed(event, lineEnd)).join(''));
    // After a bare carriage return the last event may still continue with a line feed.
    const end = lineEnd === '\r' ? ': end' : '';
    for (const size of [1, 2, 3, 7, 100_000]) {
      const parser = createEventParser();
      const chunks = Array.from({length: Math.ceil(bytes.length / size)}, (_, at) => bytes.subarray(at * size, (at + 1) * size));
      t.deepEqual(
        eventsIn([...chunks, Buffer.from(end)].flatMap(chunk => parser.push(chunk))),
        events,
        `${size} ${JSON.stringify(lineEnd)}`,
      );
    }
  }
});

test('comments, pings, waiting times and fields nobody knows are passed over', t => {
  const text = `retry: 2000\n: from now on\n\n: ping\n\nfoo: bar\ndata\n\n${framed(healthEvent)}: ping\n\n`;

  t.deepEqual(parse(text), [healthEvent]);
});

test('data on several lines is one event', t => {
  t.deepEqual(parse(`${JSON.stringify(healthEvent, null, 1).replace(/^/gm, 'data:')}\n\n`), [healthEvent]);
});

test('broken JSON, unknown types and members of the wrong kind do not hide the events after them', t => {
  const wrong = [
    'data: {"type":"held"\n\n',
    'data: null\n\n',
    'data: "held"\n\n',
    framed({...healthEvent, type: 'constructor'}),
    framed({...healthEvent, type: 'weather'}),
    framed({...healthEvent, from: 1}),
    framed({...heldEvent, recipients: 'a@example.com'}),
    framed({...heldEvent, recipients: [1]}),
    framed({...heldEvent, queue_id: undefined}),
  ];

  t.deepEqual(parse(...wrong, framed(discardedEvent)), [discardedEvent]);
});

test('an event beyond a mebibyte is left out without being kept, on one line or on many', t => {
  const long = 'x'.repeat(300_000);
  const line = [...Array(8).fill(long), '\n\n'];

  t.deepEqual(parse(`data: {"subject":"`, ...line, framed(healthEvent)), [healthEvent]);
  t.deepEqual(parse(...Array(8).fill(`data: ${long}\n`), '\n', framed(healthEvent)), [healthEvent]);
  t.deepEqual(parse(`data: ${JSON.stringify({...heldEvent, subject: long})}\n\n`).length, 1);
});

test('an event of lines without end is let go, though there is nothing on them', t => {
  const parser = createEventParser();
  const lines = Buffer.from('data:\n'.repeat(100_000));
  // The time of a garbage collection depends on the version of Node.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = held();

  for (let n = 0; n < 200; n += 1) parser.push(lines);

  t.true(held() - before < 50 * 1024 * 1024);
  t.deepEqual(eventsIn(parser.push(Buffer.from(`\n${framed(healthEvent)}`))), [healthEvent]);
});

test('an event that the end of the connection cut is not reported', t => {
  t.deepEqual(parse(framed(healthEvent).slice(0, -1)), []);
});

test('an id counts from the end of its event on, also without an event, and never what no header may have', t => {
  const parser = createEventParser();
  const ids = (text: string) => parser.push(Buffer.from(text)).map(({id}) => id);

  t.deepEqual(ids(framed(heldEvent)), ['x-1']);
  t.deepEqual(ids(`id: x-2\n\nid:x-3\n`), ['x-2']);
  t.deepEqual(ids('\n'), ['x-3']);
  t.deepEqual(ids(`data: ${JSON.stringify(healthEvent)}\n\n`), [undefined]);
  t.deepEqual(ids('id: a\u0000b\n\nid: a b\n\nid: ü\n\nid\n\nid: \n\n'), []);
  t.deepEqual(ids(`id: ${'x'.repeat(16_001)}\n\n`), []);
});

test('what is in the log only, and a gap, are events too', t => {
  const at = healthEvent.at;
  const relayed = {
    type: 'relayed',
    event: 'relayed',
    at,
    node_id: 'mx1',
    queue_id: null,
    sender: '',
    recipients: ['a@b.test'],
    detail: '',
  };
  const gap = {type: 'gap', at, node_id: 'mx1'};

  t.deepEqual(parse(framed(relayed), framed(gap), framed({...relayed, recipients: 'a@b.test'})), [relayed, gap] as StreamEvent[]);
});
