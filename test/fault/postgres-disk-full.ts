// Nodes on one PostgreSQL whose server has no disk space left, and has some again.
import {setTimeout as delay} from 'node:timers/promises';
import {eventually} from '../helpers/eventually.ts';
import {giveToPostgres, postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {mayMount, type SmallDisk, smallDisk} from '../helpers/small-disk.ts';
import type {Fault} from './fault.ts';
import {awayRound, lateNodes, roundsInTurn, startPostgresSite} from './postgres-site.ts';
import type {Random} from './random.ts';
import type {SharedDatabase} from './site.ts';
import {figuresOf, type SiteRun} from './site-run.ts';

const mib = 1024 * 1024;
const diskBytes = 256 * mib;

export const postgresDiskFull: Fault = {
  name: 'postgres-disk-full',
  title: 'the disk of PostgreSQL fills up, under load',
  rounds: 10,
  shortRounds: 1,
  pass: 'nothing acknowledged is lost, back ≤ 5 s after the server',
  missing: () => postgresMissing() ?? (mayMount ? undefined : 'a tmpfs cannot be mounted here: run it as root'),

  async run(context) {
    const {owner} = context;
    const disk = await smallDisk(owner, diskBytes);
    await giveToPostgres(disk.path);
    const postgres = await startPostgres(owner, {dataFolder: `${disk.path}/data`, settings: {max_wal_size: '64MB'}});
    const siteRun = await startPostgresSite(owner, 'd', postgres);
    const report = await roundsInTurn(context, async random =>
      awayRound(siteRun, random, async () => fillUp(siteRun, disk, random)),
    );
    const log = await postgres.log();
    const figures = {'writes refused by the disk': count(log, noSpace), 'panics of the server': count(log, /PANIC:/g)};
    return {...report, figures: {...figures, ...figuresOf([siteRun])}};
  },
};

const noSpace = /No space left on device/g;
const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** A server that cannot write its log ends all connections, and itself if it cannot recover. */
const fillUp = async ({site}: SiteRun, disk: SmallDisk, random: Random): Promise<string[]> => {
  const {server} = site.database as SharedDatabase;
  const refused = async () => count(await server.log(), noSpace);
  const before = await refused();
  // Mail uses up what is left.
  await disk.fill(random.pick([0, 1, 4]) * mib);
  await eventually(async () => (await refused()) > before);
  if (random.chance(0.5)) await exhaustLog(server);
  await delay(random.between(0, 2000));
  await disk.clear();
  await eventually(async () => {
    if (!server.isRunning()) await server.start();
    return server.query('SELECT 1').catch(() => false as const);
  });
  return lateNodes(site);
};

/** Starts new segments of the log, as `archive_timeout` does, until the disk has no room for one. */
const exhaustLog = async ({isRunning, query}: SharedDatabase['server']): Promise<void> => {
  for (let n = 0; n < 20 && isRunning(); n += 1) await query('SELECT txid_current(), pg_switch_wal()').catch(() => undefined);
};
