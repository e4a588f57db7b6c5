import test, {type ExecutionContext} from 'ava';
import {initialList, listReducer, placedAt, settled as settledAt} from '../../../../../cli/dashboard/list/list.ts';
import {showList} from '../../../../../cli/dashboard/list/list-lines.ts';
import {moved} from '../../../../../cli/dashboard/list/list-window.ts';
import {createHeldPart} from '../../../../../cli/dashboard/screens/quarantine/held-part.ts';
import {quarantineList} from '../../../../../cli/dashboard/screens/quarantine/quarantine-list.ts';
import {afterScreenEvent, initialScreen} from '../../../../../cli/dashboard/screens/quarantine/screen-state.ts';
import {createSource} from '../../../../../cli/dashboard/shell/source.ts';
import {createStore} from '../../../../../cli/dashboard/shell/store.ts';
import {createTheme} from '../../../../../cli/dashboard/shell/theme.ts';
import {CliError} from '../../../../../cli/errors.ts';
import type {ClusterEvent} from '../../../../../shared/cluster-event.ts';
import type {EventType} from '../../../../../shared/event-type.ts';
import {createMailApi, heldMail, heldMails, type MailApi} from '../../../../helpers/dashboard/held-mails.ts';
import {eventually} from '../../../../helpers/eventually.ts';

const height = 20;
const size = {columns: 80, rows: height + 3};
const now = () => Date.parse('2026-03-01T12:00:00Z');

/** The list as its screen keeps it, without the drawing. */
const startList = async (t: ExecutionContext, api: MailApi, order: 'newest' | 'oldest' = 'newest') => {
  let hear: (event: ClusterEvent | undefined) => void = () => undefined;
  const live = {
    on: (types: readonly EventType[], listener: typeof hear) => {
      hear = event => (!event || types.includes(event.type)) && listener(event);
      return () => undefined;
    },
    get: () => ({connection: 'live', receivedAtMs: undefined, reason: undefined}) as const,
    subscribe: () => () => undefined,
    onMissed: () => () => undefined,
    answered: () => undefined,
    failed: () => undefined,
    stop: () => undefined,
  };
  const state = createStore(listReducer, {...initialList, order: order === 'newest' ? 0 : 1});
  const screen = createStore(afterScreenEvent, initialScreen);
  const held = createHeldPart({
    ...{client: api, now, state, onArrived: count => screen.dispatch({type: 'arrived', count})},
    source: (_name, needs) => createSource({...needs, live, now}),
  });
  const list = () =>
    quarantineList({
      ...{state: state.get(), part: held.get(), loaded: held.source.get(), screen: screen.get(), preview: [], mail: undefined},
      ...{acting: {actions: new Map(), failed: undefined}, names: undefined, thresholds: new Map(), size, nowMs: now()},
      theme: createTheme(true),
    });
  const shown = () => showList(list(), state.get(), {size, nowMs: now()});
  // As React does: once for all changes of a turn.
  let isDue = false;
  const draw = () => {
    if (isDue) return;
    isDue = true;
    queueMicrotask(() => {
      isDue = false;
      const {rows = []} = list();
      const event = settledAt(list(), state.get(), rows);
      if (event) state.dispatch(event);
      held.see(shown());
      if (shown().position.cursor === 0) screen.dispatch({type: 'top-shown'});
    });
  };
  for (const watched of [state, held, held.source, screen]) t.teardown(watched.subscribe(draw));

  /** The rows on the screen. */
  const rows = () => {
    const {position, count} = shown();
    const {rows: read = [], part} = list();
    const length = Math.max(0, Math.min(height, count - position.top));
    return Array.from({length}, (_, at) => read[position.top + at - (part?.offset ?? 0)]);
  };
  const settled = () =>
    eventually(
      () => held.source.get().loadedAtMs !== undefined && api.underWay === 0 && rows().every(mail => mail !== undefined),
    );
  const press = async (...keys: string[]) => {
    for (const key of keys) {
      const position = moved(shown().position, key, shown());
      if (position) state.dispatch(placedAt(list(), shown().rows, position));
    }
    await settled();
  };
  /** Reloads the list and waits until it shows the current data: the answer to one request leads at once to the next. */
  const reread = async () => {
    const before = api.asked.length;
    held.source.refresh();
    await eventually(() => api.asked.length > before && api.underWay === 0);
    await settled();
  };
  await settled();
  return {state, screen, held, shown, press, reread, settled, rows, hear: (event: ClusterEvent | undefined) => hear(event)};
};

const numberOf = (subject: string | undefined): number => Number(subject?.replace('mail ', ''));

test('the end of 100,000 mails is reached without reading those between', async t => {
  const api = createMailApi(heldMails(100_000));
  const {shown, press, rows} = await startList(t, api);

  await press('G');

  t.is(shown().position.cursor, 99_999);
  t.is(shown().row?.subject, 'mail 0');
  t.is(rows().length, height);
  t.true(api.asked.length <= 4, `${api.asked.length} requests`);
});

for (const order of ['newest', 'oldest'] as const)
  test(`G ends on the last row while mail arrives during each reading, ${order} first`, async t => {
    const api = createMailApi(heldMails(5000));
    const {shown, press, rows} = await startList(t, api, order);
    const {list} = api.quarantine;
    api.quarantine = {
      ...api.quarantine,
      list: async (query, options) => {
        api.mails = [...api.mails, ...heldMails(5, api.mails.length)];
        return list(query, options);
      },
    };

    await press('G');

    t.is(shown().position.cursor, shown().count - 1);
    t.is(shown().row?.subject, order === 'newest' ? 'mail 0' : `mail ${api.mails.length - 1}`);
    t.is(rows().length, height);
  });

test('rows that were passed are forgotten, so that any number of mails can be scrolled through', async t => {
  const api = createMailApi(heldMails(20_000));
  const {shown, press} = await startList(t, api);

  for (let page = 0; page < 400; page += 1) await press('pagedown');

  t.true(shown().position.cursor > 7000);
  t.true(shown().rows.length <= 300, `${shown().rows.length} rows`);
});

test('oldest first begins with the oldest and ends with the newest', async t => {
  const {shown, press, rows} = await startList(t, createMailApi(heldMails(1000)), 'oldest');

  t.is(rows()[0]?.subject, 'mail 0');
  await press('G');
  t.is(shown().row?.subject, 'mail 999');
});

for (const order of ['newest', 'oldest'] as const)
  test(`the cursor stays on its mail whatever arrives and leaves, ${order} first`, async t => {
    const api = createMailApi(heldMails(1000));
    const {shown, press, reread, rows} = await startList(t, api, order);
    await press('pagedown', 'pagedown', 'j', 'j', 'j');
    const mail = shown().row;
    const line = shown().position.cursor - shown().position.top;

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
      t.is(shown().row?.subject, mail?.subject, `after ${arrived} arrived and ${left} left`);
      t.true(rows().every(Boolean));
    }
    // With enough rows above it, it also keeps its line.
    if (order === 'newest') t.is(shown().position.cursor - shown().position.top, line);
  });

test('the oldest are shown while others arrive during each reading', async t => {
  const api = createMailApi(heldMails(1000));
  const {list} = api.quarantine;
  api.quarantine = {
    ...api.quarantine,
    list: async (query, options) => {
      const answer = await list(query, options);
      api.mails = [...api.mails, ...heldMails(30, api.mails.length)];
      return answer;
    },
  };

  const {rows} = await startList(t, api, 'oldest');

  t.is(rows()[0]?.subject, 'mail 0');
});

for (const order of ['newest', 'oldest'] as const)
  test(`the cursor stays on its mail when a node with hundreds of others comes back, ${order} first`, async t => {
    const api = createMailApi(heldMails(2000).filter(mail => numberOf(mail.subject) % 2 === 0));
    const {press, shown, reread} = await startList(t, api, order);
    for (let page = 0; page < 26; page += 1) await press('pagedown');
    const mail = shown().row;

    api.mails = heldMails(2000);
    await reread();

    t.is(shown().row?.subject, mail?.subject);
  });

test('whoever goes back while the next rows are read stays there', async t => {
  const api = createMailApi(heldMails(2000));
  const {held, state, press, shown} = await startList(t, api, 'oldest');
  state.dispatch({kind: 'placed', position: {cursor: 290, top: 280}, cursorKey: `mx1/${heldMail(290).queue_id}`});
  held.source.refresh();

  await press('g');

  t.is(shown().position.cursor, 0);
  t.is(shown().row?.subject, 'mail 0');
});

test('the rows of a screen that has become higher are read at once', async t => {
  const api = createMailApi(heldMails(1000));
  const {held, shown, press, reread} = await startList(t, api);
  await press('pagedown');
  await reread();

  const before = api.asked.length;
  held.see({...shown(), height: 200});
  // The next turn, long before the list is read again for its age.
  await new Promise(resolve => setImmediate(resolve));

  t.is(api.asked.length, before + 1);
});

test('what has arrived above the cursor is counted until one looks', async t => {
  const api = createMailApi(heldMails(500));
  const {screen, shown, press, reread} = await startList(t, api);
  await press('pagedown');

  api.mails = [...api.mails, ...heldMails(3, 500)];
  await reread();
  t.is(screen.get().newAbove, 3);

  await press('g');
  t.is(screen.get().newAbove, 0);
  t.is(shown().row?.subject, 'mail 502');
});

test('at the top the newest are shown, unless one reads the mail there', async t => {
  const api = createMailApi(heldMails(50));
  const {screen, shown, reread, settled} = await startList(t, api);

  api.mails = [...api.mails, heldMail(50)];
  await reread();
  t.is(shown().row?.subject, 'mail 50');

  screen.dispatch({type: 'previewed', mode: 'beside'});
  await settled();
  api.mails = [...api.mails, heldMail(51)];
  await reread();
  t.is(shown().row?.subject, 'mail 50');
});

test('whoever goes to the top while the mail under the cursor is looked for stays there', async t => {
  const api = createMailApi(heldMails(1000));
  const {state, shown, press, reread} = await startList(t, api);
  await press('pagedown');
  const {list} = api.quarantine;
  api.quarantine = {
    ...api.quarantine,
    list: (query, options) => {
      if (query?.limit === 1) state.dispatch({kind: 'placed', position: {cursor: 0, top: 0}, cursorKey: undefined});
      return list(query, options);
    },
  };

  api.mails = [...api.mails, ...heldMails(450, 1000)];
  await reread();

  t.is(shown().position.cursor, 0);
  t.is(shown().row?.subject, 'mail 1449');
});

test('the mail below takes the place of one that has left', async t => {
  const api = createMailApi(heldMails(500));
  const {shown, press, reread} = await startList(t, api);
  await press('pagedown', 'pagedown');
  const mail = shown().row;

  api.mails = api.mails.filter(each => each !== mail);
  await reread();

  t.is(numberOf(shown().row?.subject), numberOf(mail?.subject) - 1);
});

test('the mail below takes its line as well when mails above it have left with it', async t => {
  const api = createMailApi(heldMails(500));
  const {shown, press, reread} = await startList(t, api);
  await press('pagedown', 'pagedown');
  const [mail, {cursor, top}] = [shown().row, shown().position];

  api.mails = api.mails.filter(each => each !== mail && numberOf(each.subject) < 490);
  await reread();

  t.is(numberOf(shown().row?.subject), numberOf(mail?.subject) - 1);
  t.is(shown().position.cursor, cursor - 10);
  t.is(shown().position.cursor - shown().position.top, cursor - top);
});

test('a list that becomes empty, and one that was, are shown as they are', async t => {
  const api = createMailApi(heldMails(300));
  const {shown, press, reread} = await startList(t, api);
  await press('G');

  api.mails = [];
  await reread();
  t.is(shown().count, 0);

  api.mails = heldMails(5);
  await reread();
  t.is(shown().count, 5);
  t.is(shown().row?.subject, 'mail 4');
});

test('events are followed by one reading, soon', async t => {
  const api = createMailApi(heldMails(10));
  const {held, hear} = await startList(t, api);
  const before = api.asked.length;

  api.mails = [...api.mails, ...heldMails(5, 10)];
  for (const mail of heldMails(5, 10)) hear({type: 'held', at: mail.arrived_at, ...mail});
  await eventually(() => held.get()?.total === 15);

  t.is(api.asked.length, before + 1);
});

test('the mail of a node that comes back is read at once', async t => {
  const api = createMailApi(heldMails(10));
  api.unreachableNodes = ['mx2'];
  const {held, hear} = await startList(t, api);
  t.deepEqual(held.get()?.unreachableNodes, ['mx2']);

  api.unreachableNodes = [];
  hear({type: 'health', at: '2026-03-01T12:00:00Z', node_id: 'mx2', from: 'stale', to: 'online'});
  await eventually(() => held.get()?.unreachableNodes.length === 0, 10_000);
  t.pass();
});

test('what was read stays when the node is away, with what is wrong', async t => {
  const api = createMailApi(heldMails(10));
  const {held, shown, reread} = await startList(t, api);

  api.failure = new CliError('unreachable', 'nothing listens there');
  await reread();
  await eventually(() => held.source.get().failure);
  t.is(shown().count, 10);
  t.is(held.source.get().failure?.detail, 'nothing listens there');

  api.failure = undefined;
  await reread();
  await eventually(() => held.source.get().failure === undefined);
  t.pass();
});

test('a node that asks for time is left alone, however much time it asks for, whatever it tells of and whatever is looked for', async t => {
  const api = createMailApi(heldMails(10));
  const {state, held, hear} = await startList(t, api);
  for (const retryAfterSeconds of [60, 999_999_999]) {
    api.failure = new CliError('rate_limited', 'too many requests', {retryAfterSeconds});
    held.source.refresh();
    await eventually(() => held.source.get().failure?.retryAfterSeconds === retryAfterSeconds);
    const before = api.asked.length;

    hear(undefined);
    state.dispatch({kind: 'filtered', filter: `since:${retryAfterSeconds}s`});
    await new Promise(resolve => setTimeout(resolve, 500));

    t.is(api.asked.length, before);
  }
});

test('an answer about a filter that is not in force any more is dropped', async t => {
  const api = createMailApi(heldMails(10));
  const {state, held, shown} = await startList(t, api);

  const counts: number[] = [];
  held.source.refresh();
  state.dispatch({kind: 'filtered', filter: 'since:2026-03-01'});
  t.teardown(held.subscribe(() => counts.push(shown().count)));
  await eventually(() => held.get()?.filter === 'since:2026-03-01');

  t.deepEqual(counts, [0, 0]);
});
