// Filters for all domains in a cluster: made on one node, they decide about mail on every other.
import test from 'ava';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {relayAll} from '../helpers/mail-node.ts';
import {sendMail} from '../helpers/smtp-client.ts';

const raw = 'From: a@spam.test\r\nSubject: offer\r\n\r\nbuy\r\n';

const replyOf = async ({smtpPort}: ClusterNode, to: string): Promise<number> =>
  (await sendMail({port: smtpPort, from: 'a@spam.test', to, raw})).reply.code;

test('mail to a domain that is made after a filter for all domains is blocked on another node, until the filter is removed', async t => {
  const {nodes} = await startCluster(t, {isProxied: false});
  const {alpha, beta, gamma} = nodes;
  const filter = {action: 'block', match: 'sender_domain', pattern: 'spam.test'};
  const former = await alpha.createDomain({name: 'former.test', ...relayAll});

  const {id} = (await alpha.api('POST', 'filters', {body: filter})).json.data;
  const later = await beta.createDomain({name: 'later.test', ...relayAll});
  for (const node of [beta, gamma])
    await eventually(async () => (await node.api('GET', 'filters')).json.data.length === 1 && (await node.domain(later.id)));

  for (const to of ['x@later.test', 'x@former.test']) t.is(await eventually(async () => replyOf(gamma, to)), 550);
  t.is((await gamma.api('DELETE', `domains/${former.id}`)).status, 200);
  await eventually(async () => (await alpha.domain(former.id)) === undefined);
  for (const node of [alpha, beta, gamma]) t.is((await node.api('GET', 'filters')).json.data[0]?.id, id);
  t.is(await replyOf(gamma, 'x@later.test'), 550);

  await beta.api('POST', `domains/${later.id}/filters`, {body: {...filter, action: 'allow', authenticated: false}});
  await eventually(async () => (await replyOf(gamma, 'x@later.test')) === 250);
  const own = (await gamma.api('GET', `domains/${later.id}/filters`)).json.data[0];
  await gamma.api('DELETE', `domains/${later.id}/filters/${own.id}`);
  await eventually(async () => (await replyOf(alpha, 'x@later.test')) === 550);
  await beta.api('DELETE', `filters/${id}`);
  await eventually(async () => (await replyOf(alpha, 'x@later.test')) === 250);

  const hashes = async (): Promise<Set<string>> => {
    const {peers} = (await alpha.api('GET', 'cluster/status')).json.data;
    return new Set(peers.map(({config_hash}: {config_hash: string}) => config_hash));
  };
  await eventually(async () => (await hashes()).size === 1);
  await alpha.stop();
  await alpha.start();
  t.deepEqual((await alpha.api('GET', 'filters')).json.data, []);
});
