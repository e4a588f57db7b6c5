// The nodes that gave a round to the node that sends it, for one pass over it.
import {Fault} from '../../../shared/fault.ts';
import type {DigestMail, DigestSource, RoundMemory, Settled} from './digest-model.ts';
import type {DigestRound, RoundState} from './digest-store.ts';

/** A node may name so many mailboxes for which it then has nothing, and so many in all: it may make up names without end. */
const mostNames = {empty: 10_000, all: 1_000_000};
/** A node lists ten thousand mails for each. */
const mostListings = 1000;
/** For nodes that list. */
const mostWaits = 3;

export interface SourcesNeeds {
  /** The node that sends. */
  nodeId: string;
  round: DigestRound;
  memory: RoundMemory;
}

export type DigestSources = ReturnType<typeof createSources>;

export const createSources = (needs: SourcesNeeds) => {
  const {nodeId, round, memory} = needs;
  const reached = createReached();
  const {open, ask} = reached;
  const {settleAt, tellUntold} = createTelling(needs, reached);

  const openSource = async (source: DigestSource): Promise<RoundState | Fault> => {
    // Mail that it still takes for unsent would go out again.
    if (await tellUntold(source)) return new Fault('node_unreachable', `${source.nodeId} does not answer`);
    for (let n = 0; n < mostListings; n += 1) {
      const state = await source.open(round, nodeId).catch(failure);
      if (state !== 'listing') return state;
    }
    return 'taken';
  };

  return {
    ...reached,
    settleAt,
    noteNames: createNameLimit(reached.leave),

    /** Tells the nodes what they could not be told before. Resolves with whether some did not answer. */
    tell: async (sources: readonly DigestSource[]): Promise<boolean> =>
      (await Promise.all(sources.map(tellUntold))).includes(true),

    /** Node by node: the first one that another node has, or that has sent all, says so. */
    async take(sources: readonly DigestSource[]): Promise<RoundState> {
      for (const source of sources) {
        const state = await openSource(source);
        if (state === 'taken') reached.add(source);
        else if (state instanceof Fault) {
          // A node that takes the question, and has no answer in time, is still listing.
          if (state.code !== 'outcome_unknown' || memory.slow >= mostWaits) continue;
          memory.slow += 1;
          return 'elsewhere';
        } else {
          // The nodes that this one has reached by now did not hear of it when it ended.
          if (state === 'over') await ask(async one => one.close(round, nodeId));
          return state;
        }
      }
      return 'taken';
    },

    async keep(): Promise<void> {
      const states = await Promise.all(open().map(async source => source.keep(round, nodeId).catch(failure)));
      if (states.some(state => state === 'elsewhere' || state === 'over')) reached.lose();
    },

    close: async () => void (await ask(async source => source.close(round, nodeId))),
  };
};

type Reached = ReturnType<typeof createReached>;

/** The nodes that answer. */
const createReached = () => {
  let open: readonly DigestSource[] = [];
  let isLost = false;
  let hasFailed = false;

  const leave = (left: readonly DigestSource[]): void => {
    open = open.filter(source => !left.includes(source));
    hasFailed ||= left.length > 0;
  };

  return {
    open: () => open,
    add(source: DigestSource): void {
      open = [...open, source];
    },
    /** Leaves these nodes out from now on. */
    leave,

    /** Asks all of them. Those that do not answer are left out from then on. */
    async ask<T>(work: (source: DigestSource) => Promise<T>): Promise<{source: DigestSource; answer: T}[]> {
      const found = await Promise.all(open.map(async source => ({source, answer: await work(source).catch(failure)})));
      isLost ||= found.some(({answer}) => answer instanceof Fault && answer.code === 'conflict');
      leave(found.flatMap(({source, answer}) => (answer instanceof Fault ? [source] : [])));
      return found.flatMap(({source, answer}) => (answer instanceof Fault ? [] : [{source, answer}]));
    },

    lose(): void {
      isLost = true;
    },
    /** Whether another node has the round. */
    isLost: () => isLost,
    /** Whether a node that gave the round to this one did not answer later. */
    hasFailed: () => hasFailed,
  };
};

/** Tells nodes what became of their mail. */
const createTelling = ({nodeId, round, memory}: SourcesNeeds, {leave, lose}: Reached) => {
  /** What the node cannot be told is for later. */
  const settleAt = async (source: DigestSource, settled: Settled): Promise<void> => {
    if (settled.settlements.length + settled.served.length === 0) return;
    const fault = await source.settle(round, settled, nodeId).then(() => undefined, failure);
    if (!fault) return;
    if (fault.code === 'conflict') lose();
    leave([source]);
    memory.unsettled.set(source.nodeId, [...(memory.unsettled.get(source.nodeId) ?? []), ...settled.settlements]);
  };

  return {
    settleAt,

    /** Resolves with whether the node did not answer. */
    async tellUntold(source: DigestSource): Promise<boolean> {
      const untold = memory.unsettled.get(source.nodeId);
      if (!untold) return false;
      const state = await source.keep(round, nodeId).catch(failure);
      if (state instanceof Fault) return true;
      // Another process may have delivered what was not delivered here.
      const settlements = state === 'taken' ? untold : untold.filter(one => one.state !== 'unsent');
      memory.unsettled.delete(source.nodeId);
      await settleAt(source, {settlements, served: []});
      return state === 'taken' && memory.unsettled.has(source.nodeId);
    },
  };
};

/** Notes the mailboxes that a node has named, and its mail for them, and leaves out nodes that name too many. */
const createNameLimit = (leave: Reached['leave']) => {
  const names = new Map<DigestSource, {empty: number; all: number}>();
  return (source: DigestSource, mailboxes: readonly string[], mails: readonly DigestMail[]): void => {
    const {empty, all} = names.get(source) ?? {empty: 0, all: 0};
    const hasMail = new Set(mails.map(({mailbox}) => mailbox));
    const without = mailboxes.filter(mailbox => !hasMail.has(mailbox)).length;
    const noted = {empty: empty + without, all: all + mailboxes.length};
    names.set(source, noted);
    if (noted.empty > mostNames.empty || noted.all > mostNames.all) leave([source]);
  };
};

/** A node that does not answer, or not so; anything else is an error of this one. */
const failure = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  throw error;
};
