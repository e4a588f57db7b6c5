// Nodes that `mfd migrate` moves from SQLite into a PostgreSQL.
import {randomBytes} from 'node:crypto';
import {readdir, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {loadConfig} from '../../daemon/config/load.ts';
import {storeSettings} from '../../daemon/config/store-settings.ts';
import {reconcile} from '../../daemon/hold/spool/reconcile.ts';
import {createSpool} from '../../daemon/hold/spool/spool.ts';
import {dataFolder} from '../../daemon/node/data-folder.ts';
import {readClusterFingerprint, readIdentityFile} from '../../daemon/node/identity-file.ts';
import {createConfiguration} from '../../daemon/replication/configuration.ts';
import {insertKey} from '../../daemon/services/access/keys.ts';
import type {CommonStore} from '../../daemon/services/common-store.ts';
import {unknownMail} from '../../daemon/services/events/held-event.ts';
import type {NewMailEvent} from '../../daemon/services/events/mail-event.ts';
import type {Store} from '../../daemon/services/ports.ts';
import type {MailDigests} from '../../daemon/services/recipients/digest-store.ts';
import {openPostgresStore} from '../../daemon/store/postgres/store.ts';
import {acquireLock} from '../../daemon/store/sqlite/database.ts';
import {openSqliteStore} from '../../daemon/store/sqlite/store.ts';
import type {TraceFilter} from '../../shared/hold-filter.ts';
import {makeNode, mfdFile, nodeFolder, run} from '../helpers/node.ts';
import {contentOf} from '../helpers/received-mail.ts';
import {releasedFor, storedMail} from '../helpers/stored-mail.ts';
import {testWithPostgres, usePostgres} from '../helpers/test-with-postgres.ts';
import {progressOf} from '../helpers/webhook-progress.ts';

const postgres = usePostgres();

const arrived_at = '2026-01-02T03:04:05.678Z';
const bodies = {small0: Buffer.from('small\r\n'), empty0: Buffer.alloc(0), large0: randomBytes(600 * 1024)};
const trace = Buffer.from('Received: here\r\n');

const sources = Array.from({length: 2}, (_, n) => ({
  ...{
    digest: 'report',
    source_ip: `192.0.2.${n}`,
    count: 5,
    passed: 4,
    spf_passed: 3,
    spf_aligned: 2,
    dkim_passed: 1,
    dkim_aligned: 0,
  },
}));
const received = {
  ...{digest: 'report', domain: 'example.com', day: '2026-01-01', reporter: 'receiver.test', is_verified: true, source_count: 2},
  received_at: arrived_at,
};
const receivedChoice = {domain: 'example.com', since: '2026-01-01', isVerified: true, without: []};

const progress = {...progressOf({webhook_id: 7, logged_by: 'alpha'}, 1_700_000_000_000_000), failing_since: arrived_at};
const delivery = {
  ...{webhook_id: 7, logged_by: 'alpha', number: 1_600_000_000_000_000, is_given_up: true, tries: 2, tried_at: arrived_at},
  ...{next_try_at: null, status: 422, error: 'it answered 422'},
};

/** More than are moved at once, of which one has more recipients than are shown. */
const events: NewMailEvent[] = Array.from({length: 1100}, (_, n) => ({
  ...unknownMail,
  event: n % 2 === 0 ? 'relayed' : 'refused',
  at: new Date(Date.parse(arrived_at) + n * 1000).toISOString(),
  queue_id: `Event${n}`,
  domain: `d${n % 5}.test`,
  domain_id: n % 5,
  sender: `sender${n % 7}@from${n % 3}.test`,
  recipients: n === 0 ? Array.from({length: 150}, (_one, m) => `u${m}@d0.test`) : [`user${n % 11}@d${n % 5}.test`],
  from: [`author${n % 13}@author${n % 3}.test`],
  subject: `Überweisung ${n} 100%`,
  message_id: `${n}@from.test`,
  client: {ip: `192.0.2.${n % 17}`, name: null, helo: 'x', tls: true},
  reply: '250 Ok',
}));

const filters: TraceFilter[] = [
  {},
  {queue_id: 'Event77'},
  {message_id: '78@from.test'},
  {recipient: 'u99@d0.test'},
  {recipient: 'user3@d2.test'},
  {sender: 'sender5@from2.test'},
  {sender: 'from2.test'},
  {from: 'author12@author1.test'},
  {from: 'author1.test'},
  {address: 'user3@d2.test'},
  {subject: 'überweisung 109'},
  {client: '192.0.2.16'},
  {domain: 'd4.test', event: ['refused']},
  {event: ['held', 'released']},
  {since: '2026-01-02T03:05:00.000Z', until: '2026-01-02T03:06:00.000Z'},
];

/** What each filter finds, without what only a common store knows. */
const eventsIn = async ({events: log}: Pick<Store, 'events'>) => {
  const found = [];
  for (const filter of filters) {
    const entries = await log.find(filter, {kind: 'all'}, {limit: 2000});
    found.push(entries.map(({node_id: _node, logged_by: _by, ...entry}) => entry));
  }
  return found;
};

/** A stopped node with a key, an audit log, mail in the spool and in Postfix, and mail that was released. */
const stoppedNode = async (t: ExecutionContext) => {
  const {root, xdgConfigHome} = await nodeFolder(t);
  const {data, node_id} = await makeNode(['init', '--data', join(root, 'data')], {env: {XDG_CONFIG_HOME: xdgConfigHome}});
  const folder = dataFolder(data);
  const store = await openSqliteStore(folder.database);
  const configuration = createConfiguration({store, nodeNo: 1, now: Date.now});
  const actor = {keyId: null, remoteAddress: null};
  for (const name of ['first', 'second'])
    await configuration.change(async tx => {
      const key = {name, scope: 'full-admin', rate_limit_per_minute: 1} as const;
      await insertKey(tx, actor, key, undefined);
      await tx.audit(actor, 'key.test', name);
    });
  const spool = await createSpool(folder.spool);
  for (const [queue_id, bytes] of Object.entries(bodies)) {
    const {
      size_bytes: _size,
      keeper: _keeper,
      queued_at: _at,
      sha256: _hash,
      symbol_scores: symbols,
      ...facts
    } = storedMail({queue_id, arrived_at, subject: `Überweisung ${queue_id}`, score: 7.5});
    await spool.place({...facts, symbols}, trace, contentOf(bytes));
  }
  await reconcile({store, spool, nodeId: node_id, now: Date.now});
  await store.transaction(async tx => {
    await tx.received.insert(received, sources);
    await tx.hold.insert([
      storedMail({queue_id: 'queued0', arrived_at, subject: 'in Postfix', score: 1, keeper: 'postfix', size_bytes: 0}),
      storedMail({queue_id: 'ended00', arrived_at, subject: 'released', score: 1}),
      storedMail({queue_id: 'gone000', arrived_at, subject: 'gone', score: 1, keeper: 'postfix'}),
    ]);
    await tx.postfix.confirm([{queueId: 'queued0', queuedAt: 1_700_000_000, sizeBytes: 77}]);
    await tx.hold.end(['ended00'], 'held', {state: 'released', at: '2026-01-03T00:00:00.000Z', keyId: 1_000_000_001});
    await tx.hold.strikeRecipients('empty0', releasedFor('b@one.test'));
    await tx.hold.strikeRecipients('ended00', releasedFor('b@one.test', 'c@one.test'));
    await tx.digests.restore(digests);
    await tx.hold.restoreRequests([request]);
    await tx.hold.end(['gone000'], 'held', {state: 'gone', at: '2026-01-03T00:00:00.000Z', keyId: null});
    await tx.events.append(events);
    await tx.webhooks.save({...progress, place: 'of the former log'});
    await tx.webhooks.put(delivery);
  });
  const mails = await store.hold.findAll([...Object.keys(bodies), 'queued0', 'ended00', 'gone000']);
  const {entries} = await store.audit.list({}, {limit: 100, offset: 0});
  const before = {
    ...{mails, entries, counts: await store.hold.counts(), hash: (await store.config.configHash()).config_hash},
    acts: await store.hold.recipientActs(['empty0', 'ended00']),
    digests: await store.digests.ofMails(['empty0', 'ended00', 'queued0']),
    reported: await store.received.reported(receivedChoice),
    events: await eventsIn(store),
  };
  const keySequence = await store.transaction(async tx => tx.sequences.last('api_key'));
  await store.close();
  return {folder, node_id, before, keySequence};
};

const request = {queue_id: 'empty0', address: 'a@one.test', requested_at: '2026-01-02T08:00:00.000Z'};

/** Links of mail that is held, and of mail that has ended. */
const digests: MailDigests = {
  entries: [
    {
      queue_id: 'empty0',
      address: 'a@one.test',
      mailbox: 'a@one.test',
      domain_id: 1,
      state: 'sent',
      digest_id: 'a',
    },
  ],
  links: [
    {hash: '0a', queue_id: 'empty0', address: 'a@one.test', made_at: '2026-01-02T07:00:00.000Z', digest_id: 'a'},
    {hash: '0b', queue_id: 'ended00', address: 'a@one.test', made_at: '2026-01-02T07:00:00.000Z', digest_id: 'a'},
  ],
};

const migrate = async ({folder}: {folder: ReturnType<typeof dataFolder>}, url: string, ...args: string[]) => {
  const store = ['--store-url', url, '--store-password-file', postgres().passwordFile];
  return run(mfdFile, ['migrate', '--json', '--data', folder.root, ...store, ...args]);
};

const openCommon = async (t: ExecutionContext, folder: ReturnType<typeof dataFolder>): Promise<CommonStore> => {
  const settings = storeSettings(await loadConfig(folder.config, {}));
  if (!settings) throw new Error('mfd.yaml has no store.url');
  const cluster = await readClusterFingerprint(folder.caCert);
  const store = await openPostgresStore({settings, cluster, ...(await readIdentityFile(folder.identity))});
  t.teardown(store.close);
  return store;
};

const bytesOf = async (store: CommonStore, queueId: string): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of store.bodies.open(queueId)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

const byId = <T extends {queue_id: string}>(mails: T[]): T[] => mails.toSorted((a, b) => (a.queue_id < b.queue_id ? -1 : 1));

/** What is logged from now on has larger numbers, also while the clock is wrong. */
const requireLater = async (t: ExecutionContext, store: CommonStore): Promise<void> => {
  const [newest] = await store.events.find({}, {kind: 'all'}, {limit: 1});
  await store.transaction(async tx => tx.events.append([{...unknownMail, event: 'relayed', at: '2020-01-01T00:00:00.000Z'}]));
  const [later] = await store.events.find({}, {kind: 'all'}, {limit: 1});
  t.is(later?.at, '2020-01-01T00:00:00.000Z');
  t.true((later?.number ?? 0) > (newest?.number ?? 0));
};

/** Everything that was in SQLite is in PostgreSQL, once. */
const requireMoved = async (t: ExecutionContext, node: Awaited<ReturnType<typeof stoppedNode>>): Promise<void> => {
  const {folder, before, keySequence} = node;
  const store = await openCommon(t, folder);
  const ids = before.mails.map(({queue_id}) => queue_id);
  const moved = byId(await store.hold.findAll(ids));

  t.is(moved.length, before.mails.length);
  for (const [n, mail] of byId(before.mails).entries()) t.like(moved[n], mail);
  for (const [queueId, bytes] of Object.entries(bodies))
    t.true((await bytesOf(store, queueId)).equals(Buffer.concat([trace, bytes])), queueId);
  t.deepEqual(await store.hold.counts(), before.counts);
  t.is(before.acts.size, 2);
  t.deepEqual(await store.hold.recipientActs(ids), before.acts);
  t.deepEqual(before.digests, digests);
  t.deepEqual(await store.digests.ofMails(ids), digests);
  t.deepEqual(await store.hold.requests(ids), [request]);
  t.deepEqual(await store.received.reported(receivedChoice), before.reported);
  t.is(before.reported.count, 10);
  t.is((await store.config.configHash()).config_hash, before.hash);
  t.is(await store.transaction(async tx => tx.sequences.last('api_key')), keySequence);
  const found = await eventsIn(store);
  for (const [n, filter] of filters.entries()) t.deepEqual(found[n], before.events[n], JSON.stringify(filter));
  t.true(before.events.every(({length}) => length > 0));
  t.is((await store.events.find({node: node.node_id}, {kind: 'all'}, {limit: 2000})).length, before.events[0]?.length ?? 0);
  await requireLater(t, store);
  t.deepEqual(await store.webhooks.progress(), [{...progress, from: progress.number}]);
  t.deepEqual(await store.webhooks.deliveries({limit: 10}), [delivery]);
  const {entries} = await store.audit.list({}, {limit: 100, offset: 0});
  t.is(entries[0]?.action, 'node.migrate');
  const shown = (all: typeof entries) => all.map(({at, action, target, hash}) => ({at, action, target, hash}));
  t.deepEqual(shown(entries.slice(1)), shown(before.entries));
};

testWithPostgres('a dry run counts and writes nothing; then everything is moved, and the former files are kept', async t => {
  const {url, name} = await postgres().createDatabase();
  const node = await stoppedNode(t);
  const config = await readFile(node.folder.config, 'utf8');
  const files = (await readdir(node.folder.root)).toSorted();

  const dry = await migrate(node, url, '--dry-run');

  t.is(dry.code, 0, dry.stderr);
  const bytes = Object.values(bodies).reduce((sum, {length}) => sum + length + trace.length, 0);
  const mails = {held: 3, bytes, postfix: 1, ended: 2};
  const counted = {
    node_id: node.node_id,
    is_first: true,
    records: 4,
    audit: node.before.entries.length,
    mails,
    events: node.before.events[0]?.length,
  };
  t.deepEqual(JSON.parse(dry.stdout), {...counted, dry_run: true, kept: []});
  t.is(await readFile(node.folder.config, 'utf8'), config);
  t.deepEqual(
    (await readdir(node.folder.root)).filter(file => file !== 'lock.db').toSorted(),
    files.filter(file => file !== 'lock.db'),
  );
  t.deepEqual(await postgres().query("SELECT FROM pg_class WHERE relname = 'held_mail'", {database: name}), []);

  const {code, stdout, stderr} = await migrate(node, url);

  t.is(code, 0, stderr);
  const kept = ['mfd.db.migrated', 'spool.migrated'].map(file => join(node.folder.root, file));
  t.deepEqual(JSON.parse(stdout), {...counted, dry_run: false, kept});
  const left = await readdir(node.folder.root);
  for (const file of ['mfd.db', 'mfd.db-wal', 'spool', 'node.json.new']) t.false(left.includes(file), file);
  for (const file of ['node.json', 'mfd.db.migrated', 'spool.migrated']) t.true(left.includes(file), file);
  t.true((await readFile(node.folder.config, 'utf8')).startsWith(config));
  await requireMoved(t, node);
  const check = await run(mfdFile, ['check-config', '--data', node.folder.root]);
  t.like(check, {code: 0, stderr: ''});
});

testWithPostgres('a run that ended anywhere is continued, and nothing is doubled', async t => {
  const {url} = await postgres().createDatabase();
  const node = await stoppedNode(t);
  const {folder} = node;
  const config = await readFile(folder.config, 'utf8');
  // As after a file that was damaged: everything before it has been moved.
  const file = join(folder.spool, 'held', 'small0');
  const whole = await readFile(file);

  t.is((await migrate(node, url)).code, 0);
  // As if it had ended before the files were set aside.
  await rename(join(folder.root, 'mfd.db.migrated'), folder.database);
  await rename(join(folder.root, 'spool.migrated'), folder.spool);
  await rm(folder.identity);
  await writeFile(folder.config, config);
  await writeFile(file, 'damaged');
  const damaged = await migrate(node, url);
  await writeFile(file, whole);
  const again = await migrate(node, url);
  // As if it had ended before mfd.yaml was written, and before the spool was set aside.
  await rename(join(folder.root, 'spool.migrated'), folder.spool);
  await writeFile(folder.config, config);
  const last = await migrate(node, url);

  t.is(damaged.code, 1);
  t.regex(damaged.stderr, /^mfd: the file of small0 is missing or damaged; run mfd repair first/);
  t.is(again.code, 0, again.stderr);
  t.is(last.code, 0, last.stderr);
  t.true((await readdir(folder.root)).includes('spool.migrated'));
  await requireMoved(t, node);
  t.regex((await migrate(node, url)).stdout, /"dry_run":false/);
});

testWithPostgres('what was released with SQLite between two runs is not held again, nor delivered again', async t => {
  const {url} = await postgres().createDatabase();
  const node = await stoppedNode(t);
  const {folder} = node;
  const config = await readFile(folder.config, 'utf8');
  await migrate(node, url);
  await rename(join(folder.root, 'mfd.db.migrated'), folder.database);
  await rename(join(folder.root, 'spool.migrated'), folder.spool);
  await rm(folder.identity);
  await writeFile(folder.config, config);
  const before = await openSqliteStore(folder.database);
  await before.transaction(async tx => {
    await tx.hold.end(['small0'], 'held', {state: 'released', at: '2026-01-04T00:00:00.000Z', keyId: 5});
    await tx.hold.strikeRecipients('large0', releasedFor('a@one.test'));
  });
  await before.close();

  const {code, stderr} = await migrate(node, url);

  t.is(code, 0, stderr);
  const store = await openCommon(t, folder);
  t.like(await store.hold.find('small0'), {state: 'released', acted_at: '2026-01-04T00:00:00.000Z', acted_by_key_id: 5});
  t.deepEqual(await bytesOf(store, 'small0'), Buffer.alloc(0));
  t.like(await store.hold.find('large0'), {state: 'held', recipients: []});
  t.deepEqual((await store.hold.recipientActs(['large0'])).get('large0'), releasedFor('a@one.test'));
});

testWithPostgres('what cannot be moved is refused, and the node stays as it was', async t => {
  const {url} = await postgres().createDatabase();
  const {url: otherUrl} = await postgres().createDatabase();
  const node = await stoppedNode(t);
  const other = await stoppedNode(t);
  const config = await readFile(node.folder.config, 'utf8');
  await migrate(other, otherUrl);
  const refusal = async (to = url) => {
    const {code, stderr} = await migrate(node, to);
    t.is(code, 1);
    t.is(await readFile(node.folder.config, 'utf8'), config);
    return stderr;
  };

  const lock = await acquireLock(node.folder.lock);
  t.regex(await refusal(), /^mfd: another mfd is running/);
  await lock?.release();
  t.regex(await refusal(otherUrl), /^mfd: the database \w+ belongs to another cluster/);
  const store = await openSqliteStore(node.folder.database);
  await store.transaction(async tx => tx.hold.claim(['queued0'], {state: 'releasing', keyId: null}));
  t.regex(await refusal(), /^mfd: actions on 1 mail\(s\) were interrupted, such as on queued0/);
  await store.transaction(async tx => tx.hold.unclaim(['queued0']));
  await store.close();

  t.is((await migrate(node, url)).code, 0);
  await requireMoved(t, node);
});

testWithPostgres('a further node is moved if it has the same configuration', async t => {
  const {url} = await postgres().createDatabase();
  const node = await stoppedNode(t);
  await migrate(node, url);
  const store = await openCommon(t, node.folder);
  await store.changeTransaction(async tx => tx.records.writeSum('1234', Date.now()));

  await rename(join(node.folder.root, 'mfd.db.migrated'), node.folder.database);
  await rename(join(node.folder.root, 'spool.migrated'), node.folder.spool);
  const {code, stderr} = await migrate(node, url);

  t.is(code, 1);
  t.regex(stderr, /^mfd: the configuration of this node differs from the one in PostgreSQL.*nothing was done/);
});
