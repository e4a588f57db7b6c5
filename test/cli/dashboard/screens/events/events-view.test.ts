import test from 'ava';
import {initialList} from '../../../../../cli/dashboard/list/list.ts';
import {type EventFacts, eventPage, eventsList} from '../../../../../cli/dashboard/screens/events/events-list.ts';
import {type EventLog, eventLimit, startEventLog} from '../../../../../cli/dashboard/shell/event-log.ts';
import type {Live, LiveState, Missed} from '../../../../../cli/dashboard/shell/live.ts';
import type {Size} from '../../../../../cli/dashboard/shell/shell.ts';
import {CliError} from '../../../../../cli/errors.ts';
import type {Me} from '../../../../../shared/api-key.ts';
import type {ClusterEvent} from '../../../../../shared/cluster-event.ts';
import {permissionsOf, type Scope} from '../../../../../shared/scopes.ts';
import {fakeClient} from '../../../../helpers/cli/fake-client.ts';
import {
  detail,
  discardedEvent,
  healthEvent,
  heldEvent,
  hostile,
  key,
  releasedEvent,
} from '../../../../helpers/cli/sample-records.ts';
import {drawnList, fits, plainTheme, sizes, withoutStyle} from '../../../../helpers/dashboard/drawn.ts';
import {eventually} from '../../../../helpers/eventually.ts';

/** A connection with scripted events. */
const startLog = () => {
  let nowMs = Date.parse('2026-03-01T19:00:00Z');
  let state: LiveState = {connection: 'connecting', receivedAtMs: undefined, reason: undefined};
  let hear: Parameters<Live['on']>[1] = () => undefined;
  let miss: Parameters<Live['onMissed']>[0] = () => undefined;
  let changed = (): void => undefined;
  const log = startEventLog({
    burstMs: 0,
    now: () => nowMs,
    live: {
      get: () => state,
      subscribe: listener => {
        changed = listener;
        return () => undefined;
      },
      on: (_types, listener) => {
        hear = listener;
        return () => undefined;
      },
      onMissed: listener => {
        miss = listener;
        return () => undefined;
      },
    },
  });
  return {
    log,
    hear: (event: ClusterEvent | undefined) => hear(event),
    miss: (missed: Missed) => miss(missed),
    at: (time: string) => {
      nowMs = Date.parse(`2026-03-01T${time}Z`);
    },
    is: (connection: LiveState['connection'], reason?: string) => {
      state = {connection, receivedAtMs: nowMs, reason};
      changed();
    },
    count: async (count: number) => eventually(() => log.get().rows.length === count),
  };
};

const meOf = (scope: Scope): Me => ({
  ...key,
  scope,
  node_id: 'mx1',
  permissions: [...permissionsOf(scope, scope === 'domain-admin' ? {kind: 'domain', domainId: 1} : {kind: 'all'})],
});

const facts = (log: EventLog, change: Partial<EventFacts> = {}): EventFacts => ({
  live: {connection: 'live', receivedAtMs: 0, reason: undefined},
  receivingSinceMs: log.receivingSinceMs(),
  lostAtMs: log.lostAtMs(),
  me: meOf('full-admin'),
  ...change,
});

const textOf = (log: EventLog, change: Partial<EventFacts> = {}, size?: Size, filter = ''): string =>
  drawnList(eventsList(log.get(), facts(log, change)), {...initialList, filter}, size);

const domainEvent: ClusterEvent = {
  type: 'domain',
  at: '2026-03-01T12:00:00.000Z',
  node_id: 'mx1',
  id: 5,
  name: 'example.com',
  change: 'updated',
};

test('hostile events fit the screen at every size', async t => {
  const {log, hear, miss, is, count} = startLog();
  is('live');
  const wide = {
    ...heldEvent,
    subject: `${hostile} 東京タワー`.repeat(50),
    sender: hostile,
    recipients: [hostile.repeat(20), 'b@x.example'],
  };
  const events = [heldEvent, wide as ClusterEvent, releasedEvent, discardedEvent, healthEvent, domainEvent];
  for (const event of events) hear(event);
  miss({kind: 'reconnected', isResumed: true});
  miss({kind: 'gap', node: 'n'.repeat(63)});
  await count(events.length + 2);

  for (const size of sizes) fits(t, textOf(log, {}, size).split('\n'), size);
});

test('each event says what happened to what, with a glyph and a word', async t => {
  const {log, hear, is, count} = startLog();
  is('live');
  for (const event of [{...heldEvent, subject: 'Invoice'} as ClusterEvent, releasedEvent, healthEvent, domainEvent]) hear(event);
  await count(4);

  const narrow = textOf(log);
  t.regex(narrow, /09:30:01Z {2}■ held +mx1 +Invoice · <> · aaaaaa/);
  t.regex(narrow, /▲ released +mx1 +aaaaaa by key 7/);
  t.regex(narrow, /● health +mx2 +online → stale/);
  t.regex(narrow, /◆ domain +mx1 +example\.com updated/);
  t.regex(textOf(log, {}, sizes.at(-1)), /03-01 {2}09:30:01Z .*a@example\.com \+1 +12\.5/);
});

test('a connection that was lost leaves a line that says from when to when', async t => {
  const {log, hear, miss, is, at, count} = startLog();
  is('live');
  hear(domainEvent);
  at('19:03:12');
  is('polling', 'the connection broke');

  t.regex(
    textOf(log, {live: {connection: 'polling', receivedAtMs: 0, reason: 'the connection broke'}}),
    /✗ no events since 19:03:12Z: the connection broke; retrying/,
  );

  at('19:03:40');
  is('live');
  miss({kind: 'reconnected', isResumed: false});
  await count(2);
  t.regex(textOf(log), /connection lost 19:03:12Z–19:03:40Z: what happened meanwhile is not here/);
  t.notRegex(textOf(log), /no events since/);
});

test('where the events of mail follow it says so, and names the node of which some may be missing', async t => {
  const {log, miss, is, count} = startLog();
  is('live');
  is('polling');
  is('live');
  miss({kind: 'reconnected', isResumed: true});
  miss({kind: 'gap', node: 'mx2'});
  await count(2);

  t.regex(textOf(log), /connection lost \S+: only events of mail are caught up ──/);
  t.regex(textOf(log), /events of mail on mx2 may be missing here/);
});

test('a gap is shown whatever is looked for', async t => {
  const {log, hear, miss, is, count} = startLog();
  is('live');
  hear(domainEvent);
  is('polling');
  is('live');
  miss({kind: 'reconnected', isResumed: false});
  await count(2);

  const text = textOf(log, {}, undefined, 'type:held');

  t.regex(text, /connection lost/);
  t.notRegex(text, /example\.com/);
});

test('no more events are kept than there is room for, and of each no more than a few lines', async t => {
  const {log, hear, is, count} = startLog();
  is('live');
  const recipients = Array.from({length: 1000}, (_, at) => `${at}@example.com`);

  for (let at = 0; at < eventLimit + 10; at += 1) hear({...heldEvent, subject: 'x'.repeat(5000), recipients} as ClusterEvent);

  await count(eventLimit);
  t.true(JSON.stringify(log.get().rows[0]).length < 1000);
});

test('the events that a key does not receive are named', t => {
  const {log} = startLog();
  const said = (scope: Scope) => eventsList(log.get(), facts(log, {me: meOf(scope)})).banners?.map(({text}) => text);

  t.deepEqual(said('full-admin'), []);
  t.deepEqual(said('quarantine-only'), ['This key is quarantine-only: it does not receive domain, key, health']);
  t.deepEqual(said('domain-admin'), ['This key is domain-admin: it does not receive key, health']);
});

test('without an event stream the screen says so, and how to get one', t => {
  const {log} = startLog();

  const text = textOf(log, {live: {connection: 'polling', receivedAtMs: 0, reason: 'there is no /events'}});

  t.regex(text, /There is no event stream: there is no \/events/);
  t.regex(text.replaceAll('\n', ' '), /use a node that sends events .* after 15 s of silence\./);
});

test('a held mail is looked up, and one that is gone is reported as gone', async t => {
  const {log, hear, is, count} = startLog();
  is('live');
  hear(heldEvent);
  await count(1);
  const [row] = log.get().rows;
  if (row?.kind !== 'event') return t.fail();
  const pageOf = async (send: () => Promise<unknown>) =>
    (await eventPage(fakeClient({send: send as never}), row, plainTheme)).lines(78).map(withoutStyle).join('\n');

  t.regex(await pageOf(async () => ({data: detail})), /Symbols +LOW 1, HIGH 11\.5/);
  t.regex(await pageOf(async () => Promise.reject(new CliError('not_found', 'no'))), /not held any more/);
  t.regex(await pageOf(async () => Promise.reject(new CliError('node_unreachable', 'mx1 is away'))), /not known: mx1 is away/);
});
