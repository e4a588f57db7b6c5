// Webhooks of a cluster: made on any node, and what became of deliveries told by any.
import {createServer} from 'node:http';
import test from 'ava';
import type {WebhookDelivery, WebhookProgress} from '../../shared/webhook.ts';
import {type ClusterNode, startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {listening} from '../helpers/listening.ts';
import {testOwnStore} from '../helpers/test-own-store.ts';

const config = {webhooks: {allow_networks: ['127.0.0.0/8']}};

testOwnStore('deliveries of all nodes are told by any node, and a node that is away is named', async t => {
  const {nodes, converged} = await startCluster(t, {isProxied: false, config});
  const {alpha, beta, gamma} = nodes;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(403).end();
  });
  const url = `http://127.0.0.1:${await listening(t, server)}/`;
  const {name} = await alpha.createDomain();
  const {id} = (await alpha.api('POST', 'webhooks', {body: {url, domain: name}})).json.data;
  await converged();
  const progressAt = async (node: ClusterNode): Promise<WebhookProgress[]> =>
    (await node.api('GET', `webhooks/${id}`)).json.data.progress;

  const mails = [await alpha.hold({to: `a@${name}`}), await beta.hold({to: `b@${name}`})];
  const given = await eventually(async () => {
    const list: WebhookDelivery[] = (await gamma.api('GET', `webhooks/${id}/deliveries?state=given_up`)).json.data;
    return list.length === 2 && list;
  }, 60_000);
  const shown = await progressAt(gamma);

  t.deepEqual(
    given.map(({node_id, queue_id, event, status}) => `${node_id} ${queue_id} ${event} ${status}`).toSorted(),
    mails.map(({node_id, queue_id}) => `${node_id} ${queue_id} held 403`).toSorted(),
  );
  t.deepEqual(
    given.map(({at}) => at),
    given.map(({at}) => at).toSorted((a, b) => (a < b ? 1 : -1)),
  );
  t.deepEqual(shown.map(({node_id, given_up}) => `${node_id} ${given_up}`).toSorted(), ['alpha 1', 'beta 1']);

  await beta.stop();
  const partial = await gamma.api('GET', `webhooks/${id}/deliveries`);
  t.is(partial.headers['x-unreachable-nodes'], 'beta');
  t.deepEqual(
    partial.json.data.map(({node_id}: WebhookDelivery) => node_id),
    ['alpha'],
  );
  t.is((await gamma.api('GET', `webhooks/${id}/deliveries?strict=true`)).status, 503);
  t.is((await gamma.api('GET', `webhooks/${id}`)).headers['x-unreachable-nodes'], 'beta');
});

test('a webhook that is disabled is among the findings of cluster check on every node, until it is removed', async t => {
  const {nodes, converged} = await startCluster(t, {isProxied: false, config, nodes: ['alpha', 'beta']});
  const {alpha, beta} = nodes;
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(410).end();
  });
  const url = `http://127.0.0.1:${await listening(t, server)}/secret-path`;
  const {name} = await alpha.createDomain();
  const {id} = (await alpha.api('POST', 'webhooks', {body: {url, domain: name}})).json.data;
  await converged();
  await alpha.hold({to: `a@${name}`});

  const {code, stdout} = await eventually(async () => {
    const ran = await beta.mfctl(['cluster', 'check']);
    return ran.stdout.includes(`webhook ${id}`) && ran;
  }, 60_000);

  t.is(code, 1, stdout);
  t.regex(stdout, new RegExp(`webhook ${id} does not get all events of .* \\(disabled: .*it answered 410`));
  t.false(stdout.includes('secret-path'));
  const {key} = await beta.createKey('read-only');
  await converged();
  // Each node looks for itself, every 10 s.
  const [problem] = await eventually(async () => {
    const {problems} = (await alpha.api('GET', 'cluster/status', {key})).json.data.peers[0];
    return problems.length > 0 && problems;
  }, 60_000);
  t.is(problem.detail, 'a full-admin key sees why');
  await beta.api('DELETE', `webhooks/${id}`);
  await eventually(async () => !(await alpha.mfctl(['cluster', 'check'])).stdout.includes(`webhook ${id}`), 60_000);
});
