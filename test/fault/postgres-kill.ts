// Nodes on one PostgreSQL that are killed repeatedly, and the server too.
import {setTimeout as delay} from 'node:timers/promises';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import type {Fault} from './fault.ts';
import {killRound} from './kill.ts';
import {awayRound, lateNodes, startPostgresSite} from './postgres-site.ts';
import type {Random} from './random.ts';
import {figuresOf, type SiteRun} from './site-run.ts';

/** Every so many rounds the server is killed, in the others nodes are. */
const serverEvery = 7;

export const postgresKill: Fault = {
  name: 'postgres-kill',
  title: 'nodes on one PostgreSQL, and the server, killed at random under load',
  rounds: 350,
  shortRounds: 4,
  pass: 'nothing acknowledged is lost, back ≤ 5 s after the server',
  missing: postgresMissing,

  async run({rounds, isShort, owner, randomOf, say}) {
    const siteRuns = await Promise.all(
      (isShort ? ['p0'] : ['p0', 'p1']).map(async name => startPostgresSite(owner, name, await startPostgres(owner))),
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

const serverRound = async (siteRun: SiteRun, random: Random): Promise<string[]> =>
  awayRound(siteRun, random, async ({server}) => {
    await server.kill();
    await delay(random.between(0, 3000));
    await server.start();
    return lateNodes(siteRun.site);
  });
