// State after a partition has healed, beyond the common checks in test/fault/partition.ts.
import {join} from 'node:path';
import test from 'ava';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {openTestStore} from '../helpers/store.ts';
import {useCluster} from '../helpers/use-cluster.ts';

const arrange = useCluster();

/** The stored fields of a DKIM key, even when it was deleted. */
const storedDkimFields = async ({data}: ClusterNode, id: number): Promise<string> => {
  const store = await openTestStore(join(data, 'mfd.db'));
  try {
    return (await store.read('config_record').where({kind: 'dkim_key', id}).first('fields')).fields;
  } finally {
    await store.close();
  }
};

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
