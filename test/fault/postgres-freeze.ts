// Nodes on one PostgreSQL that are frozen for longer than their claims last, while others act on the mails they had claimed.
import {setTimeout as delay} from 'node:timers/promises';
import type {MailReference} from '../../shared/held-mail.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import {postgresMissing} from '../helpers/postgres-programs.ts';
import {startPostgres} from '../helpers/postgres-server.ts';
import type {Fault} from './fault.ts';
import {freeze} from './freeze.ts';
import {judged, lateNodes, startPostgresSite} from './postgres-site.ts';
import type {Random} from './random.ts';
import type {SharedDatabase} from './site.ts';
import {figuresOf, type SiteRun} from './site-run.ts';

const mostTries = 20;

interface Figures {
  /** Mails that a frozen node had claimed, and that others got. */
  givenBack: number;
}

export const postgresFreeze: Fault = {
  name: 'postgres-freeze',
  title: 'nodes on one PostgreSQL frozen beyond the end of their claims, under load',
  rounds: 20,
  shortRounds: 1,
  pass: 'nothing acknowledged is lost, no mail is delivered by two nodes',
  missing: postgresMissing,

  async run({rounds, isShort, owner, randomOf, say}) {
    const siteRuns = await Promise.all(
      (isShort ? ['z0'] : ['z0', 'z1']).map(async name => startPostgresSite(owner, name, await startPostgres(owner))),
    );
    const figures: Figures = {givenBack: 0};
    const violations: string[] = [];
    let done = 0;
    await Promise.all(
      siteRuns.map(async (siteRun, n) => {
        for (let round = n + 1; round <= rounds; round += siteRuns.length) {
          const wrong = await freezeRound(siteRun, randomOf(round), figures);
          violations.push(...wrong.map(line => `round ${round}: ${line}`));
          for (const line of wrong) say(`round ${round}: ${line}`);
          done += 1;
          if (done % 5 === 0) say(`${done} of ${rounds} rounds, ${violations.length} violations`);
        }
      }),
    );
    return {rounds: done, violations, figures: {'claims given back': figures.givenBack, ...figuresOf(siteRuns)}};
  },
};

const freezeRound = async (siteRun: SiteRun, random: Random, figures: Figures): Promise<string[]> => {
  const {site} = siteRun;
  const database = site.database as SharedDatabase;
  const frozen = random.pick(site.nodes);

  const before = siteRun.startTraffic(random);
  await delay(random.between(300, 1000));
  // A frozen node may have locked rows that others wait for without end.
  database.isAway = true;
  const claimed = await freezeActing(database, frozen);
  const frozenAt = performance.now();
  await delay(200);
  const beforeStopped = before.stop();
  await delay(random.between(31_000, 40_000));
  await givenBack(database, frozen);
  figures.givenBack += claimed.length;
  // What the node had delivered before may be delivered again, and nothing else.
  await siteRun.died([]);
  siteRun.contest(claimed);
  const after = siteRun.startTraffic(random);
  await delay(random.between(300, 1000));
  process.kill(frozen.pid(), 'SIGCONT');
  const thawedAt = performance.now();
  const late = await lateNodes(site, thawedAt);
  await delay(200);
  await Promise.all([beforeStopped, after.stop()]);
  // Kept connections were idle for too long, and are closed just as the next request comes.
  await siteRun.died([frozen]);
  database.isAway = false;
  const frozenMs = Math.round(thawedAt - frozenAt);
  const wrong = [...late, ...(await judged(siteRun, random))];
  return wrong.map(line => `${frozen.node_id} frozen for ${frozenMs} ms: ${line}`);
};

/** Freezes the node, if possible while it acts on mails. Resolves with those that it has claimed. */
const freezeActing = async (database: SharedDatabase, node: ClusterNode): Promise<MailReference[]> => {
  for (let tries = 1; ; tries += 1) {
    await freeze(node.pid());
    const claimed = await claimsOf(database, node);
    if (claimed.length > 0 || tries === mostTries) return claimed;
    process.kill(node.pid(), 'SIGCONT');
    await delay(20);
  }
};

const claimsOf = async ({query}: SharedDatabase, {node_id}: ClusterNode): Promise<MailReference[]> =>
  (await query(
    `SELECT node_id, queue_id FROM held_mail WHERE is_held AND state <> 'held' AND claimed_by = '${node_id}'`,
  )) as unknown as MailReference[];

/** Other nodes do this every few seconds. */
const givenBack = async (database: SharedDatabase, {node_id}: ClusterNode): Promise<void> => {
  const rows = async () =>
    database.query(
      `SELECT FROM held_mail WHERE is_held AND state <> 'held' AND claimed_by = '${node_id}' AND lease_until < now()`,
    );
  await eventually(async () => (await rows()).length === 0, 20_000);
};
