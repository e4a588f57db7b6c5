// Plan for one round of partitions: which lines fail, how, for how long, and who does what meanwhile.
import type {ProxyMode} from '../helpers/tcp-proxy.ts';
import {type EditKind, editKinds, type Pick} from './config-edits.ts';
import type {Cut} from './cut-cluster.ts';
import type {Random} from './random.ts';

type MailStep = 'hold' | 'release' | 'discard' | 'list' | 'list-own' | 'list-one' | 'list-strict' | 'summary' | 'audit';

export interface Step {
  /** Milliseconds after the lines were cut. */
  afterMs: number;
  at: string;
  kind: EditKind | MailStep;
  pick: Pick;
}

export interface Plan {
  /** In words, such as `alpha|beta gamma refuse`. */
  name: string;
  names: readonly string[];
  seconds: number;
  cuts: Cut[];
  steps: Step[];
}

/** How often each step is taken, relative to the others. */
const weights: Record<Step['kind'], number> = {
  'set-field': 8,
  'create-domain': 2,
  'delete-domain': 1,
  'contest-domain': 2,
  'add-filter': 2,
  'delete-filter': 1,
  'add-dkim': 1,
  'contest-dkim': 2,
  'create-key': 1,
  'revoke-key': 1,
  'delete-key': 0.5,
  hold: 6,
  release: 3,
  discard: 1,
  list: 6,
  'list-own': 2,
  'list-one': 2,
  'list-strict': 1,
  summary: 1,
  audit: 1,
};
const kinds = Object.keys(weights) as Step['kind'][];
const bag = kinds.flatMap(kind => Array.from({length: weights[kind] * 2}, () => kind));

export const isEdit = (kind: Step['kind']): kind is EditKind => (editKinds as readonly string[]).includes(kind);

/** The last moments are for answers. */
const marginMs = 300;

/** From 5 to 120 s, more often short than long. */
export const planOf = (random: Random, names: readonly string[], isShort: boolean): Plan => {
  const seconds = isShort ? random.between(2, 3) : Math.round(5 + 115 * random.next() ** 1.5);
  const {name, cuts} = cutsOf(random, names);
  const steps = stepsOf(random, names, {seconds, count: isShort ? 30 : random.between(40, 120)});
  return {name, names, seconds, cuts, steps};
};

export const stepsOf = (random: Random, names: readonly string[], {seconds, count}: {seconds: number; count: number}): Step[] => {
  const steps = Array.from(
    {length: count},
    (): Step => ({
      afterMs: random.between(0, seconds * 1000 - marginMs),
      at: random.pick(names),
      kind: random.pick(bag),
      pick: {which: random.between(0, 1_000_000), how: random.between(0, 1_000_000)},
    }),
  );
  return steps.sort((a, b) => a.afterMs - b.afterMs);
};

const cutsOf = (random: Random, names: readonly string[]): {name: string; cuts: Cut[]} => {
  const order = shuffled(random, names);
  const [one, another] = order as [string, string];
  const rest = order.slice(1);
  const both: ProxyMode = random.pick(['refuse', 'blackhole', 'drop-requests', 'drop-answers']);
  const shapes: [string, string[][]][] =
    names.length === 3
      ? [['1|2', [[one], rest]]]
      : [
          ['2|1|1', [order.slice(0, 2), order.slice(2, 3), order.slice(3)]],
          ['1|3', [[one], rest]],
          ['2|2', [order.slice(0, 2), order.slice(2)]],
        ];
  // A third of them are one-way cuts, of one line or of all lines to or from a node.
  if (random.chance(1 / 3)) {
    const pairs = random.pick([[[one, another]], rest.map(to => [one, to]), rest.map(from => [from, one])]) as [string, string][];
    const mode = random.pick<ProxyMode>(['drop-requests', 'drop-answers', 'refuse']);
    const cuts = pairs.map(([from, to]) => ({from, to, mode}));
    return {name: `one-way ${pairs.map(pair => pair.join('→')).join(' ')} ${mode}`, cuts};
  }
  const [shape, groups] = names.length === 3 || random.chance(0.6) ? (shapes[0] as (typeof shapes)[0]) : random.pick(shapes);
  const pairs = names.flatMap(from => names.filter(to => to !== from).map(to => ({from, to})));
  const groupOf = (name: string) => groups.findIndex(group => group.includes(name));
  const cuts = pairs.filter(({from, to}) => groupOf(from) !== groupOf(to)).map(pair => ({...pair, mode: both}));
  return {name: `${shape} ${groups.map(group => group.join(' ')).join('|')} ${both}`, cuts};
};

const shuffled = (random: Random, names: readonly string[]): string[] =>
  names
    .map(name => ({name, at: random.next()}))
    .sort((a, b) => a.at - b.at)
    .map(({name}) => name);
