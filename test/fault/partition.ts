// Partitions: nodes that cannot reach each other, and clients who do not know it.

import {type CutCluster, startCutCluster} from './cut-cluster.ts';
import type {Fault, FaultReport} from './fault.ts';
import type {MailBook} from './mail-book.ts';
import {byTime} from './merge-ledger.ts';
import {type Plan, planOf} from './partition-plan.ts';
import {playRound, type RoundReport} from './partition-round.ts';

const three = ['alpha', 'beta', 'gamma'];
const four = [...three, 'delta'];

interface Crew {
  names: string[];
  /** The shortest interval, and the default. */
  heartbeatSeconds: number;
}

/** Two cores are enough for some twenty nodes, as these wait most of the time. */
const crews: Crew[] = [
  {names: three, heartbeatSeconds: 1},
  {names: three, heartbeatSeconds: 10},
  {names: three, heartbeatSeconds: 10},
  {names: three, heartbeatSeconds: 10},
  {names: four, heartbeatSeconds: 1},
  {names: four, heartbeatSeconds: 10},
];
const shortCrews: Crew[] = [{names: four, heartbeatSeconds: 1}];

interface Due {
  round: number;
  plan: Plan;
}

export const partition: Fault = {
  name: 'partition',
  title: 'partitions 1|2, 2|1|1 and one-way, with edits and mail on all sides',
  rounds: 60,
  shortRounds: 2,
  pass: 'alike ≤ 10 s after healing, nothing lost, no list without its “Partial”',

  async run({rounds, isShort, owner, randomOf, say}) {
    const due = Array.from({length: rounds}, (_, round): Due => {
      const names = isShort || round % 3 === 2 ? four : three;
      return {round, plan: planOf(randomOf(round), names, isShort)};
    });
    // Long ones first, so that all end at about the same time.
    due.sort((a, b) => b.plan.seconds - a.plan.seconds);
    const reports: RoundReport[] = [];
    const violations: string[] = [];
    let begun: Promise<unknown> = Promise.resolve();
    const work = async ({names, heartbeatSeconds}: Crew): Promise<CutCluster | undefined> => {
      const next = () => take(due, names);
      let turn = next();
      if (!turn) return undefined;
      const config = {cluster: {heartbeat_interval: heartbeatSeconds}};
      // One after the other: twenty nodes that start at once slow each other down.
      const starting = begun.then(async () => startCutCluster(owner, {names, precedes: byTime, config}));
      begun = starting;
      const bench = await starting;
      for (; turn; turn = next()) {
        const {round, plan} = turn;
        const what = `round ${round} (${plan.name}, ${plan.seconds} s)`;
        const report = await playRound(bench, plan, {round}).catch(brokenOff);
        reports.push(report);
        violations.push(...report.faults.map(fault => `${what}: ${fault}`));
        for (const fault of report.faults) say(`${what}: ${fault}`);
        say(`${what}: alike after ${report.alikeMs} ms, ${report.faults.length} violations`);
      }
      return bench;
    };
    const benches = await Promise.all((isShort ? shortCrews : crews).map(work));
    return {
      rounds: reports.length,
      violations,
      figures: figuresOf(
        reports,
        benches.filter(bench => bench !== undefined),
      ),
    };
  },
};

const brokenOff = (error: unknown): RoundReport => ({
  faults: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
  alikeMs: 0,
  completeMs: 0,
  listMs: 0,
});

const take = (due: Due[], names: string[]): Due | undefined => {
  const at = due.findIndex(({plan}) => plan.names === names);
  return at < 0 ? undefined : due.splice(at, 1)[0];
};

const figuresOf = (reports: RoundReport[], benches: CutCluster[]): FaultReport['figures'] => {
  const most = (of: keyof Omit<RoundReport, 'faults'>) => Math.max(0, ...reports.map(report => report[of]));
  const sum = (of: keyof MailBook['counts']) => benches.reduce((total, {book}) => total + book.counts[of], 0);
  return {
    changes: benches.reduce((total, {edits}) => total + edits.ledger.acknowledged, 0),
    mails: sum('held'),
    deferred: sum('deferred'),
    lists: sum('lists'),
    partial: sum('partial'),
    'needlessly partial': sum('needlessly'),
    acts: sum('acts'),
    'outcome unknown': sum('unknown'),
    'alike ms': most('alikeMs'),
    'complete ms': most('completeMs'),
    'slowest list ms': Math.round(most('listMs')),
  };
};
