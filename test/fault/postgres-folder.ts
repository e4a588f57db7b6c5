// Nodes on one PostgreSQL whose folder is lost, and comes back from a backup that has no mail.
import {readdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import type {Fault} from './fault.ts';
import {judged, roundsInTurn, startPostgresSite} from './postgres-site.ts';
import type {Random} from './random.ts';
import {figuresOf, type SiteRun} from './site-run.ts';

/** What docs/postgres.md says to back up. */
const backup = ['mfd.yaml', 'node.json', 'tls'];

export const postgresFolder: Fault = {
  name: 'postgres-folder',
  title: 'the folder of a node on one PostgreSQL is lost right after its 250s, under load',
  rounds: 20,
  shortRounds: 2,
  pass: 'nothing acknowledged is lost, ready again ≤ 5 s',
  missing: postgresMissing,

  async run(context) {
    const {owner} = context;
    const siteRun = await startPostgresSite(owner, 'l', await startPostgres(owner));
    const report = await roundsInTurn(context, async random => lossRound(siteRun, random));
    return {...report, figures: figuresOf([siteRun])};
  },
};

const lossRound = async (siteRun: SiteRun, random: Random): Promise<string[]> => {
  const victim = random.pick(siteRun.site.nodes);
  const traffic = siteRun.startTraffic(random);
  await delay(random.between(100, 600));
  await victim.stop('SIGKILL');
  for (const name of await readdir(victim.data)) if (!backup.includes(name)) await rm(join(victim.data, name), {recursive: true});
  // The others act on its mail.
  await delay(random.between(200, 1000));
  await traffic.stop();
  await siteRun.died([victim]);
  return [...(await siteRun.restart([victim])), ...(await judged(siteRun, random))];
};
