// What people do on two sides of a partition, and what is left of it when the sides meet again.
import {join} from 'node:path';
import test from 'ava';
import {openDatabase} from '../../daemon/store/database.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {useCluster} from '../helpers/use-cluster.ts';

const arrange = useCluster();

/** What is stored of a DKIM key, whatever has become of it. */
const storedDkimFields = async ({data}: ClusterNode, id: number): Promise<string> => {
  const database = await openDatabase(join(data, 'mfd.db'));
  try {
    return (await database.read('config_record').where({kind: 'dkim_key', id}).first('fields')).fields;
  } finally {
    await database.close();
  }
};

test.serial('edits of different fields on two sides of a partition both survive', async t => {
  const {alpha, beta, gamma, all, partition, heal, converged} = await arrange(t);
  const {id} = await alpha.createDomain({quarantine_threshold: 5, reject_threshold: 12});
  await converged();

  partition(['alpha'], ['beta', 'gamma']);
  await alpha.updateDomain(id, {quarantine_threshold: 4});
  await beta.updateDomain(id, {reject_threshold: 20});
  await gamma.updateDomain(id, {tenant_id: 'tenant'});
  heal();
  await converged();

  for (const node of all)
    t.like(await node.domain(id), {quarantine_threshold: 4, reject_threshold: 20, tenant_id: 'tenant'}, node.node_id);
});

test.serial('of two edits of one field on two sides of a partition the later one wins everywhere', async t => {
  const {alpha, beta, all, partition, heal, converged} = await arrange(t);
  const {id} = await beta.createDomain();
  await converged();

  partition(['alpha'], ['beta', 'gamma']);
  await alpha.updateDomain(id, {quarantine_threshold: 3});
  await beta.updateDomain(id, {quarantine_threshold: 2});
  await alpha.updateDomain(id, {quarantine_threshold: 1});
  heal();
  await converged();

  for (const node of all) t.like(await node.domain(id), {quarantine_threshold: 1}, node.node_id);
});

test.serial('of two domains created with one name the earlier stays, and the later goes with its DKIM key', async t => {
  const {alpha, beta, gamma, all, partition, heal, converged} = await arrange(t);
  const domainWithKey = async (node: ClusterNode) => {
    const domain = await node.createDomain({name: 'contested.test'});
    const {json} = await node.api('POST', `domains/${domain.id}/dkim-keys`, {body: {selector: 's1', algorithm: 'ed25519'}});
    return {...domain, dkimKeyId: json.data.id as number};
  };

  partition(['alpha'], ['beta', 'gamma']);
  const first = await domainWithKey(gamma);
  const second = await domainWithKey(alpha);
  t.regex(await storedDkimFields(alpha, second.dkimKeyId), /PRIVATE KEY/);
  heal();
  await converged();

  for (const node of all) {
    t.like(await node.domain(first.id), {name: 'contested.test'}, node.node_id);
    t.is(await node.domain(second.id), undefined, node.node_id);
  }
  const entries = await eventually(async () => {
    const found = (await alpha.audit('domain.conflict')).filter(({target}) => target === 'contested.test');
    return found.length > 0 && found;
  });
  t.is(entries.length, 1);
  t.like(entries[0], {key_id: null, result: 'conflict'});
  for (const node of [beta, gamma]) t.deepEqual(await node.audit('domain.conflict'), [], node.node_id);
  for (const node of all) {
    await eventually(async () => !(await storedDkimFields(node, second.dkimKeyId)).includes('PRIVATE KEY'));
    t.regex(await storedDkimFields(node, first.dkimKeyId), /PRIVATE KEY/, node.node_id);
  }
});

test.serial('a domain that is deleted on one side and changed on the other is gone everywhere', async t => {
  const {alpha, beta, gamma, all, partition, heal, converged} = await arrange(t);
  const {id, name} = await gamma.createDomain();
  await converged();

  partition(['alpha', 'beta'], ['gamma']);
  t.is((await gamma.api('DELETE', `domains/${id}`)).status, 200);
  await alpha.updateDomain(id, {quarantine_threshold: 1});
  await beta.api('POST', `domains/${id}/filters`, {body: {action: 'reject', match: 'sender', pattern: '*@evil.test'}});
  heal();
  await converged();

  for (const node of all) t.is(await node.domain(id), undefined, node.node_id);
  const again = await beta.createDomain({name});
  await converged();
  for (const node of all) t.like(await node.domain(again.id), {name}, node.node_id);
});

for (const mode of ['refuse', 'blackhole'] as const)
  test.serial(`a key that was revoked on one side of a ${mode} partition is refused on the other soon after it`, async t => {
    const {alpha, beta, gamma, partition, heal, converged} = await arrange(t);
    const {id, key} = await alpha.createKey('read-only');
    await converged();
    const asked = async (node: ClusterNode) => node.api('GET', 'auth/me', {key});
    t.is((await asked(gamma)).status, 200);

    partition(['alpha', 'beta'], ['gamma'], mode);
    const {status, headers} = await alpha.api('POST', `auth/api-keys/${id}/revoke`);
    t.is(status, 200);
    t.is(headers['x-unreachable-nodes'], 'gamma');
    t.is((await asked(beta)).status, 401);
    t.is((await asked(gamma)).status, 200);
    heal();
    const healedAt = performance.now();
    await eventually(async () => (await asked(gamma)).status === 401, 10_000);

    t.log(`refused ${Math.round(performance.now() - healedAt)} ms after healing`);
    t.is((await asked(gamma)).json.error.code, 'key_revoked');
  });

test.serial('a line that is cut in one direction is a backlog there and nothing anywhere else', async t => {
  const {alpha, beta, gamma, line, heal, converged} = await arrange(t);
  const backlog = async (node: ClusterNode) =>
    (await node.status()).peers.find(({node_id}) => node_id === 'alpha')?.outbox_backlog_to_us;

  line('alpha', 'beta').setMode('refuse');
  const {id} = await alpha.createDomain();
  await eventually(async () => gamma.domain(id));
  await eventually(async () => (await backlog(beta)) === 1);

  t.is(await beta.domain(id), undefined);
  t.is(await backlog(gamma), 0);
  for (const node of [alpha, beta, gamma])
    for (const peer of (await node.status()).peers) t.is(peer.healthy, 'online', `${node.node_id} of ${peer.node_id}`);
  heal();
  await converged();
  t.like(await beta.domain(id), {id});
});
