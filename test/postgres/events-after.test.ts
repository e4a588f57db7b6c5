// Events after a gap on three nodes with one PostgreSQL, where entries of the log become visible in another order than that of their numbers.
import {startCluster} from '../helpers/cluster.ts';
import {type TestEventStream, watchEvents} from '../helpers/event-stream.ts';
import {eventually} from '../helpers/eventually.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {testWithPostgres} from '../helpers/test-with-postgres.ts';

const textsOf = ({events}: TestEventStream): string[] =>
  events.map(({name, data}) => ('queue_id' in data ? `${name} ${data.node_id}/${data.queue_id}` : name));
const has = async (stream: TestEventStream, ...texts: string[]) =>
  eventually(() => texts.every(text => textsOf(stream).includes(text)), 20_000);

testWithPostgres(
  'what was missed comes once on any node, also what a node logged that was killed, and nothing passes a transaction under way',
  async t => {
    const postgres = await startPostgres(t);
    const {nodes} = await startCluster(t, {postgres, isProxied: false});
    const {alpha, beta, gamma} = nodes;
    const {name} = await alpha.createDomain();
    await eventually(async () => (await beta.api('GET', 'domains')).json.data.length === 1);
    const hold = async (node: typeof alpha) => {
      const {node_id, queue_id} = await node.hold({to: `a@${name}`});
      return `held ${node_id}/${queue_id}`;
    };
    const first = await watchEvents(t, alpha, {query: '?type=held,released'});
    await first.listening();
    const seen = [await hold(alpha), await hold(beta), await hold(gamma)];
    await has(first, ...seen);
    first.close();

    const missed = [await hold(beta), await hold(alpha)];
    await beta.stop('SIGKILL');
    const second = await watchEvents(t, gamma, {query: '?type=held,released', lastId: first.lastId()});
    await has(second, ...missed);
    t.deepEqual(textsOf(second), missed);
    second.close();

    // Of whatever database on the server.
    const client = await postgres.connect();
    await client.query('BEGIN');
    await client.query('CREATE TABLE long_lasting (one integer)');
    const third = await watchEvents(t, alpha, {query: '?type=held,released', lastId: second.lastId()});
    const during = [await hold(gamma), await hold(alpha)];
    const fourth = await watchEvents(t, gamma, {query: '?type=held,released'});
    await Promise.all([third.listening(), fourth.listening()]);
    t.deepEqual([textsOf(third), textsOf(fourth)], [[], []]);
    await client.query('COMMIT');
    await client.end();
    await has(third, ...during);
    await has(fourth, ...during);

    t.deepEqual(textsOf(third), during);
  },
);
