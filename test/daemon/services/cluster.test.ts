import test from 'ava';
import {createCluster} from '../../../daemon/services/cluster.ts';
import {testConfiguration, testDatabase} from '../../helpers/database.ts';

test('without peers no event is kept, and with one every event is', async t => {
  const {database} = await testDatabase(t, {isDurable: false});
  const configuration = testConfiguration(database);
  const cluster = createCluster({
    database,
    nodeId: 'alpha',
    nodeNo: 1,
    hostname: 'alpha.test',
    apiUrl: () => 'https://alpha.test',
    license: () => ({valid: true, type: 'community', status: 'active', expires_at: '9999-12-31T23:59:59Z'}),
    now: Date.now,
  });
  const addNode = async (id: number, node_id: string) =>
    configuration.change(async draft => draft.create('node', id, {node_id, fqdn: `${node_id}.test`, created_at: draft.at}));

  await addNode(1, 'alpha');
  t.is(await cluster.pruneOutbox(), 1);
  await addNode(2, 'beta');

  t.is(await cluster.pruneOutbox(), 0);
  t.is((await database.read('outbox')).length, 1);
});
