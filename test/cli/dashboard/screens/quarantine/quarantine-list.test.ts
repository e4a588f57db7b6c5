import test, {type ExecutionContext} from 'ava';
import {moved} from '../../../../../cli/dashboard/list/list-window.ts';
import {type MailOrder, mailAt, mailUnderCursor, rowCount} from '../../../../../cli/dashboard/screens/quarantine/list-state.ts';
import {createMailList} from '../../../../../cli/dashboard/screens/quarantine/mail-list.ts';
import {CliError} from '../../../../../cli/errors.ts';
import type {ClusterEvent} from '../../../../../shared/cluster-event.ts';
import {createMailApi, heldMail, heldMails, type MailApi} from '../../../../helpers/dashboard/held-mails.ts';
import {eventually} from '../../../../helpers/eventually.ts';

const height = 20;

const startList = async (t: ExecutionContext, api: MailApi, order: MailOrder = 'newest') => {
  let hear: (event: ClusterEvent | undefined) => void = () => undefined;
  const live = {
    on: (_types: unknown, listener: typeof hear) => {
      hear = listener;
      return () => undefined;
    },
    get: () => ({connection: 'live', receivedAtMs: undefined, reason: undefined}) as const,
    answered: () => undefined,
    failed: () => undefined,
  };
  const list = createMailList({client: api, live, now: () => Date.parse('2026-03-01T12:00:00Z')});
  t.teardown(list.show());
  list.dispatch({type: 'resized', height});
  if (order !== 'newest') list.dispatch({type: 'asked', query: {}, order});
  const rows = () => {
    const state = list.get();
    return Array.from({length: Math.min(height, rowCount(state))}, (_, at) => mailAt(state, state.position.top + at));
  };
  const settled = () =>
    eventually(() => list.get().loadedAtMs !== undefined && rows().every(mail => mail !== undefined) && !list.get().isLost);
  const press = async (...keys: string[]) => {
    for (const key of keys) {
      const state = list.get();
      const position = moved(state.position, key, {count: rowCount(state), height: state.height});
      if (position) list.dispatch({type: 'moved', position});
    }
    await settled();
  };
  /** Reloads the list and waits until it shows the current data: the answer to one request leads at once to the next. */
  const reread = async () => {
    const before = api.asked.length;
    list.refresh();
    await eventually(() => api.asked.length > before && api.underWay === 0);
    await settled();
  };
  await settled();
  return {list, press, reread, settled, rows, hear: (event: ClusterEvent | undefined) => hear(event)};
};

const numberOf = (subject: string | undefined): number => Number(subject?.replace('mail ', ''));

test('the end of 100,000 mails is reached without reading those between', async t => {
  const api = createMailApi(heldMails(100_000));
  const {list, press, rows} = await startList(t, api);

  await press('G');

  t.is(list.get().position.cursor, 99_999);
  t.is(mailUnderCursor(list.get())?.subject, 'mail 0');
  t.is(rows().length, height);
  t.true(api.asked.length <= 4, `${api.asked.length} requests`);
});

test('rows that were passed are forgotten, so that any number of mails can be scrolled through', async t => {
  const api = createMailApi(heldMails(20_000));
  const {list, press} = await startList(t, api);

  for (let page = 0; page < 400; page += 1) await press('pagedown');

  t.true(list.get().position.cursor > 7000);
  t.true(list.get().rows.size <= 3000, `${list.get().rows.size} rows`);
});

test('oldest first begins with the oldest and ends with the newest', async t => {
  const {list, press, rows} = await startList(t, createMailApi(heldMails(1000)), 'oldest');

  t.is(rows()[0]?.subject, 'mail 0');
  await press('G');
  t.is(mailUnderCursor(list.get())?.subject, 'mail 999');
});

for (const order of ['newest', 'oldest'] as const)
  test(`the cursor stays on its mail whatever arrives and leaves, ${order} first`, async t => {
    const api = createMailApi(heldMails(1000));
    const {list, press, reread, rows} = await startList(t, api, order);
    await press('pagedown', 'pagedown', 'j', 'j', 'j');
    const mail = mailUnderCursor(list.get());
    const line = list.get().position.cursor - list.get().position.top;

    for (const [arrived, left] of [
      [3, 0],
      [0, 5],
      [450, 0],
      [7, 7],
      [0, 300],
    ] as const) {
      const others = api.mails.filter(each => each !== mail);
      api.mails = [
        ...others.slice(0, order === 'newest' ? others.length - left : others.length),
        ...heldMails(arrived, 1000 + api.asked.length * 1000),
        ...(mail ? [mail] : []),
      ];
      if (order === 'oldest') api.mails = api.mails.filter(each => each === mail || numberOf(each.subject) >= left / 10);
      await reread();
      t.is(mailUnderCursor(list.get())?.subject, mail?.subject, `after ${arrived} arrived and ${left} left`);
      t.true(rows().every(Boolean));
    }
    // With enough rows above it, it also keeps its line.
    if (order === 'newest') t.is(list.get().position.cursor - list.get().position.top, line);
  });

test('what has arrived above the cursor is counted until one looks', async t => {
  const api = createMailApi(heldMails(500));
  const {list, press, reread} = await startList(t, api);
  await press('pagedown');

  api.mails = [...api.mails, ...heldMails(3, 500)];
  await reread();
  t.is(list.get().newAbove, 3);

  await press('g');
  t.is(list.get().newAbove, 0);
  t.is(mailUnderCursor(list.get())?.subject, 'mail 502');
});

test('at the top the newest are shown, unless one reads the mail there', async t => {
  const api = createMailApi(heldMails(50));
  const {list, reread} = await startList(t, api);

  api.mails = [...api.mails, heldMail(50)];
  await reread();
  t.is(mailUnderCursor(list.get())?.subject, 'mail 50');

  list.dispatch({type: 'pinned', isPinned: true});
  api.mails = [...api.mails, heldMail(51)];
  await reread();
  t.is(mailUnderCursor(list.get())?.subject, 'mail 50');
});

test('the mail below takes the place of one that has left', async t => {
  const api = createMailApi(heldMails(500));
  const {list, press, reread} = await startList(t, api);
  await press('pagedown', 'pagedown');
  const mail = mailUnderCursor(list.get());

  api.mails = api.mails.filter(each => each !== mail);
  await reread();

  t.is(numberOf(mailUnderCursor(list.get())?.subject), numberOf(mail?.subject) - 1);
});

test('a list that becomes empty, and one that was, are shown as they are', async t => {
  const api = createMailApi(heldMails(300));
  const {list, press, reread} = await startList(t, api);
  await press('G');

  api.mails = [];
  await reread();
  t.is(rowCount(list.get()), 0);

  api.mails = heldMails(5);
  await reread();
  t.is(rowCount(list.get()), 5);
});

test('events are followed by one reading, soon', async t => {
  const api = createMailApi(heldMails(10));
  const {hear, list} = await startList(t, api);
  const before = api.asked.length;

  api.mails = [...api.mails, ...heldMails(5, 10)];
  for (const mail of heldMails(5, 10)) hear({type: 'held', at: mail.arrived_at, ...mail});
  await eventually(() => list.get().total === 15);

  t.is(api.asked.length, before + 1);
});

test('what was read stays when the node is away, with what is wrong', async t => {
  const api = createMailApi(heldMails(10));
  const {list, reread} = await startList(t, api);

  api.failure = new CliError('unreachable', 'nothing listens there');
  await reread();
  await eventually(() => list.get().failure);
  t.is(rowCount(list.get()), 10);
  t.is(list.get().failure?.detail, 'nothing listens there');

  api.failure = undefined;
  await reread();
  await eventually(() => list.get().failure === undefined);
  t.pass();
});

test('a node that asks for time is left alone, however much time it asks for and whatever it tells of', async t => {
  const api = createMailApi(heldMails(10));
  const {list, hear} = await startList(t, api);
  for (const retryAfterSeconds of [60, 999_999_999]) {
    api.failure = new CliError('rate_limited', 'too many requests', {retryAfterSeconds});
    list.refresh();
    await eventually(() => list.get().failure?.retryAfterSeconds === retryAfterSeconds);
    const before = api.asked.length;

    hear(undefined);
    await new Promise(resolve => setTimeout(resolve, 500));

    t.is(api.asked.length, before);
  }
});

test('an answer about a filter that is not in force any more is dropped', async t => {
  const api = createMailApi(heldMails(10));
  const {list, settled} = await startList(t, api);

  list.refresh();
  list.dispatch({type: 'asked', query: {since: '2026-03-01'}, order: 'newest'});
  await settled();

  t.is(rowCount(list.get()), 0);
});
