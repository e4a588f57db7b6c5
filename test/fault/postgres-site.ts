// Three nodes on one PostgreSQL, and the rounds of faults that they have.
import {setTimeout as delay} from 'node:timers/promises';
import type {Owner} from '../helpers/daemon.ts';
import type {PostgresServer} from '../helpers/postgres-server.ts';
import type {FaultContext} from './fault.ts';
import type {Random} from './random.ts';
import {type SharedDatabase, type Site, startSite} from './site.ts';
import {createSiteRun, type SiteRun} from './site-run.ts';

const longestReturnMs = 5000;

export const startPostgresSite = async (owner: Owner, name: string, postgres: PostgresServer): Promise<SiteRun> =>
  createSiteRun(name, await startSite(owner, {names: ['alpha', 'beta', 'gamma'], postgres}));

/** One round after the other. Says each violation as it is found. */
export const roundsInTurn = async (
  {rounds, randomOf, say}: FaultContext,
  run: (random: Random, round: number) => Promise<string[]>,
): Promise<{rounds: number; violations: string[]}> => {
  const violations: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const wrong = (await run(randomOf(round), round)).map(line => `round ${round}: ${line}`);
    violations.push(...wrong);
    for (const line of wrong) say(line);
    if (round % Math.ceil(rounds / 10) === 0) say(`${round} of ${rounds} rounds, ${violations.length} violations`);
  }
  return {rounds, violations};
};

/** `fail` takes the database away, and resolves once it is there again, with a line for each node that was late. */
export const awayRound = async (
  siteRun: SiteRun,
  random: Random,
  fail: (database: SharedDatabase) => Promise<string[]>,
): Promise<string[]> => {
  const database = siteRun.site.database as SharedDatabase;
  const traffic = siteRun.startTraffic(random);
  await delay(random.between(100, 600));
  database.isAway = true;
  const late = await fail(database);
  await delay(200);
  await traffic.stop();
  await siteRun.died([]);
  database.isAway = false;
  return [...late, ...(await judged(siteRun, random))];
};

export const judged = async (siteRun: SiteRun, random: Random): Promise<string[]> => {
  const wrong = await siteRun.judge(random);
  if (siteRun.isFull) await siteRun.clear();
  return wrong;
};

/** Resolves when all nodes answer again, with a line for each that did not in time. */
export const lateNodes = async (site: Site, startedAt = performance.now()): Promise<string[]> =>
  (await Promise.all(site.nodes.map(async node => returnOf(site, node, startedAt)))).flat();

/** Also a kept connection that was closed as idle just as it was used. */
const unanswered = () => ({status: 0});

const returnOf = async (site: Site, node: Site['nodes'][number], startedAt: number): Promise<string[]> => {
  for (;;) {
    const {status} = await site.ask(node, 'GET', 'domains').catch(unanswered);
    const {status: ready} = await fetch(`${node.metrics_url}/readyz`).catch(unanswered);
    const ms = Math.round(performance.now() - startedAt);
    if (status === 200 && ready === 200) return ms > longestReturnMs ? [`${node.node_id} answered again after ${ms} ms`] : [];
    if (ms > 60_000) return [`${node.node_id} does not answer again: ${status}, ready ${ready}`];
    await delay(50);
  }
};
