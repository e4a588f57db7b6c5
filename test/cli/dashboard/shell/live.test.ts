import {Readable} from 'node:stream';
import test from 'ava';
import {createRoute, type Missed, startLive} from '../../../../cli/dashboard/shell/live.ts';
import {CliError, exitCodes} from '../../../../cli/errors.ts';
import type {StreamEvent} from '../../../../shared/cluster-event.ts';
import {healthEvent, heldEvent} from '../../../helpers/cli/sample-records.ts';
import {eventually} from '../../../helpers/eventually.ts';

const away = new CliError('unreachable', 'cannot reach it', {exitCode: exitCodes.unreachable});
const silent = new CliError('timeout', 'it did not answer in time', {exitCode: exitCodes.unreachable});
const busy = new CliError('unavailable', 'too many listen', {exitCode: exitCodes.unreachable});
const forbidden = new CliError('insufficient_scope', 'not for this key', {exitCode: exitCodes.notAuthorised});
const unknown = new CliError('not_found', 'no events here', {exitCode: exitCodes.notFound});

/** Each attempt to connect gets the next of `answers`; the last one repeats for ever. */
const streams = (...answers: (CliError | 'open')[]) => {
  const open: {end(error?: CliError): void; tell(event: StreamEvent): void}[] = [];
  let attempts = 0;
  const events = async (_wish: object, signal: AbortSignal): Promise<AsyncIterable<StreamEvent>> => {
    const answer = answers[Math.min(attempts, answers.length - 1)];
    attempts += 1;
    if (answer instanceof CliError) throw answer;
    const stream = new Readable({objectMode: true, read: () => undefined});
    signal.addEventListener('abort', () => stream.push(null));
    open.push({end: error => void (error ? stream.destroy(error) : stream.push(null)), tell: event => void stream.push(event)});
    return stream;
  };
  return {client: {events}, open};
};

const start = (t: {teardown(run: () => void): void}, ...answers: (CliError | 'open')[]) => {
  const {client, open} = streams(...answers);
  const live = startLive(client, () => 1000);
  t.teardown(live.stop);
  return {live, open, stands: (connection: string) => eventually(() => live.get().connection === connection)};
};

test('it is connecting until something is known, and live when the events come', async t => {
  const {live, stands} = start(t, 'open');

  t.is(live.get().connection, 'connecting');
  await stands('live');
  t.is(live.get().receivedAtMs, 1000);
});

test('events reach those who listen for their type, until they stop', async t => {
  const {live, open, stands} = start(t, 'open');
  const heard: unknown[] = [];
  const leave = live.on(['held'], event => void heard.push(event?.type));
  await stands('live');

  open[0]?.tell(heldEvent);
  open[0]?.tell(healthEvent);
  open[0]?.tell(heldEvent);
  await eventually(() => heard.length === 2);
  leave();
  open[0]?.tell(heldEvent);
  await new Promise(resolve => setTimeout(resolve, 20));

  t.deepEqual(heard, ['held', 'held']);
});

for (const refusal of [forbidden, unknown, busy])
  test(`a node that answers requests and not for events (${refusal.code}) is polled`, async t => {
    const {live, stands} = start(t, refusal);
    await new Promise(resolve => setTimeout(resolve, 20));

    live.answered();

    await stands('polling');
    t.is(live.get().reason, refusal.detail);
  });

test('a burst of events is drawn a few times and not for each of them', async t => {
  const {live, open, stands} = start(t, 'open');
  let heard = 0;
  let drawn = 0;
  live.on(['held'], () => {
    heard += 1;
  });
  await stands('live');
  live.subscribe(() => {
    drawn += 1;
  });

  for (let n = 0; n < 1000; n += 1) open[0]?.tell(heldEvent);
  await eventually(() => heard === 1000);

  t.true(drawn < 10, `drawn ${drawn} times`);
});

test('a node that goes away is offline, and after its return what happened meanwhile is unknown', async t => {
  const {live, open, stands} = start(t, 'open', away, 'open');
  const heard: unknown[] = [];
  live.on(['held'], event => void heard.push(event));
  await stands('live');

  open[0]?.end(away);
  await stands('polling');
  live.failed(away);
  t.is(live.get().connection, 'offline');
  t.is(live.get().reason, 'cannot reach it');
  await stands('live');

  t.deepEqual(heard, [undefined]);
  t.is(live.get().reason, undefined);
});

test('a node whose line fell silent does not answer, until a request says that it does', async t => {
  const {live, open, stands} = start(t, 'open', silent);
  await stands('live');

  open[0]?.end(silent);
  await stands('offline');
  t.is(live.get().reason, 'it did not answer in time');

  live.answered();
  t.is(live.get().connection, 'polling');
});

test('a move to another node is shown at once, and no longer after the return to the first one', async t => {
  const route = createRoute(new URL('https://mx1:8443/api/v1/'));
  const live = startLive(streams('open').client, () => 1000, route);
  t.teardown(live.stop);
  const told: (string | undefined)[] = [];
  live.subscribe(() => void told.push(live.get().detour));
  await eventually(() => live.get().connection === 'live');
  told.length = 0;

  route.move({from: 'mx1:8443', to: 'mx2:8443', why: 'does not answer', detail: ''});
  route.move({from: 'mx2:8443', to: 'mx1:8443', why: 'does not answer', detail: ''});

  t.deepEqual(told, ['mx2:8443 in place of mx1:8443', undefined]);
});

test('a request that is answered ends what was said of a node that does not answer', async t => {
  const {live, stands} = start(t, away);
  await new Promise(resolve => setTimeout(resolve, 20));
  live.failed(away);
  await stands('offline');

  live.answered();

  t.is(live.get().connection, 'polling');
});

test('an answer that refuses is an answer', async t => {
  const {live} = start(t, 'open');
  live.failed(away);

  live.failed(forbidden);

  await new Promise(resolve => setTimeout(resolve, 20));
  t.not(live.get().connection, 'offline');
});

test('after a reconnection it says whether events of mail follow, and a gap in the stream is told as one', async t => {
  const {client, open} = streams('open', 'open');
  const live = startLive(
    {
      events: async (wish, signal) => {
        if (wish.place) wish.place.id = 'an id';
        return client.events(wish, signal);
      },
    },
    () => 1000,
  );
  t.teardown(live.stop);
  const missed: Missed[] = [];
  const heard: unknown[] = [];
  live.onMissed(one => void missed.push(one));
  live.on(['held'], event => void heard.push(event?.type));
  await eventually(() => live.get().connection === 'live');

  open[0]?.tell({type: 'gap', at: healthEvent.at, node_id: 'mx2'});
  await eventually(() => missed.length === 1);
  open[0]?.end();
  await eventually(() => missed.length === 2);

  t.deepEqual(missed, [
    {kind: 'gap', node: 'mx2'},
    {kind: 'reconnected', isResumed: true},
  ]);
  t.deepEqual(heard, [undefined, undefined]);
});
