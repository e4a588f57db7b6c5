// Run of rounds on one site, one after the other: traffic, something that ends nodes, their start, and the judgement.
import {execFile} from 'node:child_process';
import {setTimeout as delay} from 'node:timers/promises';
import {promisify} from 'node:util';
import type {MailReference} from '../../shared/held-mail.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {inspect} from './inspection.ts';
import type {Ledger} from './ledger.ts';
import type {Random} from './random.ts';
import type {Site} from './site.ts';
import {startTraffic, type Traffic} from './traffic.ts';
import {createTrial} from './trial.ts';

export interface SiteRun {
  site: Site;
  startTraffic(random: Random): Traffic;
  /** Called before their start: notes what ended with them, and what their clients lost. */
  died(nodes: readonly ClusterNode[]): Promise<void>;
  /**
   * Starts nodes that have ended; `env` applies to this start only. Resolves with a line for each node that was not ready in
   * time.
   */
  restart(nodes: readonly ClusterNode[], env?: Record<string, string>): Promise<string[]>;
  /** Mails that a client already acts on, and others may act on too: see `contested` of a trial. */
  contest(mails: readonly MailReference[]): void;
  /** Compares the site with the ledger. Resolves with a line for every violation. */
  judge(random: Random): Promise<string[]>;
  readonly isFull: boolean;
  /** Removes what was judged, so that later rounds do not check it again. All nodes must be running. */
  clear(): Promise<void>;
  readonly figures: RunFigures;
}

type RunFigures = {-readonly [Name in keyof Ledger['counts']]: number} & {slowestStartMs: number};

const longestStartMs = 5000;
/** The number of mails that every round may check again. */
const mostHeld = 1000;
/** The time after which deliveries that had reached the backend when a node ended are visible. */
const arrivalMs = 50;

export const createSiteRun = (name: string, site: Site): SiteRun => {
  let trials = 0;
  const nextTrial = () => {
    trials += 1;
    return createTrial(`${name}${trials}`);
  };
  let trial = nextTrial();
  const figures: RunFigures = {accepted: 0, relayed: 0, acted: 0, changed: 0, doubled: 0, slowestStartMs: 0};
  let lost: string[] = [];

  const clear = async () => {
    addTo(figures, trial.ledger.counts);
    const [node] = site.nodes;
    if (!node) return;
    for (const mails of pagesOf(trial.held, 1000)) {
      const {status, body} = await site.ask(node, 'POST', 'mail/quarantine/discard', {items: mails});
      if (status !== 200 || body.includes('"error":{')) throw new Error(`discarding what was judged: ${status} ${body}`);
    }
    const {json} = await site.ask(node, 'GET', 'domains');
    for (const domain of json.data as {id: number; name: string}[])
      if (domain.name.endsWith(`.${trial.name}.test`)) await site.ask(node, 'DELETE', `domains/${domain.id}`);
    trial = nextTrial();
  };

  return {
    site,
    startTraffic: random => startTraffic({site, trial, random}),
    async died(nodes) {
      await delay(arrivalMs);
      trial.noteDeliveries(site);
      const ids = nodes.map(({node_id}) => node_id);
      // Where all nodes act on all mail, the one that died may have been releasing that of any.
      trial.ledger.died(site.database ? site.nodes.map(({node_id}) => node_id) : ids, trial.delivered);
      lost.push(...trial.losses.splice(0).filter(id => !ids.includes(id)));
    },
    async restart(nodes, env) {
      const startMs = await Promise.all(nodes.map(async node => startTimeMs(node, env)));
      figures.slowestStartMs = Math.max(figures.slowestStartMs, ...startMs);
      const late = startMs.filter(ms => ms > longestStartMs);
      const longestMs = late.length > 0 ? Math.round(longestStartMs * (await slowness())) : longestStartMs;
      return late.filter(ms => ms > longestMs).map(ms => `ready again after ${ms} ms, not within ${longestMs}`);
    },
    contest(mails) {
      trial.held.push(...mails);
      for (const {queue_id} of mails) trial.contested.add(queue_id);
    },
    async judge(random) {
      const wrong = [...lost.map(id => `${id} was up and lost a connection`), ...(await inspect({site, trial, random}))];
      lost = [];
      return wrong;
    },
    get isFull() {
      return trial.held.length > mostHeld;
    },
    clear,
    get figures() {
      const all = {...figures};
      addTo(all, trial.ledger.counts);
      return all;
    },
  };
};

const startTimeMs = async (node: ClusterNode, env: Record<string, string> | undefined): Promise<number> => {
  const beganAt = performance.now();
  await node.start(env);
  return Math.round(performance.now() - beganAt);
};

/** `node -e 0`, on a machine with nothing else to do. */
const quietMs = 60;

/** How much slower this machine is at the moment: on a slow machine a node needs longer to become ready. */
const slowness = async (): Promise<number> => {
  const beganAt = performance.now();
  for (let n = 0; n < 3; n += 1) await promisify(execFile)(process.execPath, ['-e', '0']);
  return Math.max(1, (performance.now() - beganAt) / 3 / quietMs);
};

const addTo = (figures: RunFigures, counts: Ledger['counts']): void => {
  for (const name of ['accepted', 'relayed', 'acted', 'changed', 'doubled'] as const) figures[name] += counts[name];
};

const pagesOf = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, page) => items.slice(page * size, (page + 1) * size));

/** Of several sites, each with its own. */
export const figuresOf = (siteRuns: readonly SiteRun[]): Record<string, number> => {
  const sum = (name: keyof RunFigures) => siteRuns.reduce((total, {figures}) => total + figures[name], 0);
  return {
    'mails acknowledged': sum('accepted') + sum('relayed'),
    'actions acknowledged': sum('acted'),
    'changes acknowledged': sum('changed'),
    'allowed doubles': sum('doubled'),
    'slowest start ms': Math.max(...siteRuns.map(({figures}) => figures.slowestStartMs)),
  };
};
