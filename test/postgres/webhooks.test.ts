// Webhooks of nodes on one PostgreSQL: another node sends what a dead one has logged.
import type {Webhook} from '../../shared/webhook.ts';
import {startCluster} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {testWithPostgres} from '../helpers/test-with-postgres.ts';
import {startReceiver} from '../helpers/webhook-receiver.ts';

testWithPostgres(
  'within 30 s of its death another node sends the log of a node, which sends it itself when it is back',
  async t => {
    const postgres = await startPostgres(t);
    const {nodes} = await startCluster(t, {postgres, isProxied: false, config: {webhooks: {allow_networks: ['127.0.0.0/8']}}});
    const {alpha, beta} = nodes;
    const receiver = await startReceiver(t);
    let isDown = false;
    const fromAlpha = () => receiver.received.filter(({data}) => data.node_id === 'alpha');
    receiver.answer = ({data}, response) => {
      if (!isDown || data.node_id !== 'alpha') return 200;
      response.destroy();
      return undefined;
    };
    const {name} = await alpha.createDomain();
    await eventually(async () => (await beta.api('GET', 'domains')).json.data.length === 1);
    const created = await beta.api('POST', 'webhooks', {body: {url: receiver.url, events: ['held']}});
    receiver.secret = created.json.data.secret;
    const {id} = created.json.data as Webhook;
    for (const node of [alpha, beta]) await node.hold({to: `u@${name}`});
    await eventually(() => receiver.received.length === 2);

    isDown = true;
    for (let n = 0; n < 5; n += 1) await alpha.hold({to: `u${n}@${name}`});
    await eventually(() => fromAlpha().length > 1);
    await alpha.stop('SIGKILL');
    const diedAt = Date.now();
    isDown = false;
    await eventually(() => new Set(fromAlpha().map(({id: event}) => event)).size === 6, 40_000);
    const tookMs = Date.now() - diedAt;

    t.true(tookMs < 30_000, `${tookMs} ms`);
    t.log(`taken over after ${tookMs} ms`);
    await alpha.start();
    await alpha.hold({to: `again@${name}`});
    await eventually(() => new Set(fromAlpha().map(({id: event}) => event)).size === 7, 40_000);
    const progress = await eventually(async () => {
      const {json} = await beta.api('GET', `webhooks/${id}`);
      return json.data.progress.length >= 2 && json.data.progress;
    });
    t.deepEqual(progress.map(({node_id}: {node_id: string}) => node_id).slice(0, 2), ['alpha', 'beta']);
    t.deepEqual(receiver.forged, []);
  },
);
