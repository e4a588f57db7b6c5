// Nodes on one PostgreSQL whose connections to it are cut while commits are under way.
import {setTimeout as delay} from 'node:timers/promises';
import {postgresBehind} from '../helpers/postgres-pair.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import {startProxy, type TcpProxy} from '../helpers/tcp-proxy.ts';
import type {Fault} from './fault.ts';
import {awayRound, lateNodes, roundsInTurn, startPostgresSite} from './postgres-site.ts';
import type {Random} from './random.ts';
import {figuresOf, type SiteRun} from './site-run.ts';

export const postgresCut: Fault = {
  name: 'postgres-cut',
  title: 'connections to PostgreSQL cut in the middle of commits, under load',
  rounds: 100,
  shortRounds: 2,
  pass: 'nothing acknowledged is lost, back ≤ 5 s after the cut',
  missing: postgresMissing,

  async run(context) {
    const {owner} = context;
    const server = await startPostgres(owner);
    const proxy = await startProxy(owner, () => ({host: server.host, port: server.port}));
    const postgres = postgresBehind(proxy, () => server);
    const siteRun = await startPostgresSite(owner, 'c', postgres);
    const report = await roundsInTurn(context, async random => cutRound(siteRun, proxy, random));
    return {...report, figures: figuresOf([siteRun])};
  },
};

/** Without answers, commits are made that nobody hears of; without requests, transactions stay open until they are cut. */
const cutRound = async (siteRun: SiteRun, proxy: TcpProxy, random: Random): Promise<string[]> => {
  const mode = random.pick(['drop-answers', 'drop-answers', 'drop-requests'] as const);
  const wrong = await awayRound(siteRun, random, async () => {
    proxy.setMode(mode);
    await delay(random.between(1, 200));
    proxy.reset();
    proxy.setMode('pass');
    return lateNodes(siteRun.site);
  });
  return wrong.map(line => `${mode}: ${line}`);
};
