import test from 'ava';
import type {Drift} from '../../../daemon/replication/drift.ts';
import {createHeartbeatExchange} from '../../../daemon/replication/heartbeat-exchange.ts';
import {createReplication} from '../../../daemon/replication/replication.ts';
import {createKeyDirectory} from '../../../daemon/services/access/key-directory.ts';
import {createRateLimiter} from '../../../daemon/services/access/rate-limit.ts';
import {createNodeDirectory} from '../../../daemon/services/cluster/membership.ts';
import {openPeerStates} from '../../../daemon/services/cluster/peer-states.ts';
import {createRefusals} from '../../../daemon/services/cluster/refusals.ts';
import {newFields} from '../../helpers/config-history.ts';
import {testConfiguration, testStore} from '../../helpers/store.ts';

const license = {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'};
const calm: Drift = {compare: async () => {}, repair: async () => {}, explain: async () => Promise.reject(new Error('not here'))};

test('the hash in a heartbeat is that of the events it names, however much is being changed', async t => {
  const {store} = await testStore(t, {isDurable: false});
  const configuration = testConfiguration(store);
  const directory = await createNodeDirectory(store, configuration);
  const exchange = createHeartbeatExchange({
    store,
    replication: createReplication({store, configuration, nodeNo: 1}),
    inbox: {noteBehind() {}},
    peerStates: await openPeerStates({
      store,
      appliedOf: store.applied.of,
      directory,
      nodeNo: 1,
      now: Date.now,
      monotonic: () => performance.now(),
    }),
    limiter: createRateLimiter({now: Date.now, monotonic: () => performance.now()}),
    keyDirectory: await createKeyDirectory(store, configuration),
    drift: calm,
    directory,
    refusals: createRefusals(() => {}),
    nodeId: 'alpha',
    nodeNo: 1,
    version: '1.0.0',
    license: () => license,
    hasAuthority: true,
    dmarc: () => ({config: '', is_unset: false}),
    problems: () => [],
    recipientsUrl: () => undefined,
    now: Date.now,
  });
  const hashAfter = new Map<number, string>();
  const heard: {last_seq: number; config_hash: string}[] = [];
  let isChanging = true;
  const changing = (async () => {
    for (let seq = 1; seq <= 100 || heard.length <= 100; seq += 1) {
      await configuration.change(async tx =>
        tx.create('domain', seq, {
          ...newFields.domain(`d${seq}.test`),
          backend_servers: ['127.0.0.1:25'],
          created_at: tx.at,
        }),
      );
      hashAfter.set(seq, (await store.config.configHash()).config_hash);
    }
    isChanging = false;
  })();

  while (isChanging) heard.push((await exchange.heartbeat(2, 0)).heartbeat);
  await changing;

  const wrong = heard.filter(({last_seq, config_hash}) => (hashAfter.get(last_seq) ?? config_hash) !== config_hash);
  t.deepEqual(wrong, []);
});
