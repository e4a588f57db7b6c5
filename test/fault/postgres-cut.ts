// Nodes on one PostgreSQL whose connections to it are cut while commits are under way.
import {setTimeout as delay} from 'node:timers/promises';
import {postgresBehind} from '../helpers/postgres-pair.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {startProxy, type TcpProxy} from '../helpers/tcp-proxy.ts';
import type {Fault} from './fault.ts';
import {judged, returnOf} from './postgres-kill.ts';
import type {Random} from './random.ts';
import {type SharedDatabase, startSite} from './site.ts';
import {createSiteRun, figuresOf, type SiteRun} from './site-run.ts';

export const postgresCut: Fault = {
  name: 'postgres-cut',
  title: 'connections to PostgreSQL cut in the middle of commits, under load',
  rounds: 100,
  shortRounds: 2,
  pass: 'nothing acknowledged is lost, back ≤ 5 s after the cut',
  missing: postgresMissing,

  async run({rounds, owner, randomOf, say}) {
    const server = await startPostgres(owner);
    const proxy = await startProxy(owner, () => ({host: server.host, port: server.port}));
    const postgres = postgresBehind(proxy, () => server);
    const siteRun = createSiteRun('c', await startSite(owner, {names: ['alpha', 'beta', 'gamma'], postgres}));
    const violations: string[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const wrong = await cutRound(siteRun, proxy, randomOf(round));
      violations.push(...wrong.map(line => `round ${round}: ${line}`));
      for (const line of wrong) say(`round ${round}: ${line}`);
      if (round % 25 === 0) say(`${round} of ${rounds} rounds, ${violations.length} violations`);
    }
    return {rounds, violations, figures: figuresOf([siteRun])};
  },
};

/** Without answers, commits are made that nobody hears of; without requests, transactions stay open until they are cut. */
const cutRound = async (siteRun: SiteRun, proxy: TcpProxy, random: Random): Promise<string[]> => {
  const {site} = siteRun;
  const database = site.database as SharedDatabase;
  const mode = random.pick(['drop-answers', 'drop-answers', 'drop-requests'] as const);

  const traffic = siteRun.startTraffic(random);
  await delay(random.between(100, 500));
  database.isAway = true;
  proxy.setMode(mode);
  await delay(random.between(1, 200));
  proxy.reset();
  proxy.setMode('pass');
  const cutAt = performance.now();
  const late = await Promise.all(site.nodes.map(async node => returnOf(site, node, cutAt)));
  await delay(100);
  await traffic.stop();
  await siteRun.died([]);
  database.isAway = false;
  return [...late.flat(), ...(await judged(siteRun, random))].map(line => `${mode}: ${line}`);
};
