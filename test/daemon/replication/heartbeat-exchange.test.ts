import test from 'ava';
import {readConfigHash} from '../../../daemon/replication/config-hash.ts';
import type {Drift} from '../../../daemon/replication/drift.ts';
import {createHeartbeatExchange} from '../../../daemon/replication/heartbeat-exchange.ts';
import {createRefusals} from '../../../daemon/replication/refusals.ts';
import {createReplication} from '../../../daemon/replication/replication.ts';
import {createKeyDirectory} from '../../../daemon/services/access/key-directory.ts';
import {createRateLimiter} from '../../../daemon/services/access/rate-limit.ts';
import {createNodeDirectory} from '../../../daemon/services/cluster/node-directory.ts';
import {openPeerStates} from '../../../daemon/services/cluster/peer-states.ts';
import {newFields} from '../../helpers/config-history.ts';
import {testConfiguration, testDatabase} from '../../helpers/database.ts';

const license = {valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'};
const calm: Drift = {compare: async () => {}, repair: async () => {}, explain: async () => Promise.reject(new Error('not here'))};

test('the hash in a heartbeat is that of the events it names, however much is being changed', async t => {
  const {database} = await testDatabase(t, {isDurable: false});
  const configuration = testConfiguration(database);
  const directory = await createNodeDirectory(database, configuration);
  const exchange = createHeartbeatExchange({
    database,
    replication: createReplication({database, configuration, nodeNo: 1}),
    peerStates: await openPeerStates({database, directory, nodeNo: 1, now: Date.now, monotonic: () => performance.now()}),
    limiter: createRateLimiter({now: Date.now, monotonic: () => performance.now()}),
    keyDirectory: await createKeyDirectory(database, configuration),
    drift: calm,
    directory,
    refusals: createRefusals(() => {}),
    nodeId: 'alpha',
    nodeNo: 1,
    version: '1.0.0',
    license: () => license,
    hasAuthority: true,
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
      hashAfter.set(seq, (await readConfigHash(database.read)).config_hash);
    }
    isChanging = false;
  })();

  while (isChanging) heard.push((await exchange.heartbeat(2, 0)).heartbeat);
  await changing;

  const wrong = heard.filter(({last_seq, config_hash}) => (hashAfter.get(last_seq) ?? config_hash) !== config_hash);
  t.deepEqual(wrong, []);
});
