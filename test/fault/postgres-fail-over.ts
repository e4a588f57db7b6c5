// Fail-over of the database to a synchronous standby, and standbys that vanish while commits wait for them.
import {setTimeout as delay} from 'node:timers/promises';
import {type PostgresPair, startPostgresPair} from '../helpers/postgres-pair.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import type {Fault} from './fault.ts';
import {judged, returnOf} from './postgres-kill.ts';
import type {Random} from './random.ts';
import {type SharedDatabase, startSite} from './site.ts';
import {createSiteRun, figuresOf, type SiteRun} from './site-run.ts';

/** Every so many rounds the standby vanishes, in the others the primary dies. */
const vanishEvery = 3;

export const postgresFailOver: Fault = {
  name: 'postgres-fail-over',
  title: 'the primary killed and its synchronous standby promoted, or the standby killed, under load',
  rounds: 30,
  shortRounds: 1,
  pass: 'nothing acknowledged is lost, back ≤ 5 s after the promotion',
  missing: postgresMissing,

  async run({rounds, owner, randomOf, say}) {
    const postgres = await startPostgresPair(owner);
    const siteRun = createSiteRun('f', await startSite(owner, {names: ['alpha', 'beta', 'gamma'], postgres}));
    const violations: string[] = [];
    let vanished = 0;
    for (let round = 1; round <= rounds; round += 1) {
      const isVanishing = round % vanishEvery === 2;
      vanished += Number(isVanishing);
      const fail = isVanishing ? loseStandby : failOver;
      const wrong = await failed(siteRun, randomOf(round), async () => fail(postgres, siteRun, randomOf(round)));
      violations.push(...wrong.map(line => `round ${round}${isVanishing ? ' (standby)' : ''}: ${line}`));
      if (round % 5 === 0) say(`${round} of ${rounds} rounds, ${violations.length} violations`);
    }
    return {rounds, violations, figures: {'fail-overs': rounds - vanished, 'standbys lost': vanished, ...figuresOf([siteRun])}};
  },
};

/** `fail` resolves once the database is there again, with a line for each node that was late. */
const failed = async (siteRun: SiteRun, random: Random, fail: () => Promise<string[]>): Promise<string[]> => {
  const database = siteRun.site.database as SharedDatabase;
  const traffic = siteRun.startTraffic(random);
  await delay(random.between(200, 800));
  database.isAway = true;
  const late = await fail();
  await delay(200);
  await traffic.stop();
  await siteRun.died([]);
  database.isAway = false;
  return [...late, ...(await judged(siteRun, random))];
};

const failOver = async (postgres: PostgresPair, {site}: SiteRun): Promise<string[]> => {
  await postgres.failOver();
  const promotedAt = performance.now();
  const late = await Promise.all(site.nodes.map(async node => returnOf(site, node, promotedAt)));
  await postgres.completePair();
  return late.flat();
};

/** The waits are shorter and longer than those of the nodes. */
const loseStandby = async (postgres: PostgresPair, {site}: SiteRun, random: Random): Promise<string[]> => {
  await postgres.loseStandby();
  await delay(random.between(500, 14_000));
  await postgres.completePair();
  const completeAt = performance.now();
  return (await Promise.all(site.nodes.map(async node => returnOf(site, node, completeAt)))).flat();
};
