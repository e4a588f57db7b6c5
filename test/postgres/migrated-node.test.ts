// A node that runs after `mfd migrate`.
import {mfdFile, run, startNode} from '../helpers/node.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {testWithPostgres} from '../helpers/test-with-postgres.ts';

testWithPostgres('a migrated node goes on where it was, and says in one line that its database is away', async t => {
  const postgres = await startPostgres(t);
  const {url} = await postgres.createDatabase();
  const node = await startNode(t);
  const create = async (name: string) =>
    (await node.api('POST', 'domains', {body: {name, backend_servers: ['127.0.0.1:1']}})).status;
  const migrate = async () =>
    run(mfdFile, ['migrate', '--data', node.data, '--store-url', url, '--store-password-file', postgres.passwordFile]);
  await create('one.test');
  await node.stop();

  const migrated = await migrate();
  await node.start();

  t.is(migrated.code, 0, migrated.stderr);
  t.is(await create('two.test'), 201);
  t.is((await node.api('GET', 'domains')).json.data.length, 2);
  const {json} = await node.api('GET', 'audit');
  t.deepEqual(
    json.data.map(({action}: {action: string}) => action),
    ['domain.create', 'node.migrate', 'domain.create', 'key.create'],
  );

  await node.stop();
  t.is((await migrate()).code, 0);
  await postgres.stop('immediate');
  const {code, stderr} = await run(mfdFile, ['start', '--data', node.data]);
  t.is(code, 1);
  t.regex(stderr, /^mfd: PostgreSQL at \S+ does not answer: [^\n]*\n$/);
  t.false(stderr.includes(postgres.password));
});
