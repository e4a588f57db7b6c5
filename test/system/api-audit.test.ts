import {join} from 'node:path';
import test from 'ava';
import knex from 'knex';
import type {StoredAuditEntry} from '../../daemon/services/audit/stored-entry.ts';
import {auditHash} from '../../daemon/store/sql/audit.ts';
import type {AuditEntry} from '../../shared/audit-entry.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';
import {useNode} from '../helpers/use-node.ts';

const node = useNode();

const audit = async (query = '') => {
  const {status, json, headers} = await node().api('GET', `audit?${query}`);
  if (status !== 200) throw new Error(JSON.stringify(json));
  return {entries: json.data as AuditEntry[], total: Number(headers['x-total-count']), headers};
};

test('each change and each action on a mail leaves one entry: who, what, from where, with what result', async t => {
  const admin = await node().createKey('full-admin', {name: 'auditor'});
  const api = async (method: string, path: string, body?: object) =>
    (await node().api(method, path, {key: admin.key, ...(body && {body})})).json?.data;
  const domain = await api('POST', 'domains', {name: 'audited.test', backend_servers: [node().backend]});
  await api('PUT', `domains/${domain.id}`, {quarantine_threshold: 5});
  await api('PUT', `domains/${domain.id}`, {quarantine_threshold: 5});
  await api('PUT', `domains/${domain.id}`, {quarantine_threshold: 'x'});
  const filter = await api('POST', `domains/${domain.id}/filters`, {action: 'block', match: 'subject', pattern: 'x'});
  await api('DELETE', `domains/${domain.id}/filters/${filter.id}`);
  await api('POST', `domains/${domain.id}/dkim-keys`, {selector: 's1', algorithm: 'ed25519'});
  await api('DELETE', `domains/${domain.id}/dkim-keys/s1`);
  const key = await api('POST', 'auth/api-keys', {name: 'made', scope: 'read-only'});
  await api('POST', `auth/api-keys/${key.id}/revoke`);
  await api('DELETE', `auth/api-keys/${key.id}`);
  const [released, discarded, refused] = [
    await node().hold({to: 'a@audited.test'}),
    await node().hold({to: 'b@audited.test'}),
    await node().hold({to: 'refused@audited.test'}),
  ];
  await api('GET', `mail/quarantine/${released.node_id}/${released.queue_id}/body`);
  await api('POST', `mail/quarantine/${released.node_id}/${released.queue_id}/release`);
  await api('POST', `mail/quarantine/${released.node_id}/${released.queue_id}/release`);
  await api('POST', 'mail/quarantine/discard', {items: [discarded]});
  node().sink.behave({recipients: {'refused@audited.test': {code: 550, text: '5.1.1 no'}}});
  await api('POST', `mail/quarantine/${refused.node_id}/${refused.queue_id}/release`);
  await api('DELETE', `domains/${domain.id}`);

  const {entries} = await audit(`key_id=${admin.id}&limit=1000`);

  const at = node().node_id;
  t.deepEqual(entries.map(({action, target, result}) => [action, target, result]).reverse(), [
    ['domain.create', 'audited.test', 'ok'],
    ['domain.update', 'audited.test', 'ok'],
    ['filter.create', `audited.test/${filter.id}`, 'ok'],
    ['filter.delete', `audited.test/${filter.id}`, 'ok'],
    ['dkim.create', 'audited.test/s1', 'ok'],
    ['dkim.delete', 'audited.test/s1', 'ok'],
    ['key.create', String(key.id), 'ok'],
    ['key.revoke', String(key.id), 'ok'],
    ['key.delete', String(key.id), 'ok'],
    ['quarantine.body', `${at}/${released.queue_id}`, 'ok'],
    ['quarantine.release', `${at}/${released.queue_id}`, 'ok'],
    ['quarantine.discard', `${at}/${discarded.queue_id}`, 'ok'],
    ['quarantine.release', `${at}/${refused.queue_id}`, 'delivery_failed'],
    ['domain.delete', 'audited.test', 'ok'],
  ]);
  for (const entry of entries) t.like(entry, {node_id: at, key_id: admin.id, key_name: 'auditor', remote_address: '127.0.0.1'});
});

test('the log is newest first, in pages, and narrowed by time, key, action and target', async t => {
  const {id, key} = await node().createKey('full-admin');
  for (const name of ['one', 'two', 'three']) {
    await node().api('POST', 'domains', {key, body: {name: `${name}.paged.test`, direction: 'outbound'}});
    await node().api('POST', 'auth/api-keys', {key, body: {name, scope: 'read-only'}});
  }

  const all = await audit(`key_id=${id}`);
  t.is(all.total, 6);
  t.deepEqual(
    all.entries.map(({seq}) => seq),
    all.entries.map(({seq}) => seq).toSorted((a, b) => b - a),
  );
  const page = await audit(`key_id=${id}&limit=2&offset=2`);
  t.deepEqual(page.entries, all.entries.slice(2, 4));
  t.is(page.total, 6);
  t.regex(String(page.headers.link), /rel="first".*rel="prev".*rel="next"/);
  t.is((await audit(`key_id=${id}&action=domain.create`)).total, 3);
  t.is((await audit(`key_id=${id}&action=domain.delete`)).total, 0);
  t.deepEqual(
    (await audit(`key_id=${id}&target=two.paged.test`)).entries,
    all.entries.filter(({target}) => target === 'two.paged.test'),
  );
  t.is((await audit(`key_id=${id}&target=paged.test`)).total, 0, 'a part of a target is another one');
  const since = all.entries[1]?.at ?? '';
  const newer = all.entries.filter(entry => entry.at >= since);
  t.deepEqual((await audit(`key_id=${id}&since=${encodeURIComponent(since)}`)).entries, newer);

  for (const [query, name] of [
    ['limit=0', 'limit'],
    ['key_id=x', 'key_id'],
    ['since=x', 'since'],
    ['action=DROP%20TABLE', 'action'],
    ['until=x', 'until'],
    ['target=', 'target'],
    ['target=a%00b', 'target'],
  ])
    t.is((await node().api('GET', `audit?${query}`)).json.error.fields[0].path, name);
});

test('entries outlive the key they name, which is nameless once it is deleted', async t => {
  const {id, key} = await node().createKey('full-admin', {name: 'short-lived'});
  await node().api('POST', 'domains', {key, body: {name: 'outlives.test', direction: 'outbound'}});
  await node().api('POST', `auth/api-keys/${id}/revoke`);
  t.is((await audit(`key_id=${id}`)).entries[0]?.key_name, 'short-lived', 'a revoked key keeps its name');

  await node().api('DELETE', `auth/api-keys/${id}`);

  const {entries} = await audit(`key_id=${id}`);
  t.is(entries.length, 1);
  t.like(entries[0], {key_id: id, key_name: null, action: 'domain.create'});
});

testOwnStore(
  'each hash covers its entry and the one before, so that no row can be changed, added or taken out unseen',
  async t => {
    await node().createDomain();
    const db = knex({client: 'sqlite3', connection: {filename: join(node().data, 'mfd.db')}, useNullAsDefault: true});
    const rows = await db<StoredAuditEntry>('audit').orderBy('seq');
    await db.destroy();

    const firstBroken = (log: StoredAuditEntry[]) =>
      log.findIndex((row, at) => row.hash !== auditHash(log[at - 1]?.hash ?? '', row));
    t.true(rows.length >= 2);
    t.is(firstBroken(rows), -1);

    const at = rows.length - 2;
    const row = rows[at] as StoredAuditEntry;
    const changes = [
      {key_id: 7},
      {at: '2020-01-01T00:00:00.000Z'},
      {action: 'x'},
      {target: 'x'},
      {remote_address: 'x'},
      {result: 'x'},
      {detail: 'x'},
    ];
    for (const change of changes) t.is(firstBroken(rows.with(at, {...row, ...change})), at, JSON.stringify(change));
    t.is(firstBroken(rows.toSpliced(at, 1)), at, 'one taken out');
    t.is(firstBroken(rows.toSpliced(at, 0, row)), at + 1, 'one added');
  },
);

test('nobody can write to the log', async t => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) t.is((await node().api(method, 'audit')).status, 405);
});
