// Nodes that are killed repeatedly, at any moment.
import {setTimeout as delay} from 'node:timers/promises';
import type {Fault} from './fault.ts';
import type {Random} from './random.ts';
import {startSite} from './site.ts';
import {createSiteRun, figuresOf, type SiteRun} from './site-run.ts';

const three = ['alpha', 'beta', 'gamma'];
/** In parallel, each with its own rounds: a node that starts leaves time for others. */
const sites = [['solo'], three, three, ['solo']];
const shortSites = [['solo'], three];

export const kill: Fault = {
  name: 'kill',
  title: 'nodes killed at random under load, one node and three',
  rounds: 300,
  shortRounds: 4,
  pass: 'nothing acknowledged is lost, no database corrupt, ready again ≤ 5 s',

  async run({rounds, isShort, owner, randomOf, say}) {
    const siteRuns = await Promise.all(
      (isShort ? shortSites : sites).map(async (names, n) => createSiteRun(`k${n}`, await startSite(owner, {names}))),
    );
    const violations: string[] = [];
    let done = 0;
    await Promise.all(
      siteRuns.map(async (siteRun, n) => {
        for (let round = n + 1; round <= rounds; round += siteRuns.length) {
          const wrong = await killRound(siteRun, randomOf(round));
          violations.push(...wrong.map(line => `round ${round}: ${line}`));
          done += 1;
          if (done % 25 === 0) say(`${done} of ${rounds} rounds, ${violations.length} violations`);
        }
      }),
    );
    return {rounds: done, violations, figures: figuresOf(siteRuns)};
  },
};

/** Kills a node, or all of them, under load. */
export const killRound = async (siteRun: SiteRun, random: Random): Promise<string[]> => {
  const {nodes} = siteRun.site;
  const isEverybody = random.chance(0.15);
  const chosen = random.pick(nodes);
  const victims = nodes.filter(node => isEverybody || node === chosen);

  const traffic = siteRun.startTraffic(random);
  await delay(random.between(100, 600));
  await Promise.all(victims.map(async node => node.stop('SIGKILL')));
  // The others receive requests for the mail of the dead nodes.
  await delay(random.between(0, 100));
  await traffic.stop();
  await siteRun.died(victims);

  const late = await siteRun.restart(victims);
  const wrong = [...late, ...(await siteRun.judge(random))];
  if (siteRun.isFull) await siteRun.clear();
  return wrong;
};
