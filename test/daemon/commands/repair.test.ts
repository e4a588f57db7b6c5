// Repairs by `mfd repair` on a stopped node.
import {copyFile, readdir, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {repair} from '../../../daemon/commands/repair.ts';
import {readIdentity} from '../../../daemon/node/storage.ts';
import {unknownMail} from '../../../daemon/services/events/held-event.ts';
import type {MailDigests} from '../../../daemon/services/recipients/digest-store.ts';
import {damageTable, middlePage} from '../../helpers/damaged-table.ts';
import {makeNode, mfdFile, nodeFolder, run} from '../../helpers/node.ts';
import {openTestStore, type TestStore} from '../../helpers/store.ts';
import {releasedFor, storedMail} from '../../helpers/stored-mail.ts';
import {progressOf} from '../../helpers/webhook-progress.ts';

const stoppedNode = async (t: ExecutionContext) => {
  const {root, xdgConfigHome} = await nodeFolder(t);
  const report = await makeNode(['init', '--data', join(root, 'data')], {env: {XDG_CONFIG_HOME: xdgConfigHome}});
  const said: string[] = [];
  return {
    ...report,
    said,
    store: join(report.data, 'mfd.db'),
    repair: async () => repair(report.data, line => said.push(line)),
  };
};

const identityOf = async (filename: string) => {
  const store = await openTestStore(filename);
  try {
    return {
      ...(await readIdentity(store, filename)),
      keys: await store.config.listApiKeys(),
      domains: await store.config.listDomains(),
    };
  } finally {
    await store.close();
  }
};

test('a node that is whole stays as it is', async t => {
  const node = await stoppedNode(t);
  const before = await identityOf(node.store);

  await node.repair();

  t.is(node.said.at(-1), 'nothing is damaged');
  t.deepEqual(await identityOf(node.store), before);
});

for (const [what, damage] of [
  ['not what was written', (fields: string) => fields.replace('admin', 'odmin')],
  ['no JSON any more', (fields: string) => fields.slice(5)],
] as const)
  test(`a record that is ${what} is removed and named, and all others stay`, async t => {
    const node = await stoppedNode(t);
    const store = await openTestStore(node.store);
    const [key] = await store.read('config_record').where({kind: 'api_key'});
    await store
      .write('config_record')
      .where({kind: 'api_key'})
      .update({fields: damage(key.fields)});
    await store.close();

    await node.repair();

    t.regex(node.said.join('\n'), new RegExp(`records removed.* api_key ${key.id};`));
    const {keys, nodeId} = await identityOf(node.store);
    t.deepEqual(keys, []);
    t.is(nodeId, node.node_id);
  });

/** Content of a page that belongs to another table. */
const foreignRow = {kind: 'Q1w2E3r4T5', id: 'ben@example.com', fields: '["ben@example.com"]', digest: 'spam'};

test('what is no record at all is removed and named', async t => {
  const node = await stoppedNode(t);
  const store = await openTestStore(node.store);
  await store.write('config_record').insert(foreignRow);
  await store.close();

  await node.repair();
  await node.repair();

  t.regex(node.said.join('\n'), /records removed.* Q1w2E3r4T5 NaN;/);
  t.is(node.said.at(-1), 'nothing is damaged');
});

test('a row of another table is not copied into a new database', async t => {
  const node = await stoppedNode(t);
  const store = await openTestStore(node.store);
  const records = (await store.read('config_record')).length;
  await store.write('config_record').insert(foreignRow);
  await store.write.raw('PRAGMA writable_schema = ON');
  await store.write('sqlite_master').where({name: 'schema_migration'}).update({name: 'schema_migrbtion'});
  await store.close();

  await node.repair();

  const said = node.said.join('\n');
  t.true(said.includes(`config_record ${records},`), said);
  t.regex(said, /rows are lost of: config_record$/m);
  t.notRegex(said, /records removed/);
});

test('of a database that is none any more the certificate still says whose it was, and what was there is kept', async t => {
  const node = await stoppedNode(t);
  const garbage = Buffer.alloc(50_000, 'no database');
  await writeFile(node.store, garbage);

  await node.repair();

  const {nodeId, nodeNo} = await identityOf(node.store);
  t.deepEqual({nodeId, nodeNo}, {nodeId: node.node_id, nodeNo: 1});
  const aside = (await readdir(node.data)).find(name => name.startsWith('before-repair-')) ?? '';
  t.deepEqual(await readFile(join(node.data, aside, 'mfd.db')), garbage);
});

test('a database that cannot be read is not replaced while nothing says whose it was', async t => {
  const node = await stoppedNode(t);
  const garbage = Buffer.alloc(50_000, 'no database');
  await writeFile(node.store, garbage);
  await copyFile(join(node.data, 'tls', 'ca.crt'), join(node.data, 'tls', 'node.crt'));

  await t.throwsAsync(node.repair(), {message: /^neither .* says which node this is$/});

  t.deepEqual(await readFile(node.store), garbage);
});

const changes: Record<string, (write: TestStore['write']) => Promise<unknown>> = {
  'has a table by another name': async write => {
    await write.raw('PRAGMA writable_schema = ON');
    await write('sqlite_master').where({name: 'schema_migration'}).update({name: 'schema_migrbtion'});
  },
  'has something that is none of the things a schema has': async write => {
    await write.raw('PRAGMA writable_schema = ON');
    await write('sqlite_master').where({name: 'schema_migration'}).update({type: 'tabme'});
  },
  'names a migration that no version has': async write =>
    write('schema_migration').where({name: '0007_smtp_listen'}).update({name: ' 007_smtp_listen'}),
  'says that somebody is migrating it': async write => write('schema_migration_lock').update({is_locked: 1}),
};

for (const [what, change] of Object.entries(changes))
  test(`a database that ${what} is refused with a word of what to do, and made whole by that`, async t => {
    const node = await stoppedNode(t);
    const before = await identityOf(node.store);
    const store = await openTestStore(node.store);
    await change(store.write);
    await store.close();

    const {code, stderr} = await run(mfdFile, ['start', '--data', node.data]);
    await node.repair();

    t.is(code, 1);
    t.regex(stderr, /^mfd: the database cannot be used: .*; mfd repair rebuilds it/);
    t.deepEqual(await identityOf(node.store), before);
  });

const all = {kind: 'all'} as const;
const held = storedMail({
  queue_id: 'Mail000001',
  subject: 'held',
  score: 7,
  arrived_at: '2026-03-01T00:00:00.000Z',
  keeper: 'postfix',
});

/** A node with a held mail, and 1000 other entries in the log, the first of them one of many recipients. */
const nodeWithLog = async (t: ExecutionContext) => {
  const node = await stoppedNode(t);
  const store = await openTestStore(node.store);
  const recipients = Array.from({length: 300}, (_, n) => `user${n}@one.test`);
  const events = Array.from({length: 1000}, (_, n) => ({
    ...unknownMail,
    event: 'relayed' as const,
    at: new Date(Date.UTC(2026, 2, 2) + n * 1000).toISOString(),
    queue_id: `Mail${n + 1000}`,
    subject: `number ${n}`,
    ...(n === 0 && {recipients}),
  }));
  await store.transaction(async tx => tx.hold.insert([held]));
  await store.transaction(async tx => tx.events.append(events));
  const before = await store.events.find({}, all, {limit: 2000});
  await store.close();
  return {...node, before};
};

const logOf = async (filename: string) => {
  const store = await openTestStore(filename);
  try {
    return {
      log: await store.events.find({}, all, {limit: 2000}),
      bySubject: await store.events.find({subject: 'number 999', queue_id: 'Mail1999'}, all, {limit: 2}),
      mail: await store.hold.find(held.queue_id),
      counts: await store.hold.counts(),
      logDamage: await store.findLogDamage(),
    };
  } finally {
    await store.close();
  }
};

test('the index of the event log is made again from its entries, and nothing is lost', async t => {
  const node = await nodeWithLog(t);
  await damageTable(node.store, 'mail_event_word_data');

  await node.repair();

  const {log, bySubject, mail, logDamage} = await logOf(node.store);
  t.regex(node.said.join('\n'), /^the event log was damaged .*, mail_event 1001$/m);
  t.notRegex(node.said.join('\n'), /lost/);
  t.deepEqual(log, node.before);
  t.is(bySubject.length, 1);
  t.is(mail?.state, 'held');
  t.is(logDamage, undefined);
});

test('a rebuilt database still says how far webhooks were sent, and what was not taken', async t => {
  const node = await nodeWithLog(t);
  const log = {webhook_id: 1, logged_by: node.node_id};
  const result = {status: 500, error: 'it answered 500'};
  const progress = {...progressOf(log, 5), ...result, failing_since: held.arrived_at};
  const delivery = {...log, ...result, number: 4, is_given_up: true, tries: 2, tried_at: held.arrived_at, next_try_at: null};
  const store = await openTestStore(node.store);
  await store.transaction(async tx => {
    await tx.webhooks.save(progress);
    await tx.webhooks.put(delivery);
  });
  // A row that is none.
  await store.write('webhook_progress').insert({webhook_id: 2, logged_by: node.node_id, progress: '{"place'});
  await store.close();
  await damageTable(node.store, 'mail_event_word_data');

  await node.repair();

  const repaired = await openTestStore(node.store);
  t.deepEqual(await repaired.webhooks.progress(), [progress]);
  t.deepEqual(await repaired.webhooks.deliveries({limit: 10}), [delivery]);
  t.regex(node.said.join('\n'), /rows are lost of: webhook_progress$/m);
  await repaired.close();
});

test('a rebuilt database still says for whom a mail was released, and holds it for the others', async t => {
  const node = await nodeWithLog(t);
  const store = await openTestStore(node.store);
  const acts = releasedFor('b@one.test', 'c@one.test');
  const round = {domain_id: 1, due_at: '2026-01-02T07:00:00.000Z'};
  const made_at = round.due_at;
  const address = held.recipients[0] ?? '';
  const digests: MailDigests = {
    entries: [{domain_id: 1, queue_id: held.queue_id, address, mailbox: address, state: 'sent', digest_id: 'a'}],
    links: [{hash: '0a', queue_id: held.queue_id, address, made_at, digest_id: 'a'}],
  };
  const request = {queue_id: held.queue_id, address, requested_at: made_at};
  const holder = (name: string) => ({holder: name, now: Date.parse(made_at), heldMs: 60_000});
  await store.transaction(async tx => {
    await tx.hold.strikeRecipients(held.queue_id, acts);
    await tx.digests.restore(digests);
    await tx.hold.request(request);
    await tx.digests.take(round, holder('alpha'));
    await tx.digests.close(round);
  });
  await store.close();
  await damageTable(node.store, 'mail_event_word_data');

  await node.repair();

  const repaired = await openTestStore(node.store);
  t.like(await repaired.hold.find(held.queue_id), {state: 'held', recipients: held.recipients});
  t.deepEqual((await repaired.hold.recipientActs([held.queue_id])).get(held.queue_id), acts);
  t.deepEqual(await repaired.digests.ofMails([held.queue_id]), digests);
  t.deepEqual(await repaired.hold.requests([held.queue_id]), [request]);
  const again = await repaired.transaction(async tx => tx.digests.take(round, holder('beta')));
  t.is(again, 'over');
  t.notRegex(node.said.join('\n'), /lost/);
  await repaired.close();
});

test('of an event log with a page that cannot be read both ends stay, and what is left is named', async t => {
  const node = await nodeWithLog(t);
  await damageTable(node.store, 'mail_event', await middlePage(node.store));

  await node.repair();

  const {log, mail, counts} = await logOf(node.store);
  t.regex(
    node.said.join('\n'),
    /^entries of the event log are lost; read: 9\d\d, from 2026-03-01T00:00:00.000Z to 2026-03-02T00:16:39.000Z$/m,
  );
  t.deepEqual(log[0], node.before[0]);
  t.deepEqual(log.at(-1), node.before.at(-1));
  t.like(mail, {state: 'held', recipients: held.recipients});
  t.like(counts, [{count: 1}]);
});

test('an event log that cannot be read at all is lost, and no mail is', async t => {
  const node = await nodeWithLog(t);
  await damageTable(node.store, 'mail_event');

  await node.repair();
  await node.repair();

  const {log, mail} = await logOf(node.store);
  t.regex(node.said.join('\n'), /^the event log is lost: no entry of it can be read$/m);
  t.is(node.said.at(-1), 'nothing is damaged');
  t.deepEqual(log, []);
  t.is(mail?.state, 'held');
});
