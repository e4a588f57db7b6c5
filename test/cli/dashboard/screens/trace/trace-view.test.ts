import test from 'ava';
import type {Request} from '../../../../../cli/client/transport.ts';
import {initialList, shownRows} from '../../../../../cli/dashboard/list/list.ts';
import {historyLines, historyPage} from '../../../../../cli/dashboard/screens/quarantine/mail-history.ts';
import {createMailPreviews} from '../../../../../cli/dashboard/screens/quarantine/mail-previews.ts';
import {traceList} from '../../../../../cli/dashboard/screens/trace/trace-list.ts';
import {
  emptyTrace,
  hasOlder,
  type TraceEvent,
  type TracePage,
  type TraceState,
  traceReducer,
} from '../../../../../cli/dashboard/screens/trace/trace-state.ts';
import {CliError} from '../../../../../cli/errors.ts';
import type {MailEvent} from '../../../../../shared/mail-event.ts';
import {fakeClient} from '../../../../helpers/cli/fake-client.ts';
import {detail, hostile, mailEvent} from '../../../../helpers/cli/sample-records.ts';
import {drawnList, fits, plainTheme, sizes, withoutStyle} from '../../../../helpers/dashboard/drawn.ts';
import {drawDashboard} from '../../../../helpers/dashboard/drawn-dashboard.ts';
import {eventually} from '../../../../helpers/eventually.ts';

const entry = (n: number): MailEvent => ({...mailEvent, id: `n${n}`, subject: `mail ${n}`});

/** Newest first, in the order of the API. */
const entries = (from: number, to: number): MailEvent[] => Array.from({length: to - from + 1}, (_, at) => entry(to - at));

const pageOf = (events: MailEvent[], change: Partial<TracePage> = {}): TracePage => ({
  events,
  isFull: true,
  unreachable: [],
  ...change,
});
const newest = (events: MailEvent[], change?: Partial<TracePage>): TraceEvent => ({
  kind: 'newest',
  page: pageOf(events, change),
  filter: '',
});
const older = (events: MailEvent[], cursor: string, change?: Partial<TracePage>): TraceEvent => ({
  kind: 'older',
  page: pageOf(events, change),
  cursor,
  filter: '',
});

const after = (...events: TraceEvent[]): TraceState => events.reduce(traceReducer, emptyTrace);
const listOf = (state: TraceState) => traceList(state, {loaded: {failure: undefined, loadedAtMs: 0}, names: undefined});
const idsOf = (state: TraceState): string[] => shownRows(listOf(state), {filter: '', order: 0}).map(({id}) => id);
const idsIn = (events: MailEvent[]): string[] => events.map(({id}) => id);

test('new entries join those that are known, and older ones follow the cursor to the end', t => {
  const known = after(newest(entries(101, 200)), newest(entries(103, 202)));

  t.true(hasOlder(known));
  t.is(known.next, 'n101');
  const all = traceReducer(known, older(entries(90, 100), 'n101', {isFull: false}));
  t.deepEqual(idsOf(all), idsIn(entries(90, 202)));
  t.false(hasOlder(all));
  t.regex(drawnList(listOf({...all, tail: {...all.tail, rows: all.tail.rows.slice(0, 3)}}), initialList), /this is all there is/);
});

test('the order is that of the log, whatever the clock of a node says', t => {
  const late = {...entry(3), at: '2020-01-01T00:00:00.000Z'};

  t.deepEqual(idsOf(after(newest(entries(1, 2)), newest([late, ...entries(1, 2)]))), ['n3', 'n2', 'n1']);
});

test('when more has happened than a page holds, or another node is silent, the list starts again without a gap', t => {
  const jumped = after(newest(entries(1, 100)), newest(entries(301, 400)));
  const partial = after(newest(entries(1, 100)), newest(entries(51, 100), {unreachable: ['mx2']}));

  t.deepEqual(idsOf(jumped), idsIn(entries(301, 400)));
  t.is(jumped.next, 'n301');
  t.is(idsOf(partial).length, 50);
  t.regex(drawnList(listOf(partial), initialList), /! mx2 did not answer: entries are missing/);
});

test('answers to another filter, or for another cursor, are not taken', t => {
  const known = after(newest(entries(101, 200)), {kind: 'older-asked'});

  t.is(traceReducer(known, {kind: 'newest', page: pageOf(entries(1, 9)), filter: 'to:a@b.example'}), known);
  t.is(traceReducer(known, {kind: 'older', page: pageOf(entries(1, 9)), cursor: 'n101', filter: 'x'}), known);
  t.is(traceReducer(known, older(entries(1, 9), 'n55')), known);
  t.deepEqual(traceReducer(known, {kind: 'filtered', filter: 'x'}), {...emptyTrace, filter: 'x'});
  t.is(traceReducer(known, {kind: 'filtered', filter: ''}), known);
});

test('a paused list takes older ones, and only counts new ones', t => {
  const paused = after(newest(entries(101, 200)), {kind: 'pause-toggled'}, newest(entries(103, 202)));

  const state = traceReducer(paused, older(entries(51, 100), 'n101'));

  t.regex(drawnList(listOf(state), initialList), /paused, 2 new/);
  t.deepEqual(idsOf(state), idsIn(entries(51, 200)));
  t.deepEqual(idsOf(traceReducer(state, {kind: 'pause-toggled'})), idsIn(entries(51, 202)));
});

test('what cannot be read is not asked for again until the newest could be read', t => {
  const failed = after(newest(entries(101, 200)), {kind: 'older-asked'}, {kind: 'older-failed'});

  t.is(failed.older, 'failed');
  t.is(traceReducer(failed, newest(entries(101, 200))).older, 'idle');
});

const hostileEvent: MailEvent = {
  ...{...mailEvent, id: 'hostile', sender: hostile.repeat(9), recipients: [hostile, hostile], from: [hostile]},
  ...{
    at: hostile,
    reply: '東京'.repeat(90),
    message_id: hostile,
    server: hostile,
    detail: hostile,
    symbols: [hostile],
    domain: hostile,
  },
};

test('hostile entries, and their history, fit the screen at every size', t => {
  const state = after(newest([hostileEvent, ...entries(1, 80)], {unreachable: [hostile]}));
  const failure = new CliError('unreachable', hostile);

  for (const size of sizes) {
    const list = traceList(state, {loaded: {failure, loadedAtMs: 0}, names: undefined});
    fits(t, drawnList(list, initialList, size).split('\n'), size);
    fits(t, historyPage([hostileEvent, hostileEvent], plainTheme).lines(size.columns), {...size, rows: 1000});
    fits(t, historyLines([hostileEvent], 24, plainTheme), {columns: 24, rows: 1000});
  }
});

test('of many recipients the page names some, and counts the others', t => {
  const recipients = Array.from({length: 40}, (_, at) => `r${at}@example.com`);

  const text = historyPage([{...mailEvent, recipients, recipient_count: 40}], plainTheme)
    .lines(78)
    .map(withoutStyle)
    .join('\n');

  t.regex(text, /r19@example\.com\n.*and 20 more/);
});

test('the line of the quarantine finds mail here too, and has what only the event log knows', t => {
  const {check, prompt, meaning} = listOf(emptyTrace);
  const fault = (text: string) => check?.({text, terms: {}, words: []});

  t.is(fault('to:a@b.example event:held,relayed client:192.0.2.1 id:<1@x> since:2h invoice'), undefined);
  t.regex(fault('event:gone') ?? '', /must be some of relayed, held/);
  t.regex(fault('client:mx1') ?? '', /"mx1" is not an IP address/);
  t.regex(fault('id:"a b"') ?? '', /"a b" is not a Message-ID/);
  t.regex(fault('score>=8') ?? '', /there is no filter score/);
  t.regex(fault('reason:spam') ?? '', /there is no filter reason/);
  t.is(meaning?.('a@b.example'), 'address:a@b.example');
  t.deepEqual(prompt?.complete?.('event:held,relea'), ['event:held,released', 'event:held,release_requested']);
  t.deepEqual(prompt?.complete?.('ev'), ['event:']);
  t.is(
    prompt?.hint?.('to:a@b.example event:held,lost id:1@x'),
    'to a@b.example, held or lost, with the Message-ID 1@x (ctrl+u empties the line)',
  );
});

test('enter opens the history of a mail, and of what was refused before its content the entry', async t => {
  const held: MailEvent = {...mailEvent, event: 'held', reason: 'spam', id: 'a', subject: 'the held one'};
  const refused: MailEvent = {
    ...mailEvent,
    event: 'refused',
    queue_id: null,
    id: 'b',
    subject: null,
    server: null,
    reply: '550 5.1.1 no',
  };
  const released: MailEvent = {...held, event: 'released', key_id: 7, key_name: 'helpdesk'};
  const answers = {'mail/trace': [held, refused], 'mail/trace/mx1/aaaaaa': [held, released]};
  const {send, shows} = await drawDashboard(t, {screen: 'trace', answers});
  await shows('the held one');

  send('\r');
  await shows('released with the key helpdesk');
  send('\x1b');
  await shows('▸ following');
  send('j');
  await shows('2 of 2');
  send('\r');

  const page = await shows('refused it: nobody got it');
  t.regex(page, /the sending server was told: 550 5\.1\.1 no/);
});

test('the preview of a held mail has its history', async t => {
  const held: MailEvent = {...mailEvent, event: 'held', reason: 'spam', detail: 'it is there again'};
  const answers = {'mail/quarantine/mx1/mail000002': detail, 'mail/trace/mx1/mail000002': [held]};
  const {send, shows} = await drawDashboard(t, {screen: 'quarantine', columns: 160, answers});
  await shows('of 3 mails');

  send('\r');
  await shows(/Size +2\.0 KiB/);
  send('\r', 'G');

  const screen = await shows('History');
  t.regex(screen, /mx1 held it for spam/);
});

test('a mail whose node has no event log is previewed without a history', async t => {
  const previews = createMailPreviews({
    client: fakeClient({
      send: async <T>({path}: Request) => {
        if (path.startsWith('mail/trace')) throw new CliError('not_found', 'there is nothing at this path');
        return {data: detail as T, etag: undefined, totalCount: undefined, unreachableNodes: []};
      },
      download: async () => (async function* () {})(),
    }),
    may: () => true,
    live: {on: () => () => undefined},
    restMs: 0,
  });

  previews.want({node_id: 'mx1', queue_id: 'aaaaaa'});

  t.like(await eventually(() => previews.get('mx1/aaaaaa')?.state === 'ready' && previews.get('mx1/aaaaaa')), {
    state: 'ready',
    history: [],
  });
});
