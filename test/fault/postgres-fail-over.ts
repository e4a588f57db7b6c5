// Fail-over of the database to a synchronous standby, and standbys that vanish while commits wait for them.
import {setTimeout as delay} from 'node:timers/promises';
import {type PostgresPair, startPostgresPair} from '../helpers/postgres-pair.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import type {Fault} from './fault.ts';
import {awayRound, lateNodes, roundsInTurn, startPostgresSite} from './postgres-site.ts';
import type {Random} from './random.ts';
import {figuresOf, type SiteRun} from './site-run.ts';

/** Every so many rounds the standby vanishes, in the others the primary dies. */
const vanishEvery = 3;

export const postgresFailOver: Fault = {
  name: 'postgres-fail-over',
  title: 'the primary killed and its synchronous standby promoted, or the standby killed, under load',
  rounds: 30,
  shortRounds: 1,
  pass: 'nothing acknowledged is lost, back ≤ 5 s after the promotion',
  missing: postgresMissing,

  async run(context) {
    const {owner} = context;
    const postgres = await startPostgresPair(owner);
    const siteRun = await startPostgresSite(owner, 'f', postgres);
    let vanished = 0;
    const report = await roundsInTurn(context, async (random, round) => {
      const isVanishing = round % vanishEvery === 2;
      vanished += Number(isVanishing);
      const fail = isVanishing ? loseStandby : failOver;
      const wrong = await awayRound(siteRun, random, async () => fail(postgres, siteRun, random));
      return wrong.map(line => `${isVanishing ? 'standby' : 'primary'}: ${line}`);
    });
    const figures = {'fail-overs': report.rounds - vanished, 'standbys lost': vanished, ...figuresOf([siteRun])};
    return {...report, figures};
  },
};

const failOver = async (postgres: PostgresPair, {site}: SiteRun): Promise<string[]> => {
  await postgres.failOver();
  const late = await lateNodes(site);
  await postgres.completePair();
  return late;
};

/** The waits are shorter and longer than those of the nodes. */
const loseStandby = async (postgres: PostgresPair, {site}: SiteRun, random: Random): Promise<string[]> => {
  await postgres.loseStandby();
  await delay(random.between(500, 14_000));
  await postgres.completePair();
  return lateNodes(site);
};
