// A bare Koa process over HTTPS that answers one body: node bare-koa.js KEY CERT BODY-FILE [DATABASE]
// With DATABASE it also keeps that file open through knex and sqlite3, like the smallest service with a database.
import {readFileSync} from 'node:fs';
import {createServer} from 'node:https';
import Koa from 'koa';

const [key, cert, body, filename] = process.argv.slice(2);
const answer = JSON.parse(readFileSync(body, 'utf8'));

const openDatabase = async () => {
  const {default: knex} = await import('knex');
  const database = knex({client: 'sqlite3', connection: {filename}, useNullAsDefault: true});
  await database.raw('PRAGMA journal_mode = WAL');
  await database.schema.createTable('thing', table => table.increments('id'));
  return database;
};

const database = filename === undefined ? undefined : await openDatabase();
const app = new Koa();
app.use(async ctx => {
  if (database) await database('thing').count();
  ctx.body = answer;
});

const server = createServer({key: readFileSync(key), cert: readFileSync(cert), minVersion: 'TLSv1.2'}, app.callback());
server.listen(0, '127.0.0.1', () => process.stdout.write(`ready https://127.0.0.1:${server.address().port}\n`));
