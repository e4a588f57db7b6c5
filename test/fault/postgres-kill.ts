// Nodes on one PostgreSQL that are killed repeatedly, and the server too.
import {setTimeout as delay} from 'node:timers/promises';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import type {Fault} from './fault.ts';
import {killRound} from './kill.ts';
import type {Random} from './random.ts';
import {type SharedDatabase, type Site, startSite} from './site.ts';
import {createSiteRun, figuresOf, type SiteRun} from './site-run.ts';

const names = ['alpha', 'beta', 'gamma'];
/** Every so many rounds the server is killed, in the others nodes are. */
const serverEvery = 7;
const longestReturnMs = 5000;

export const postgresKill: Fault = {
  name: 'postgres-kill',
  title: 'nodes on one PostgreSQL, and the server, killed at random under load',
  rounds: 350,
  shortRounds: 4,
  pass: 'nothing acknowledged is lost, back ≤ 5 s after the server',
  missing: postgresMissing,

  async run({rounds, isShort, owner, randomOf, say}) {
    const siteRuns = await Promise.all(
      (isShort ? ['p0'] : ['p0', 'p1']).map(async name => {
        const postgres = await startPostgres(owner);
        return createSiteRun(name, await startSite(owner, {names, postgres}));
      }),
    );
    const violations: string[] = [];
    let [done, kills] = [0, 0];
    await Promise.all(
      siteRuns.map(async (siteRun, n) => {
        for (let round = n + 1; round <= rounds; round += siteRuns.length) {
          const isServer = Math.floor(round / siteRuns.length) % serverEvery === 1;
          kills += Number(isServer);
          const wrong = await (isServer ? serverRound : killRound)(siteRun, randomOf(round));
          violations.push(...wrong.map(line => `round ${round}${isServer ? ' (server)' : ''}: ${line}`));
          done += 1;
          if (done % 25 === 0) say(`${done} of ${rounds} rounds, ${violations.length} violations`);
        }
      }),
    );
    return {rounds: done, violations, figures: {'kills of the server': kills, ...figuresOf(siteRuns)}};
  },
};

const serverRound = async (siteRun: SiteRun, random: Random): Promise<string[]> => {
  const {site} = siteRun;
  const database = site.database as SharedDatabase;

  const traffic = siteRun.startTraffic(random);
  await delay(random.between(100, 600));
  database.isAway = true;
  await database.server.kill();
  await delay(random.between(0, 3000));
  await database.server.start();
  const startedAt = performance.now();
  const late = await Promise.all(site.nodes.map(async node => returnOf(site, node, startedAt)));
  await delay(200);
  await traffic.stop();
  await siteRun.died([]);
  database.isAway = false;
  return [...late.flat(), ...(await judged(siteRun, random))];
};

export const judged = async (siteRun: SiteRun, random: Random): Promise<string[]> => {
  const wrong = await siteRun.judge(random);
  if (siteRun.isFull) await siteRun.clear();
  return wrong;
};

/** A line if the node does not answer again in time. */
export const returnOf = async (site: Site, node: Site['nodes'][number], startedAt: number): Promise<string[]> => {
  for (;;) {
    const {status} = await site.ask(node, 'GET', 'domains').catch(() => ({status: 0}));
    const ready = (await fetch(`${node.metrics_url}/readyz`)).status;
    const ms = Math.round(performance.now() - startedAt);
    if (status === 200 && ready === 200) return ms > longestReturnMs ? [`${node.node_id} answered again after ${ms} ms`] : [];
    if (ms > 60_000) return [`${node.node_id} does not answer again: ${status}, ready ${ready}`];
    await delay(50);
  }
};
