import {buffer} from 'node:stream/consumers';
import {setTimeout as delay} from 'node:timers/promises';
import {describeError} from '../../../../daemon/node/log.ts';
import type {CommonStore} from '../../../../daemon/services/common-store.ts';
import {unknownMail} from '../../../../daemon/services/events/held-event.ts';
import type {NewHeldMail} from '../../../../daemon/services/quarantine/stored-mail.ts';
import {dbOn, dialectOf} from '../../../../daemon/store/postgres/dialect.ts';
import {leasesOn} from '../../../../daemon/store/postgres/nodes.ts';
import {holdStore} from '../../../../daemon/store/sql/hold-store.ts';
import {newCluster, storeOf} from '../../../helpers/common-store.ts';
import {eventually} from '../../../helpers/eventually.ts';
import {storedMail} from '../../../helpers/stored-mail.ts';
import {testWithPostgres, usePostgres} from '../../../helpers/test-with-postgres.ts';

const postgres = usePostgres();
const all = {kind: 'all'} as const;
const page = {limit: 100, offset: 0};
const claim = {state: 'releasing', keyId: 1} as const;
const ending = {state: 'released', at: '2026-03-02T00:00:00.000Z', keyId: 1} as const;

async function* bytesOf(...parts: Buffer[]): AsyncGenerator<Buffer> {
  yield* parts;
}

const mail = (queueId: string, fields: Partial<NewHeldMail> = {}): NewHeldMail =>
  storedMail({queue_id: queueId, subject: 'a subject', score: 7, arrived_at: '2026-03-01T00:00:00.000Z', ...fields});

const hold = async (store: CommonStore, queueId: string, fields = {}, bytes = Buffer.from('a mail')): Promise<void> =>
  store.transaction(async tx => {
    await tx.hold.insert([mail(queueId, fields)]);
    await tx.bodies.write(queueId, bytesOf(bytes));
  });

const bodyOf = async (store: CommonStore, queueId: string): Promise<Buffer> => buffer(store.bodies.open(queueId));

testWithPostgres('mail of every node is listed by any node, newest first, and counted by node', async t => {
  const settings = await newCluster(postgres());
  const alpha = await storeOf(t, settings);
  const beta = await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2});
  await hold(alpha, 'Mail000001', {arrived_at: '2026-03-01T00:00:01.000Z'});
  await hold(beta, 'Mail000001', {arrived_at: '2026-03-01T00:00:02.000Z'});
  await hold(beta, 'Mail000002', {arrived_at: '2026-03-01T00:00:02.000Z'});

  const {mails, total} = await alpha.heldQuery.list({}, all, page);

  t.is(total, 3);
  t.deepEqual(
    mails.map(({node_id, queue_id}) => `${node_id}/${queue_id}`),
    ['beta/Mail000001', 'beta/Mail000002', 'alpha/Mail000001'],
  );
  t.is((await alpha.heldQuery.list({node: 'beta'}, all, page)).total, 2);
  t.deepEqual(
    (await beta.heldQuery.groups({}, all)).map(({node_id, count}) => [node_id, count]),
    [
      ['alpha', 1],
      ['beta', 2],
    ],
  );
});

testWithPostgres('what must be done within seconds does not wait for the connections of requests', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  const retention = {spam: 1, phishing: 1, sandbox: 1, rbl: 1};
  let begun = 0;
  let letGo = () => {};
  const waiting = new Promise<void>(resolve => {
    letGo = resolve;
  });
  const requests = Array.from({length: settings.pool}, async () =>
    store.transaction(async () => {
      begun += 1;
      await waiting;
    }),
  );
  await eventually(() => begun === settings.pool);

  await t.notThrowsAsync(
    Promise.all([
      store.notePresence({seq: 0, retention_ms: retention, longest_ms: retention}),
      store.outbox.after(0, {limit: 1, maxChars: 1}),
      store.records.after(undefined, 1),
      store.config.listNodes(),
      store.leases.renew(),
      store.logHolds.renew(),
    ]),
  );
  letGo();
  await Promise.all(requests);
});

testWithPostgres('changes that wait for each other leave the connections to other requests', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  let begun = 0;
  let letGo = () => {};
  const waiting = new Promise<void>(resolve => {
    letGo = resolve;
    t.teardown(resolve);
  });
  const changes = Array.from({length: settings.pool}, async () =>
    store.changeTransaction(async () => {
      begun += 1;
      await waiting;
    }),
  );
  await eventually(() => begun > 0);

  const request = store.transaction(async () => 'done').catch((error: unknown) => error);
  t.is(await request, 'done');
  letGo();
  await Promise.all(changes);
  t.is(begun, settings.pool);
});

testWithPostgres('a mail that is forgotten while another transaction ends it is taken from the totals once', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  for (const queueId of ['Mail000001', 'Mail000002']) await hold(store, queueId);
  const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = '${settings.database}' AND wait_event_type = 'Lock'`;
  const isWaiting = async () => (await postgres().query(sql, {database: settings.database})).length > 0;

  let forgetting: Promise<void> | undefined;
  await store.transaction(async tx => {
    await tx.hold.end(['Mail000001'], 'held', ending);
    forgetting = store.transaction(async other => other.hold.forget('Mail000001'));
    await eventually(isWaiting);
  });
  await forgetting;

  t.is(await store.hold.find('Mail000001'), undefined);
  t.deepEqual(
    (await store.hold.counts()).map(({count}) => count),
    [1],
  );
});

testWithPostgres('two nodes that act on one mail: one wins, and the other ends nothing', async t => {
  const settings = await newCluster(postgres());
  const alpha = await storeOf(t, settings);
  const beta = await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2});
  await hold(alpha, 'Mail000001');
  const ofAlpha = beta.of('alpha');

  const won = await Promise.all(
    [alpha, ofAlpha].map(async store => store.transaction(async tx => tx.hold.claim(['Mail000001'], claim))),
  );
  const [winner, other] = won[0]?.size === 1 ? [alpha, ofAlpha] : [ofAlpha, alpha];

  t.is((won[0]?.size ?? 0) + (won[1]?.size ?? 0), 1);
  await other.transaction(async tx => tx.hold.unclaim(['Mail000001']));
  t.is((await other.transaction(async tx => tx.hold.end(['Mail000001'], 'releasing', ending))).size, 0);
  t.false(await other.leases.isOwn('Mail000001'));
  t.true(await winner.leases.isOwn('Mail000001'));
  t.is((await winner.transaction(async tx => tx.hold.end(['Mail000001'], 'releasing', ending))).size, 1);
});

testWithPostgres('a claim whose lease has ended is given back once, and is no claim any more', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  await hold(store, 'Mail000001');
  await store.transaction(async tx => tx.hold.claim(['Mail000001'], claim));

  t.is(await store.leases.giveBack(), 0);
  await postgres().query("UPDATE held_mail SET lease_until = now() - interval '1 s'", settings);
  t.false(await store.leases.isOwn('Mail000001'));
  t.is(await store.leases.giveBack(), 1);
  t.is(await store.leases.giveBack(), 0);
  t.is((await store.hold.find('Mail000001'))?.state, 'held');
});

testWithPostgres('a process that was stopped for as long as a lease does not believe the answer that it reads then', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  await hold(store, 'Mail000001');
  await store.transaction(async tx => tx.hold.claim(['Mail000001'], claim));
  await postgres().query("UPDATE held_mail SET claimed_by = 'stopped'", settings);
  const client = await postgres().connect(settings.database);
  t.teardown(async () => client.end());
  const times = [0, 30_000, 40_000, 40_010];

  const {isOwn} = leasesOn(dbOn(client, dialectOf({nodeId: 'alpha', claimant: 'stopped'})), () => times.shift() ?? 0);

  t.false(await isOwn('Mail000001'));
  t.true(await isOwn('Mail000001'));
});

testWithPostgres('a renewed lease does not end', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  await hold(store, 'Mail000001');
  await store.transaction(async tx => tx.hold.claim(['Mail000001'], claim));
  await postgres().query("UPDATE held_mail SET lease_until = now() + interval '1 ms'", settings);

  await store.leases.renew();
  await delay(20);

  t.is(await store.leases.giveBack(), 0);
});

testWithPostgres('bytes come back as they were, however long, and go with the mail’s end', async t => {
  const store = await storeOf(t, await newCluster(postgres()));
  const sizes = [0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3_000_000];
  const bytes = sizes.map(size => Buffer.from(Array.from({length: size}, (_, n) => (n * 7) % 256)));
  for (const [n, content] of bytes.entries()) await hold(store, `Mail00000${n}`, {}, content);

  for (const [n, content] of bytes.entries()) t.true((await bodyOf(store, `Mail00000${n}`)).equals(content));
  await store.transaction(async tx => tx.hold.end(['Mail000005'], 'held', {...ending, state: 'expired'}));
  t.is((await bodyOf(store, 'Mail000005')).length, 0);
  t.is((await bodyOf(store, 'Mail000004')).length, 256 * 1024 + 1);
});

testWithPostgres('a mail whose bytes fail halfway is not there', async t => {
  const store = await storeOf(t, await newCluster(postgres()));
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(300_000);
    throw new Error('the disk is gone');
  }

  const held = store.transaction(async tx => {
    await tx.hold.insert([mail('Mail000001')]);
    await tx.bodies.write('Mail000001', broken());
  });

  await t.throwsAsync(held, {message: 'the disk is gone'});
  t.is(await store.hold.find('Mail000001'), undefined);
  t.is((await bodyOf(store, 'Mail000001')).length, 0);
});

testWithPostgres('mail that is due is found by an index, also where one domain has nearly all and none of it is due', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  const at = (n: number) => new Date(Date.parse('2026-03-01T00:00:00.000Z') + n).toISOString();
  const two = {domain: 'two.test', domain_id: 2};
  const mails = Array.from({length: 5000}, (_, n) => mail(`Mail${100_000 + n}`, {arrived_at: at(n), ...(n > 4990 && two)}));
  await store.transaction(async tx => tx.hold.insert(mails));
  const client = await postgres().connect(settings.database);
  t.teardown(async () => client.end());
  await client.query('VACUUM ANALYZE held_mail');
  const plans: string[] = [];
  const explaining = {
    async query(sql: string, values: unknown[]) {
      const {rows} = await client.query<{'QUERY PLAN': string}>(`EXPLAIN ${sql}`, values);
      plans.push(rows.map(row => row['QUERY PLAN']).join('\n'));
      return client.query(sql, values);
    },
  };
  const asked = holdStore(dbOn(explaining, dialectOf({nodeId: 'alpha', claimant: 'alpha'})));

  const due = await asked.listArrivedBefore(
    [
      {domain: 'one.test', domain_id: 1, reason: 'spam', before: at(0)},
      {...two, reason: 'spam', before: at(4993)},
    ],
    {limit: 500},
  );

  t.deepEqual(due, ['Mail104991', 'Mail104992']);
  t.is(plans.length, 1);
  t.regex(plans[0] ?? '', /Index Scan (using|on) held_mail_by_group/);
  t.notRegex(plans[0] ?? '', /Seq Scan/);
});

testWithPostgres('text that PostgreSQL cannot store is stored without the characters that it does not have', async t => {
  const store = await storeOf(t, await newCluster(postgres()));

  await hold(store, 'Mail000001', {subject: 'zero \0 and half \ud800 of a pair \u{1F600}'});

  t.is((await store.hold.find('Mail000001'))?.subject, 'zero \ufffd and half \ufffd of a pair \u{1F600}');
  t.is((await store.heldQuery.list({subject: 'zero \0'}, all, page)).total, 1);
});

testWithPostgres('a subject is found by any text in it, whatever that means to LIKE', async t => {
  const store = await storeOf(t, await newCluster(postgres()));
  await hold(store, 'Mail000001', {subject: '100% off_er \\ today'});
  await hold(store, 'Mail000002', {subject: '1000 offXer today'});

  for (const text of ['100%', 'off_er', '\\ TODAY', '%'])
    t.deepEqual(
      (await store.heldQuery.list({subject: text}, all, page)).mails.map(({queue_id}) => queue_id),
      ['Mail000001'],
    );
});

testWithPostgres('local state belongs to its node, and the numbers of records to all', async t => {
  const settings = await newCluster(postgres());
  const alpha = await storeOf(t, settings);
  const beta = await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2});

  await alpha.transaction(async tx => tx.state.write('removed', 'yes'));

  t.is(await beta.state.read('removed'), undefined);
  t.is(await alpha.transaction(async tx => tx.sequences.next('domain')), 1);
  t.is(await beta.transaction(async tx => tx.sequences.next('domain')), 2);
});

testWithPostgres('changes of the configuration by many nodes run one after the other', async t => {
  const settings = await newCluster(postgres());
  const stores = [await storeOf(t, settings), await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2})];
  let running = 0;
  let most = 0;

  await Promise.all(
    Array.from({length: 12}, async (_, n) =>
      stores[n % 2]?.changeTransaction(async () => {
        running += 1;
        most = Math.max(most, running);
        await delay(5);
        running -= 1;
      }),
    ),
  );

  t.is(most, 1);
});

testWithPostgres('what nodes say of themselves has the clock of the database', async t => {
  const settings = await newCluster(postgres());
  const beta = await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2});
  const retention_ms = {spam: 1, phishing: 2, virus: 3, policy: 4, bulk: 5} as never;

  await beta.notePresence({seq: 7, retention_ms, longest_ms: retention_ms});
  const [presence] = await (await storeOf(t, settings)).presence();

  t.like(presence, {node_id: 'beta', node_no: 2, seq: 7, retention_ms});
  t.true((presence?.ageSeconds ?? 60) < 30);
  t.true(Math.abs(Date.parse(presence?.last_seen ?? '') - Date.now()) < 30_000);
});

testWithPostgres('a change is noticed at once when it is notified, and within a second when it is not', async t => {
  const settings = await newCluster(postgres());
  const [alpha, beta] = [await storeOf(t, settings), await storeOf(t, settings, {nodeId: 'beta', nodeNo: 2})];
  const seen: {seq: number; isNew: boolean; at: number}[] = [];
  const watch = beta.watch({
    onPosition: async ({seq}, isNew) => void seen.push({seq, isNew, at: performance.now()}),
    onLost: error => t.fail(error.message),
  });
  t.teardown(watch.stop);
  const noticed = async (seq: number) => {
    while (!seen.some(one => one.seq === seq)) await delay(5);
  };
  const change = async () => alpha.changeTransaction(async tx => tx.outbox.append({}));
  await noticed(0);

  await change();
  await noticed(1);
  await change();
  alpha.notify();
  await noticed(2);

  t.deepEqual(
    seen.filter(({isNew}) => isNew).map(({seq}) => seq),
    [0],
  );
});

testWithPostgres('an error in the log names the table and the column, and no value of the row', async t => {
  const store = await storeOf(t, await newCluster(postgres()));
  const secret = 'a private subject';

  const error = await t.throwsAsync(hold(store, 'Mail000001', {subject: secret, score: null as never}));

  const text = JSON.stringify(describeError(error));
  t.regex(text, /PostgreSQL 23502 in \w+ \(held_mail\.score\)/);
  t.notRegex(text, /private/);
});

testWithPostgres('with no space on the disk for its entry a mail is held without it, and the entry is counted', async t => {
  const settings = await newCluster(postgres());
  const store = await storeOf(t, settings);
  const leftOut: number[] = [];
  store.configureEvents({keepsSubjects: () => true, onLeftOut: count => leftOut.push(count)});
  const refuse = `
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
    END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON mail_event EXECUTE FUNCTION refuse()`;
  await postgres().query(refuse, {database: settings.database});

  await hold(store, 'Mail000001');
  await hold(store.of('beta'), 'Mail000002');
  const event = {...unknownMail, event: 'relayed', at: ending.at} as const;
  const withoutMail = await t.throwsAsync(store.transaction(async tx => tx.events.append([event])));
  await postgres().query('DROP TRIGGER refuse ON mail_event', {database: settings.database});
  await store.transaction(async tx => tx.hold.end(['Mail000001'], 'held', ending));

  t.deepEqual(leftOut, [1, 1]);
  t.like(withoutMail, {code: 'unavailable'});
  t.is((await store.of('beta').hold.find('Mail000002'))?.state, 'held');
  t.deepEqual(
    (await store.events.find({}, all, {limit: 10})).map(({event: what}) => what),
    ['released'],
  );
});
