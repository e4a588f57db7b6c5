// Nodes that are killed repeatedly, at any moment.
import {setTimeout as delay} from 'node:timers/promises';
import type {Fault} from './fault.ts';
import {createLane, figuresOf, type Lane} from './lane.ts';
import type {Random} from './random.ts';
import {startSite} from './site.ts';

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
    const lanes = await Promise.all(
      (isShort ? shortSites : sites).map(async (names, n) => createLane(`k${n}`, await startSite(owner, {names}))),
    );
    const violations: string[] = [];
    let done = 0;
    await Promise.all(
      lanes.map(async (lane, n) => {
        for (let round = n + 1; round <= rounds; round += lanes.length) {
          const wrong = await killRound(lane, randomOf(round));
          violations.push(...wrong.map(line => `round ${round}: ${line}`));
          done += 1;
          if (done % 25 === 0) say(`${done} of ${rounds} rounds, ${violations.length} violations`);
        }
      }),
    );
    return {rounds: done, violations, figures: figuresOf(lanes)};
  },
};

const killRound = async (lane: Lane, random: Random): Promise<string[]> => {
  const {nodes} = lane.site;
  const isEverybody = random.chance(0.15);
  const chosen = random.pick(nodes);
  const victims = nodes.filter(node => isEverybody || node === chosen);

  const traffic = lane.startTraffic(random);
  await delay(random.between(100, 600));
  await Promise.all(victims.map(async node => node.stop('SIGKILL')));
  // The others receive requests for the mail of the dead nodes.
  await delay(random.between(0, 100));
  await traffic.stop();
  await lane.died(victims);

  const late = await lane.restart(victims);
  const wrong = [...late, ...(await lane.judge(random))];
  if (lane.isFull) await lane.clear();
  return wrong;
};
