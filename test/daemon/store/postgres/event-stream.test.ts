// The event log in the order of transactions, of which several are under way at once.

import type {CommonStore} from '../../../../daemon/services/common-store.ts';
import {unknownMail} from '../../../../daemon/services/events/held-event.ts';
import type {EventPage, NewMailEvent} from '../../../../daemon/services/events/mail-event.ts';
import {mailEvents} from '../../../../shared/mail-event-name.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();

const event = (queue_id: string): NewMailEvent => ({...unknownMail, event: 'relayed', at: '2026-03-01T12:00:00.000Z', queue_id});

const follow = async (store: CommonStore, after: string | undefined): Promise<EventPage> =>
  store.events.follow(after, {events: mailEvents, reach: {kind: 'all'}, limit: 100});
/** Other tests have transactions on this server, too. */
const followAll = async (store: CommonStore, after: string | undefined): Promise<EventPage> =>
  eventually(async () => {
    const page = await follow(store, after);
    return page.isWaiting ? undefined : page;
  });
const ids = ({entries}: EventPage) => entries.map(({entry}) => `${entry.logged_by} ${entry.queue_id}`);

const gate = () => {
  let open = (): void => {};
  const passed = new Promise<void>(resolve => {
    open = resolve;
  });
  return {open, passed};
};

testWithPostgres('a reader stops before the oldest transaction that is under way, and skips nothing of it', async t => {
  const settings = await newCluster(postgres());
  const alpha = await storeOf(t, settings);
  const beta = await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2});
  const {place: end} = await followAll(alpha, undefined);
  const [begun, mayEnd] = [gate(), gate()];

  const long = alpha.transaction(async tx => {
    await tx.events.append([event('Long01')]);
    begun.open();
    await mayEnd.passed;
    await tx.events.append([event('Long02')]);
  });
  await begun.passed;
  await alpha.transaction(async tx => tx.events.append([event('Short1')]));
  await beta.transaction(async tx => tx.events.append([event('Short2')]));
  const during = await follow(beta, end);
  const endDuring = await follow(beta, undefined);
  mayEnd.open();
  await long;
  const after = await followAll(beta, during.place);

  t.like(during, {entries: {length: 0}, isGap: false, hasMore: false, isWaiting: true});
  const all = ['alpha Long01', 'alpha Long02', 'alpha Short1', 'beta Short2'];
  t.deepEqual(ids(await followAll(beta, endDuring.place)), all);
  t.deepEqual(ids(after), all);
});

testWithPostgres('the log of a server whose transactions had larger numbers comes before what is logged here', async t => {
  const server = postgres();
  const settings = await newCluster(server);
  const moved = await storeOf(t, settings);
  await moved.transaction(async tx => tx.events.append([event('Moved1'), event('Moved2')]));
  const {place: former} = await followAll(moved, undefined);
  const client = await server.connect(settings.database);
  await client.query("UPDATE mail_event SET xid = '123456789012'");
  await client.end();

  const here = await storeOf(t, settings);
  const {place: end} = await followAll(here, undefined);
  await here.transaction(async tx => tx.events.append([event('Later1')]));
  await storeOf(t, settings);

  t.deepEqual(ids(await followAll(here, end)), ['alpha Later1']);
  t.true((await followAll(here, former)).isGap);
  t.deepEqual(ids(await followAll(here, '@0')), ['alpha Moved1', 'alpha Moved2', 'alpha Later1']);
});

testWithPostgres('moved rows are not written again, and a log of which all is gone goes on as well', async t => {
  const server = postgres();
  const settings = await newCluster(server);
  const moved = await storeOf(t, settings);
  await moved.transaction(async tx => tx.events.append([event('Moved1')]));
  const client = await server.connect(settings.database);
  t.teardown(async () => client.end());
  const numbers = async () => (await client.query("SELECT xid::text FROM mail_event WHERE xid >= '5000000000'")).rows;
  await client.query("UPDATE mail_event SET xid = '9000000000'");

  const here = await storeOf(t, settings);
  t.deepEqual(await numbers(), [{xid: '9000000000'}]);

  const gone = {before: '2026-03-02T00:00:00.000Z', surplus: 0, limit: 100};
  t.is(await here.transaction(async tx => tx.events.forget(gone)), 1);
  await client.query("DELETE FROM mail_event_log WHERE name = 'base'");
  const again = await storeOf(t, settings);
  const {place: end} = await followAll(again, undefined);
  await again.transaction(async tx => tx.events.append([event('Later1')]));

  t.deepEqual(ids(await followAll(again, end)), ['alpha Later1']);
});
