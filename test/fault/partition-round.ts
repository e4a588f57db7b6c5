// A round of partitions: a cluster is split and healed while clients keep working at all its nodes.
import {setTimeout as delay} from 'node:timers/promises';
import type {ApiAnswer} from '../helpers/api-call.ts';
import type {ClusterNode} from '../helpers/cluster.ts';
import {eventually} from '../helpers/eventually.ts';
import type {CutCluster} from './cut-cluster.ts';
import type {BookedMail} from './mail-book.ts';
import {namedIn} from './mail-book.ts';
import {isEdit, type Plan, type Step} from './partition-plan.ts';

export interface RoundReport {
  faults: string[];
  /** From healing until all nodes had the same hash, and until every node's list was complete again. */
  alikeMs: number;
  completeMs: number;
  /** The longest time of a list while lines were cut. */
  listMs: number;
}

const withinMs = 10_000;
/** How long a round waits for results that are late. */
const patienceMs = 60_000;

/** `meanwhile` runs while lines are cut. */
export const playRound = async (
  bench: CutCluster,
  plan: Plan,
  {round, meanwhile}: {round: number; meanwhile?(): Promise<void>},
): Promise<RoundReport> => {
  const {nodes, edits, book, cuts} = bench;
  await prepare(bench, round);
  const faults: string[] = [];
  let listMs = 0;
  const play = async (step: Step, n: number): Promise<void> => {
    try {
      if (isEdit(step.kind)) return await edits.edit(step.kind, bench.node(step.at), step.pick);
      const seen = await readOrAct(bench, step, `r${round}n${n}`);
      faults.push(...seen.faults);
      listMs = Math.max(listMs, seen.listMs);
    } catch (error) {
      faults.push(`${step.kind} at ${step.at}: ${error instanceof Error ? error.message : error}`);
    }
  };

  cuts.set(plan.cuts);
  const cutAt = performance.now();
  const other = meanwhile?.();
  const underWay: {isEdit: boolean; done: Promise<void>}[] = [];
  for (const [n, step] of plan.steps.entries()) {
    await until(cutAt + step.afterMs);
    underWay.push({isEdit: isEdit(step.kind), done: play(step, n)});
  }
  await Promise.all([until(cutAt + plan.seconds * 1000), other]);

  cuts.set([]);
  const healedAt = performance.now();
  const since = () => Math.round(performance.now() - healedAt);
  await Promise.all(underWay.filter(one => one.isEdit).map(({done}) => done));
  const [alikeMs, completeMs] = await Promise.all([
    bench.alike(patienceMs).then(since, error => noteLate(faults, error)),
    untilComplete(bench, patienceMs).then(since, error => noteLate(faults, error)),
  ]);
  await Promise.all(underWay.map(({done}) => done));

  edits.seen();
  faults.push(...(await edits.judge(nodes)), ...(await repeatActs(bench)));
  faults.push(...(await book.judge(bench.node(plan.steps[0]?.at ?? ''))));
  if (alikeMs > withinMs) faults.push(`the nodes were alike ${alikeMs} ms after healing`);
  if (completeMs > withinMs) faults.push(`lists were complete ${completeMs} ms after healing`);
  await edits.clear(nodes[round % nodes.length] as ClusterNode);
  return {faults, alikeMs, completeMs, listMs};
};

const until = async (at: number): Promise<void> => {
  const waitMs = at - performance.now();
  if (waitMs > 0) await delay(waitMs);
};

/** Creates records and mails that every node knows. */
const prepare = async ({nodes, edits, book, alike}: CutCluster, round: number): Promise<void> => {
  const kinds = [
    'create-domain',
    'create-key',
    'create-domain',
    'create-key',
    'create-domain',
    'add-filter',
    'add-dkim',
  ] as const;
  for (const [n, kind] of kinds.entries()) await edits.edit(kind, nodes[n % nodes.length] as ClusterNode, {which: n, how: n});
  for (const node of nodes) for (const n of [1, 2]) await book.hold(node, `r${round}${node.node_id}${n}`);
  await alike(patienceMs);
  edits.begin();
  edits.seen();
};

const noteLate = (faults: string[], error: unknown): number => {
  faults.push(String(error));
  return patienceMs;
};

/** Waits until every node's list has the mail of all. */
export const untilComplete = async ({nodes, key}: CutCluster, forMs: number): Promise<void> => {
  let partial: string[] = [];
  const missingIn = async (node: ClusterNode): Promise<string[]> => {
    const named = namedIn(await node.api('GET', 'mail/quarantine?limit=1', {key}));
    return named.length === 0 ? [] : [`${node.node_id} without ${named.join(', ')}`];
  };
  try {
    await eventually(async () => {
      partial = (await Promise.all(nodes.map(missingIn))).flat();
      return partial.length === 0;
    }, forMs);
  } catch (error) {
    throw new Error(`lists were still partial: ${partial.join('; ')}`, {cause: error});
  }
};

const nothing = {faults: [] as string[], listMs: 0};

const readOrAct = async (bench: CutCluster, {kind, at, pick}: Step, token: string): Promise<typeof nothing> => {
  const {nodes, book} = bench;
  const node = bench.node(at);
  switch (kind) {
    case 'hold':
      await book.hold(node, token);
      return nothing;
    case 'release':
    case 'discard': {
      const open = book.mails.filter(({askedAt}) => askedAt === undefined);
      const mail = open[pick.which % Math.max(1, open.length)];
      return mail ? act(bench, node, [kind, mail]) : nothing;
    }
    case 'list':
    case 'list-own':
    case 'list-one': {
      const one = kind === 'list-own' ? at : nodes[pick.which % nodes.length]?.node_id;
      const {faults, ms} = await book.list(node, kind === 'list' ? '' : `node=${one}`);
      return {faults, listMs: ms};
    }
    case 'list-strict':
      return readAll(bench, node, 'mail/quarantine?strict=true');
    case 'summary':
      return readAll(bench, node, 'mail/quarantine/summary');
    case 'audit':
      return readAll(bench, node, 'audit?limit=5');
    default:
      throw new Error(`${kind} is for the configuration`);
  }
};

/** An unreachable owner has not acted, or the outcome is unknown; a reachable one may answer the same when it is too busy. */
const act = async (
  {book, cuts}: CutCluster,
  by: ClusterNode,
  [action, mail]: ['release' | 'discard', BookedMail],
): Promise<typeof nothing> => {
  const version = cuts.version();
  const {status, body} = await book.act(by, action, mail);
  const isCut = cuts.of(by.node_id).includes(mail.node_id);
  const isStable = version === cuts.version();
  const permitted = isStable && isCut ? [503, 504] : [200, 503, 504];
  if (permitted.includes(status)) return nothing;
  return {...nothing, faults: [`${action} of a mail of ${mail.node_id} at ${by.node_id} was answered ${status} ${body}`]};
};

/** A result from all nodes names the missing ones, or is refused when it must be complete. */
const readAll = async ({key, cuts}: CutCluster, node: ClusterNode, path: string): Promise<typeof nothing> => {
  const version = cuts.version();
  const answer = await node.api('GET', path, {key});
  const cut = cuts.of(node.node_id);
  if (version !== cuts.version()) return nothing;
  const isSaid = path.includes('strict') && cut.length > 0 ? answer.status === 503 : saysSo(answer, cut);
  return isSaid ? nothing : {...nothing, faults: [`${path} of ${node.node_id} was ${shown(answer)} without ${cut.join(', ')}`]};
};

const saysSo = (answer: ApiAnswer, cut: string[]): boolean => {
  const named = namedIn(answer);
  return cut.every(one => named.includes(one)) && (answer.json.message === 'Partial') === named.length > 0;
};

const shown = ({status, json, headers}: ApiAnswer): string =>
  `${status} ${json.message} ${headers['x-unreachable-nodes'] ?? ''}`.trim();

/** A client that does not know the outcome of an action repeats it: that is safe, and does what was requested. */
const repeatActs = async ({nodes, book}: CutCluster): Promise<string[]> => {
  const open = book.mails.filter(({askedAt, endedAt}) => askedAt !== undefined && endedAt === undefined);
  const faults: string[] = [];
  for (const [n, mail] of open.entries()) {
    const {status, body} = await book.act(nodes[n % nodes.length] as ClusterNode, mail.asked ?? 'release', mail);
    if (status !== 200 && status !== 503)
      faults.push(`the same action on ${mail.queue_id} once more was answered ${status} ${body}`);
  }
  return faults;
};
