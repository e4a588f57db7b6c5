// Response time of lists of nodes on one PostgreSQL.
import type pg from 'pg';
import {databaseOf} from '../helpers/node-store.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {alternate, timed} from './alternate.ts';
import type {Bench, BenchContext, Row} from './bench.ts';
import {type ListedCluster, startListedCluster} from './listed-cluster.ts';
import {listerOf, measureMillion, ms, warm} from './lists.ts';
import {measureQueries, nodeFilter, singleFilters, subjectFilters} from './lists-filters.ts';
import {quantilesOf} from './quantiles.ts';

const rows: readonly Row[] = [
  {
    name: 'postgres-list',
    title: '100 newest of 10,000 on one PostgreSQL, p50',
    anchor: 'the bare query',
    wanted: {atMost: 3},
    unit: '×',
  },
  {
    name: 'postgres-list-million',
    title: 'the same of 1,000,000, p50',
    anchor: 'our own 10,000',
    wanted: {atMost: 1.5},
    unit: '×',
  },
  {
    name: 'postgres-filters',
    title: 'any single filter with its count of 1,000,000, the slowest, p50',
    anchor: '',
    wanted: {atMost: 100},
    unit: 'ms',
  },
  {name: 'postgres-subjects', title: 'subjects, the slowest, p50', anchor: '', wanted: {atMost: 300}, unit: 'ms'},
];

export const postgresLists: Bench = {
  name: 'postgres-lists',
  rows,
  seconds: 240,
  missing: postgresMissing,
  async run(context) {
    const {owner, isQuick, isWanted} = context;
    // As much memory for pages as a small server would give it.
    const postgres = await startPostgres(owner, {settings: {shared_buffers: '1GB', work_mem: '16MB', max_wal_size: '4GB'}});
    const newestMs = Date.now();
    const small = await startListedCluster(owner, {size: 10_000, newestMs, postgres});
    const asksLarge = rows.some(({name}) => name !== 'postgres-list' && isWanted(name));
    const large = asksLarge
      ? await startListedCluster(owner, {size: isQuick ? 60_000 : 1_000_000, newestMs, postgres})
      : undefined;
    context.say('the database is filled');
    if (isWanted('postgres-list'))
      await measureList(context, small, await postgres.connect(await databaseOf(small.nodes[0]?.data ?? '')));
    if (!large) return;
    if (isWanted('postgres-list-million')) await measureMillion(context, 'postgres-list-million', {small, large});
    const list = listerOf(large);
    await measureQueries(context, 'postgres-filters', {list, queries: {...singleFilters, ...nodeFilter(large)}});
    await measureQueries(context, 'postgres-subjects', {list, queries: subjectFilters});
  },
};

/** The rows of the list, and their number. */
const bareSql = `
  SELECT node_id, queue_id, sender, recipients, subject, score, symbols, reason, size_bytes, arrived_at FROM held_mail WHERE is_held
  ORDER BY arrived_at DESC, node_id, queue_id LIMIT 100`;
const bareCountSql = 'SELECT sum(count) AS total FROM held_count';

const measureList = async ({isQuick, report}: BenchContext, small: ListedCluster, client: pg.Client): Promise<void> => {
  const list = listerOf(small);
  const bare = async () => {
    await client.query(bareSql);
    await client.query(bareCountSql);
  };
  await warm(small, isQuick);
  const times = await alternate(
    {own: async () => timed(list), bare: async () => timed(bare)},
    {rounds: isQuick ? 60 : 400, warmUps: 100},
  );
  await client.end();
  const [own, anchor] = [quantilesOf(times.own).p50, quantilesOf(times.bare).p50];
  report('postgres-list', {value: own / anchor, own: ms(own), anchor: ms(anchor)});
};
